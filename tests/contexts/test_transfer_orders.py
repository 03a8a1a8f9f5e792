"""Reads, uploads and copies look for faults in one order each: every combination that one call can have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.contexts.scenario import Symbol, chain, merged, node, number, program, put, rule, stored

STATES = ("released", "poisoned", "discarded")
COMBINATIONS = [
    (kind, *states)
    for kind in ("plain", "slice", "local", "absent")
    for count in range(len(STATES) + 1)
    for states in itertools.combinations(STATES, count)
]
RULES = {
    "released": "release/dead-handle",
    "poisoned": "run/poisoned",
    "discarded": "compile/discarded-node",
    "slice": "transfers/slice-view",
    "local": "transfers/local",
    "count": "arrays/values-count",
}


def bench(root: Any, faults: Iterable[str]) -> tuple[Any, Any]:
    """A context and a node of it with those faults."""
    x, y, scratch, parent = node("x"), stored("y"), node("h"), node("p", (2, 2))
    kinds = {
        "plain": x,
        "slice": node("s", (2,), slice_of=(parent, Symbol("i", 2))),
        "local": scratch,
        "absent": node("z"),
    }
    code = [put(scratch, "identity", x), put(y, "mul", scratch, scratch)]
    context, (routine,) = chain(root.set_values(x, [1, 2]), program("use", *code, embedded=[y]))
    found = next(each for kind, each in kinds.items() if kind in faults)
    if "poisoned" in faults:
        context.poison_lineage(routine.routine_id, RuntimeError("boom"))
    if "discarded" in faults:
        found.discarded = True
    if "released" in faults:
        context.release()
    return context, found


def expected(order: Iterable[str], faults: Iterable[str], rules: dict[str, str]) -> str | None:
    """The rule of the first fault in an order."""
    return next((rules[fault] for fault in order if fault in tuple(faults)), None)


READS = {**RULES, "local": "observability/local", "absent": "observability/needs-context"}


@pytest.mark.parametrize("faults", COMBINATIONS, ids="+".join)
def test_reads(root: Any, faults: tuple[str, ...]) -> None:
    """Released, discarded, poisoned, a slice view, then why the node cannot be read."""
    context, found = bench(root, faults)
    order = ("released", "discarded", "poisoned", "slice", "local", "absent")
    reads: list[Callable[[], object]] = [
        lambda: context.to_host(found),
        lambda: context.to_host_all([found]),
        lambda: context.get_values(found),
        lambda: context.get_value(found, (0,)),
        lambda: context.points_1d(found),
    ]
    assert {rule(read) for read in reads} == {expected(order, faults, READS)}


@pytest.mark.parametrize("faults", [*COMBINATIONS, *((*each, "count") for each in COMBINATIONS)], ids="+".join)
def test_uploads(root: Any, faults: tuple[str, ...]) -> None:
    """Released, poisoned, discarded, a slice view, scratch, then the values."""
    context, found = bench(root, faults)
    order = ("released", "poisoned", "discarded", "slice", "local", "count")
    values = [1, 2, 3] if "count" in faults else [1, 2]
    assert rule(lambda: context.set_values(found, values)) == expected(order, faults, RULES)


@pytest.mark.parametrize("faults", COMBINATIONS, ids="+".join)
def test_elements(root: Any, faults: tuple[str, ...]) -> None:
    """As uploads; an element of a node without a buffer last."""
    context, found = bench(root, faults)
    order = ("released", "poisoned", "discarded", "slice", "local", "absent")
    rules = {**RULES, "absent": "transfers/absent"}
    assert rule(lambda: context.set_value(found, (0,), 1)) == expected(order, faults, rules)


@pytest.mark.parametrize("faults", COMBINATIONS, ids="+".join)
def test_copies_into(cf: Any, root: Any, faults: tuple[str, ...]) -> None:
    """The destination's faults: released, poisoned, discarded, a slice view, scratch."""
    context, found = bench(root, faults)
    order = ("released", "poisoned", "discarded", "slice", "local")
    source = cf.Context.cpu()
    if found.slice_of is None and not found.discarded:
        source = source.set_values(found, [5, 6])
    wanted = expected(order, faults, RULES)
    assert rule(lambda: context.copy_from(source, found)) == wanted
    if wanted is None:
        assert context.copy_from(source, found).get_values(found) == [5.0, 6.0]


def test_the_destination_is_looked_at_before_the_source(cf: Any, root: Any) -> None:
    """Released: destination, then source; poisoned: source, then destination."""
    x, y = stored("x"), stored("y")

    def made(value: int) -> tuple[Any, Any]:
        context, (routine,) = chain(cf.Context.cpu(), program(f"init{value}", number(y, value), embedded=[y]))
        return context.set_values(x, [value, value]), routine

    (one, first), (two, second) = made(1), made(2)
    one.poison_lineage(first.routine_id, RuntimeError("boom"))
    two.poison_lineage(second.routine_id, RuntimeError("boom"))
    with pytest.raises(cf.Refusal) as caught:
        one.copy_from(two, x)
    assert caught.value.subjects["routine"] == "init2"
    two.release()
    assert rule(lambda: one.copy_from(two, x)) == "release/dead-handle"
    with pytest.raises(cf.Refusal) as caught:
        two.copy_from(one, x)
    assert caught.value.rule == "release/dead-handle"


def test_fills_look_at_the_source_before_the_consumers(root: Any) -> None:
    """Where it is from, whether it is there, whether it is ready, and then who still waits."""
    n, y, late = stored("n"), stored("y"), stored("late")
    other = type(root).cpu(threads=2)
    fed = root.set_values(n, [1, 2])
    child, _ = fed.copy_from(fed, n, into_merge_buffer=True).compile(program("use", merged(y, n), embedded=[y]))
    pending, _ = root.compile(program("later", number(late, 1), embedded=[late]))
    calls = [
        ("transfers/cross-backend", other, late),
        ("transfers/not-in-source", root, late),
        ("transfers/source-pending", pending, late),
        ("transfers/pending-consumers", fed, n),
    ]
    for wanted, source, node_ in calls:
        assert rule(lambda: child.copy_from(source, node_, into_merge_buffer=True)) == wanted  # noqa: B023
