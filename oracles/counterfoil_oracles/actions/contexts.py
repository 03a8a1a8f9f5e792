"""Commands on contexts: compile, run, transfers, release, questions and decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from counterfoil_oracles.actions.arguments import Action, Args, all_named, dtype_of, named
from counterfoil_oracles.actions.programs import node_of, nodes_of
from counterfoil_oracles.environment import Environment
from counterfoil_oracles.holdings import Compiled
from counterfoil_spec.commands import decode_number, decode_numbers, encode_number
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.refusals import Refusal


def context_of(env: Environment, args: Args) -> Any:
    """The context that the command is about."""
    return named(env, args["context"])


def _context(env: Environment, args: Args) -> Any:
    env.holdings.begin()
    make, backend = env.half.Context, args["backend"]
    if backend == "auto":
        return env.holdings.root(make.auto(*(decode_number(args["name"]),) if "name" in args else ()))
    options = {key: decode_number(args[key]) for key in ("threads", "ordinal") if key in args}
    return env.holdings.root(getattr(make, backend)(**options))


# --- compile and run -------------------------------------------------------------------------------------------------


def _each(lowered: Lowered) -> list[Lowered]:
    return [Lowered((statement,)) for statement in lowered.body] or [lowered]


def _raise(lowered: Lowered) -> list[Lowered]:
    raise RuntimeError("boom")


_TRANSFORMS: Final[dict[str, Callable[[Lowered], list[Lowered]]]] = {
    "identity": lambda lowered: [lowered],
    "each": _each,
    "empty": lambda lowered: [],
    "raise": _raise,
}


def _compile(env: Environment, args: Args) -> Compiled:
    options: dict[str, Any] = {}
    if "bindings" in args:
        options["bindings"] = all_named(env, args["bindings"])
    if "name" in args:
        options["name"] = decode_number(args["name"])
    if "transform" in args:
        options["transform"] = _TRANSFORMS[args["transform"]]
    for key in ("prelowered", "reuse"):
        if key in args:
            options[key] = named(env, args[key])
    origin = context_of(env, args)
    context, routine = origin.compile(named(env, args["comp"]), **options)
    return env.holdings.compiled(context, routine, origin)


def _run(env: Environment, args: Args) -> Any:
    context = context_of(env, args)
    return env.holdings.derived(context.run(named(env, args["routine"]), timing=args.get("timing", False)), context)


def _asking(what: str) -> Action:
    """The command of a method that takes a routine and answers as it is."""
    return lambda env, args: getattr(context_of(env, args), what)(named(env, args["routine"]))


def _rollback(env: Environment, args: Args) -> None:
    context_of(env, args).rollback_execution(_routine_id(env, args))


def poison_lineage(env: Environment, args: Args) -> None:
    """The command ``poison`` where it names a context."""
    context_of(env, args).poison_lineage(_routine_id(env, args), RuntimeError(args["failure"]))


def _routine_id(env: Environment, args: Args) -> Any:
    found = named(env, args["routine"])
    return found.routine_id if hasattr(found, "routine_id") else found


def _poisoned(env: Environment, args: Args) -> str | None:
    failure = context_of(env, args).poisoned_failure
    return None if failure is None else str(failure)


def _restore(env: Environment, args: Args) -> None:
    named(env, args["history"])()


# --- transfers -------------------------------------------------------------------------------------------------------


def _copy_from(env: Environment, args: Args) -> Any:
    context, into = context_of(env, args), args.get("into_merge_buffer", False)
    made = context.copy_from(named(env, args["source"]), node_of(env, args["node"]), into_merge_buffer=into)
    return env.holdings.derived(made, context)


def _from_host(env: Environment, args: Args) -> Any:
    context, node = context_of(env, args), node_of(env, args["node"])
    dtype = dtype_of(args["dtype"]) if "dtype" in args else node.dtype
    shape = decode_numbers(args.get("shape", list(node.dims)))
    array = env.half.from_values(dtype, shape, decode_numbers(args["values"]))
    return env.holdings.derived(context.from_host(node, array), context)


def _set_values(env: Environment, args: Args) -> Any:
    context = context_of(env, args)
    made = context.set_values(node_of(env, args["node"]), decode_numbers(args["values"]))
    return env.holdings.derived(made, context)


def _set_value(env: Environment, args: Args) -> Any:
    context, index = context_of(env, args), decode_numbers(args["index"])
    made = context.set_value(node_of(env, args["node"]), index, decode_number(args["value"]))
    return env.holdings.derived(made, context)


def _values(array: Any) -> list[Any]:
    return [encode_number(value) for value in array.to_values()]


def _to_host(env: Environment, args: Args) -> list[Any]:
    return _values(context_of(env, args).to_host(node_of(env, args["node"])))


def _to_host_all(env: Environment, args: Args) -> list[list[Any]]:
    return [_values(array) for array in context_of(env, args).to_host_all(nodes_of(env, args["nodes"]))]


def _get_values(env: Environment, args: Args) -> list[Any]:
    return [encode_number(value) for value in context_of(env, args).get_values(node_of(env, args["node"]))]


def _get_value(env: Environment, args: Args) -> Any:
    index = decode_numbers(args["index"])
    return encode_number(context_of(env, args).get_value(node_of(env, args["node"]), index))


def _points_1d(env: Environment, args: Args) -> list[Any]:
    options = {key: decode_number(args[key]) for key in ("column",) if key in args}
    found = context_of(env, args).points_1d(node_of(env, args["node"]), **options)
    return [encode_number(value) for value in found]


def _points_2d(env: Environment, args: Args) -> list[list[Any]]:
    options = {key: decode_number(args[key]) for key in ("x", "y") if key in args}
    found = context_of(env, args).points_2d(node_of(env, args["node"]), **options)
    return [[encode_number(value) for value in point] for point in found]


# --- release and decisions -------------------------------------------------------------------------------------------


def _same_release_unit(env: Environment, args: Args) -> bool:
    same: bool = context_of(env, args).same_release_unit(named(env, args["other"]))
    return same


def _decide(env: Environment, args: Args) -> Any:
    context = context_of(env, args)
    made = getattr(context, f"decide_{args['reading']}")(nodes_of(env, args["nodes"]))
    return env.holdings.derived(made, context)


def _decide_readings(env: Environment, args: Args) -> Any:
    context = context_of(env, args)
    readings = [nodes_of(env, args.get(reading, [])) for reading in ("materialized", "inline", "footprint")]
    options = {"skip_empty": args["skip_empty"]} if "skip_empty" in args else {}
    return env.holdings.derived(context.decide_readings(*readings, **options), context)


# --- facts -----------------------------------------------------------------------------------------------------------


def _told(ask: Callable[[], Any]) -> Any:
    """An answer, or the rule that refuses it."""
    try:
        return ask()
    except Refusal as refusal:
        return {"refused": refusal.rule}


def node_facts(context: Any, node: Any) -> dict[str, Any]:
    """What a context says of a node, without effect."""
    placement = context.placements.get(node)
    observability = _told(lambda: context.observability(node).value)
    return {
        "written": _told(lambda: context.buffer_written(node)),
        "mem": _told(lambda: context.mem(node)),
        "initialized": _told(lambda: context.is_initialized(node)),
        "placement": None if placement is None else [placement.mode.value, placement.provenance],
        "observability": observability,
        "placeholder": observability if isinstance(observability, dict) else context.placeholder(node),
        "stored_components": _told(lambda: context.stored_components(node)),
    }


def context_facts(context: Any) -> dict[str, Any]:
    """What a context says of itself, without effect."""
    depth, records = context.lifecycle_depth, context.ledger_records
    return {"name": context.name, "lifecycle_depth": depth, "ledger_records": records}


def _facts(env: Environment, args: Args) -> dict[str, Any]:
    context = context_of(env, args)
    nodes: list[Any] = nodes_of(env, args["nodes"])
    return {**context_facts(context), **{node.label: node_facts(context, node) for node in nodes}}


def _explain(env: Environment, args: Args) -> str | None:
    text: str | None = context_of(env, args).explain_observability(node_of(env, args["node"]))
    return text


def routine_facts(env: Environment, routine: Any) -> dict[str, Any]:
    """What never changes of a routine; its dependencies by name."""
    return {
        "name": routine.name,
        **{what: list(_labels(getattr(routine, what))) for what in ("inputs", "outputs", "shared_reads", "bindings")},
        "deps": env.holdings.dependencies(routine),
    }


def _labels(things: Any) -> Iterator[str]:
    return (thing.label for thing in things)


def seams_of(args: Args) -> list[str]:
    """The seams of the command ``inject``: one, or several."""
    seams = args["seam"]
    return [seams] if isinstance(seams, str) else list(seams)


def _inject(env: Environment, args: Args) -> None:
    env.holdings.inject(seams_of(args), args["pass"])


MAKES: Final[dict[str, Action]] = {
    "context": _context,
    "compile": _compile,
    "run": _run,
    "reuse": lambda env, args: env.half.Reuse(),
    "save_history": lambda env, args: context_of(env, args).save_accumulation_history(),
    "copy_from": _copy_from,
    "from_host": _from_host,
    "set_values": _set_values,
    "set_value": _set_value,
    "decide": _decide,
    "decide_readings": _decide_readings,
    "context.buffer": lambda env, args: context_of(env, args).array(node_of(env, args["node"])),
}

ANSWERS: Final[dict[str, Action]] = {
    "check_runnable": _asking("check_runnable"),
    "check_lineage_runnable": _asking("check_lineage_runnable"),
    "check_launch_bindings": _asking("check_launch_bindings"),
    "can_run": _asking("can_run"),
    "sync": lambda env, args: context_of(env, args).sync(),
    "restore_history": _restore,
    "rollback": _rollback,
    "poisoned": _poisoned,
    "to_host": _to_host,
    "to_host_all": _to_host_all,
    "get_values": _get_values,
    "get_value": _get_value,
    "points_1d": _points_1d,
    "points_2d": _points_2d,
    "context.release": lambda env, args: context_of(env, args).release(),
    "same_release_unit": _same_release_unit,
    "adopt_ancestor": lambda env, args: context_of(env, args).adopt_ancestor(named(env, args["ancestor"])),
    "context.facts": _facts,
    "explain_observability": _explain,
    "routine.facts": lambda env, args: routine_facts(env, named(env, args["routine"])),
    "inject": _inject,
    "census": lambda env, args: env.holdings.census(),
    "compile_count": lambda env, args: env.holdings.compile_count(),
}
