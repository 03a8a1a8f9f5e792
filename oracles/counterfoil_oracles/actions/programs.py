"""Commands on programs: nodes, symbols, comps and fragments, and the code inside them."""

from __future__ import annotations

import re
from typing import Any, Final

from counterfoil_oracles.actions.arguments import Action, Args, all_named, dtype_of, named
from counterfoil_oracles.environment import Environment
from counterfoil_spec.commands import decode_number, decode_numbers
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs import assignments, comps, loops, specs
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.projections import Affine, Index, affine
from counterfoil_spec.programs.symbols import Iterator, Symbol

# --- nodes and symbols -----------------------------------------------------------------------------------------------


def node_of(env: Environment, data: Any) -> Any:
    """The node named: a tensor's value, with ``{"grad": NAME}`` its gradient."""
    if isinstance(data, dict) and "grad" in data:
        return env.named(data["grad"]).grad
    found = named(env, data)
    return found.value if hasattr(found, "value") and hasattr(found, "grad") else found


def nodes_of(env: Environment, data: Any) -> Any:
    """The nodes that a list names."""
    return [node_of(env, entry) for entry in data] if isinstance(data, list) else decode_number(data)


def _node(env: Environment, args: Args) -> Node:
    slice_of = args.get("slice_of")
    made = Node(
        decode_number(args["label"]),
        decode_numbers(args["shape"]),
        dtype_of(args["dtype"]) if "dtype" in args else float32,
        literal=decode_numbers(args.get("literal")),
        padding=decode_numbers(args.get("padding")),
        margin=decode_number(args.get("margin", 0.0)),
        slice_of=None if slice_of is None else (node_of(env, slice_of[0]), named(env, slice_of[1])),
    )
    for what in _DECLARED:
        if args.get(what):
            _DECLARED[what](made)
    if "intent" in args:
        made.require(Intent(args["intent"]))
    return made


_DECLARED: Final = {
    "observable": Node.set_observable,
    "zero_valid": Node.mark_zero_valid,
    "context_owned": Node.set_context_owned,
}


def _declare(env: Environment, args: Args) -> None:
    _DECLARED[args["what"]](node_of(env, args["node"]))


def _require(env: Environment, args: Args) -> None:
    node_of(env, args["node"]).require(Intent(args["intent"]))


def _symbol(env: Environment, args: Args) -> Symbol:
    made = Symbol(decode_number(args["label"]), decode_number(args.get("bound")), extent=args.get("extent", False))
    env.holdings.symbols[made.label] = made
    return made


def _set_symbol(env: Environment, args: Args) -> None:
    named(env, args["symbol"]).set(decode_number(args["value"]))


# --- code ------------------------------------------------------------------------------------------------------------


def code_of(env: Environment, data: Any) -> assignments.Code:
    """The code that a list of assignments and blocks describes; its constructors may refuse."""
    return assignments.in_sequence(*(_part(env, entry) for entry in data))


def _part(env: Environment, data: Any) -> assignments.Code:
    if "block" in data:
        return assignments.block(decode_number(data["block"]), code_of(env, data["code"]))
    if "fetch" in data:
        return assignments.Fetch(node_of(env, data["fetch"]), _definition(env, data))
    target, operands = node_of(env, data["set"]), tuple(_operand(env, entry) for entry in data["of"])
    read = [operand.node for operand in operands]
    if "by" in data:
        projections = specs.parse(data["by"], target, read, env.holdings.symbols)
    else:
        projections = specs.pointwise(target, read)
    return assignments.Accumulate(
        target, data.get("accumulate", "arg2"), data.get("op", "identity"), operands, projections,
        bool(data.get("initialize", False)),
    )  # fmt: skip


def _operand(env: Environment, data: Any) -> assignments.Operand:
    if isinstance(data, dict) and "merge" in data:
        return assignments.Merge(node_of(env, data["merge"]))
    return assignments.Read(node_of(env, data))


def _definition(env: Environment, data: Any) -> assignments.Definition:
    match data:
        case {"constant": value}:
            return assignments.Constant(decode_number(value))
        case {"fill": values}:
            return assignments.Fill(tuple(decode_numbers(values)))
        case {"offsets": _}:
            return assignments.Offsets()
        case {"embed": symbol}:
            return assignments.Embed(named(env, symbol))
        case {"row": [parent, symbol]}:
            return assignments.Row(node_of(env, parent), named(env, symbol))
    raise ValueError(f"{data} defines nothing")


# --- comps -----------------------------------------------------------------------------------------------------------


def _fragment(env: Environment, args: Args) -> comps.Fragment:
    gradient = args.get("gradient")
    return comps.Fragment(
        env.holdings.tensor_of(args["label"]),
        args["kind"],
        args["label"],
        None if gradient is None else node_of(env, gradient),
        bool(args.get("empty", False)),
    )


def _comp(env: Environment, args: Args) -> comps.Comp:
    made = comps.comp(
        code_of(env, args["code"]),
        nodes_of(env, args.get("embedded", [])),
        all_named(env, args.get("owned", [])),
        nodes_of(env, args.get("accumulates", [])),
        nodes_of(env, args.get("zeroes", [])),
        {node_of(env, node): runs for node, runs in args.get("allowances", [])},
        all_named(env, args.get("requires", [])),
    )
    return made.named(args["label"]) if "label" in args else made


def _sequence(env: Environment, args: Args) -> comps.Comp:
    made = comps.sequence(*all_named(env, args["comps"]))
    return made.named(args["label"]) if "label" in args else made


def _facts(env: Environment, args: Args) -> dict[str, Any]:
    comp = named(env, args["comp"])
    return {
        "owned": [str(fragment) for fragment in comp.owned],
        **{what: [node.label for node in getattr(comp, what)] for what in ("accumulates", "zeroes")},
        "requires": [str(fragment) for fragment in comp.requires],
        "embedded": [node.label for node in comp.embedded],
        "accumulation_runs": comp.accumulation_runs,
    }


# --- the loop IR -----------------------------------------------------------------------------------------------------

Loops = dict[str, Iterator]
"""The iterators of a kernel by name: loops of one name share theirs."""

_TERM: Final = re.compile(r"([+-]?)(?:(\d+)\*)?(?:(\$?)([A-Za-z_]\w*)|(\d+))")


def _index_entry(env: Environment, text: str, loop: Loops) -> Affine:
    """An index such as ``2*i + j - 1``; ``$s`` a symbol."""
    terms: list[tuple[int, Iterator | Symbol]] = []
    offset = 0
    for sign, factor, dollar, name, number in _TERM.findall(text.replace(" ", "")):
        unit = -1 if sign == "-" else 1
        if number:
            offset += unit * int(number)
        else:
            terms.append((unit * int(factor or 1), env.holdings.symbols[name] if dollar else loop[name]))
    return affine(terms, offset)


def _index(env: Environment, texts: list[str], loop: Loops) -> Index:
    return tuple(_index_entry(env, text, loop) for text in texts)


def _scalar(env: Environment, data: Any, loop: Loops) -> loops.Scalar:
    match data:
        case {"load": [node, index]}:
            return loops.Load(node_of(env, node), _index(env, index, loop))
        case {"merge": [node, index]}:
            return loops.LoadMerge(node_of(env, node), _index(env, index, loop))
        case {"position": text}:
            return loops.Position(_index_entry(env, text, loop))
        case {"apply": operator, "to": arguments}:
            return loops.Apply(operator, tuple(_scalar(env, argument, loop) for argument in arguments))
    return loops.Number(decode_number(data))


def _statement(env: Environment, data: Any, loop: Loops) -> loops.Statement:
    match data:
        case {"zero": node}:
            return loops.Zero(node_of(env, node))
        case {"store": [node, index, value]}:
            return loops.Store(node_of(env, node), _index(env, index, loop), _scalar(env, value, loop))
        case {"loop": [name, extent, body]}:
            iterator = loop.setdefault(name, Iterator(name))
            count = named(env, extent) if isinstance(extent, dict) else extent
            return loops.Loop(iterator, count, _body(env, body, loop))
        case {"if": [left, right, body]}:
            return loops.If(_index_entry(env, left, loop), _index_entry(env, right, loop), _body(env, body, loop))
    raise ValueError(f"{data} is no statement")


def _body(env: Environment, data: Any, loop: Loops) -> tuple[loops.Statement, ...]:
    return tuple(_statement(env, entry, loop) for entry in data)


def _lowered(env: Environment, args: Args) -> loops.Lowered:
    return loops.Lowered(_body(env, args["body"], {}))


MAKES: Final[dict[str, Action]] = {
    "node": _node,
    "symbol": _symbol,
    "comp": _comp,
    "comp.sequence": _sequence,
    "fragment": _fragment,
    "lowered": _lowered,
}

ANSWERS: Final[dict[str, Action]] = {
    "node.require": _require,
    "node.declare": _declare,
    "symbol.set": _set_symbol,
    "comp.facts": _facts,
}
