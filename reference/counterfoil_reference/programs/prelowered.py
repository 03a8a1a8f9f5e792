"""Plans of code that was given lowered: what the loop IR itself reads, writes and mentions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from counterfoil_reference.programs.decisions import Decisions, Plan
from counterfoil_reference.programs.injective import Product, has_symbolic_extent, is_onto
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Loop,
    Lowered,
    Position,
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
    Zero,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.programs.projections import Index
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse

DECLARED = 23


@dataclass(slots=True)
class Found:
    """What was seen so far, going through the code in order."""

    read: set[Node] = field(default_factory=set)
    definite: set[Node] = field(default_factory=set)
    written: set[Node] = field(default_factory=set)
    merged: set[Node] = field(default_factory=set)
    symbols: set[Symbol] = field(default_factory=set)


def plan(given: Lowered, decisions: Decisions) -> Plan:
    """The plan of lowered code; its nodes are On_device (23) from now on, whatever was decided of them before, and what
    was stored of them is forgotten. Refuses compile/merge-nodes."""
    found = Found()
    _body(found, given.body, (), False)
    merged = by_uid(found.merged)
    if len(merged) > 1:
        raise refuse("compile/merge-nodes", nodes=merged)
    nodes = found.read | found.written
    return Plan(
        decisions=_decided(decisions, nodes),
        read_only=by_uid(found.read - found.written),
        read_before_write=by_uid(found.read & found.written),
        writes=by_uid(found.written),
        arguments=by_uid(nodes),
        merge=merged[0] if merged else None,
        symbols=tuple(sorted(found.symbols, key=lambda symbol: symbol.number)),
        lowered=given,
        steps=None,
    )


def _decided(decisions: Decisions, nodes: set[Node]) -> Decisions:
    placements = dict(decisions.placements)
    for node in by_uid(nodes):
        known = placements.get(node)
        if known is None or known.mode is not Mode.ON_DEVICE:
            placements[node] = Placement(Mode.ON_DEVICE, DECLARED)
    stored = {node: setters for node, setters in decisions.stored.items() if node not in nodes}
    return replace(decisions, placements=MappingProxyType(placements), stored=MappingProxyType(stored))


def _body(found: Found, body: Sequence[Statement], loops: Product, conditional: bool) -> None:
    for statement in body:
        match statement:
            case Loop():
                _symbols(found, () if isinstance(statement.extent, int) else (statement.extent,))
                _body(found, statement.body, (*loops, (statement.iterator, statement.extent)), conditional)
            case If():
                _index(found, (statement.left, statement.right))
                _body(found, statement.body, loops, True)
            case Zero():
                _write(found, statement.node, _surely_runs(loops) and not conditional)
            case Store():
                _scalar(found, statement.value, loops)
                _index(found, statement.index)
                definite = _is_whole(statement, loops) and not conditional
                _write(found, statement.node, definite)
            case SetLocal():
                _scalar(found, statement.value, loops)


def _surely_runs(loops: Product) -> bool:
    return not has_symbolic_extent(loops) and 0 not in (extent for _, extent in loops)


def _is_whole(store: Store, loops: Product) -> bool:
    """Whether a store under these loops writes every element: a one-to-one map, and nothing that may not run."""
    if has_symbolic_extent(loops) or not is_onto(store.node, store.index, loops):
        return False
    return store.node.size == 0 or _surely_runs(loops)


def _write(found: Found, node: Node, definite: bool) -> None:
    found.written.add(node)
    if definite:
        found.definite.add(node)


def _scalar(found: Found, value: Scalar, loops: Product) -> None:
    for each in _parts(value):
        match each:
            case Load():
                _index(found, each.index)
                if each.node not in found.definite:
                    found.read.add(each.node)
            case LoadMerge():
                _index(found, each.index)
                found.merged.add(each.node)
            case Position():
                _index(found, (each.index,))
            case Scope():
                _body(found, each.body, loops, False)


def _parts(value: Scalar) -> Iterator[Scalar]:
    """A scalar and its arguments, those that are evaluated, left to right."""
    if isinstance(value, Apply) and value.operator in ("arg1", "arg2"):
        yield from _parts(value.arguments[value.operator == "arg2"])
    elif isinstance(value, Apply):
        for argument in value.arguments:
            yield from _parts(argument)
    else:
        yield value


def _index(found: Found, index: Index) -> None:
    for entry in index:
        _symbols(found, entry.symbols)


def _symbols(found: Found, symbols: Sequence[Symbol]) -> None:
    found.symbols.update(symbols)
