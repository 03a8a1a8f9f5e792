"""(l) Bindings: read at the call, checked before it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import (
    Symbol,
    add,
    chain,
    embedded,
    node,
    number,
    program,
    put,
    refusal,
    rule,
    stored,
    total,
)


@pytest.mark.parametrize("threads", [1, 2])
def test_b64_values_at_the_call(cf: Any, threads: int) -> None:
    """out[i] = i * i for i = 0 .. 3, rebound at once, no sync: 0, 1, 4, 9 on every backend."""
    i, out, e = Symbol("i", 4), stored("out", (4,)), node("e", ())
    cell = node("cell", (), slice_of=(out, i))
    comp = program("square", embedded(e, i), put(cell, "mul", e, e), embedded=[out])
    context, (routine,) = chain(cf.Context.cpu(threads=threads), comp)
    for value in range(4):
        i.set(value)
        context = context.run(routine)
        i.set(3 - value)
    assert context.get_values(out) == [0.0, 1.0, 4.0, 9.0]


def test_sixty_four_dispatches_without_a_sync(cf: Any) -> None:
    """Sums of i and of i squared over 64 rebindings on two devices: 2016 and 85344."""
    i, first, second, e = Symbol("i", 64), stored("first", ()), stored("second", ()), node("e", ())
    comp = program(
        "sums", embedded(e, i), add(first, "identity", e), add(second, "mul", e, e), embedded=[first, second]
    )
    context, (routine,) = chain(cf.Context.cpu(threads=2), comp)
    for value in range(64):
        i.set(value)
        context = context.run(routine)
    assert context.get_values(first) == [2016.0]
    assert context.get_values(second) == [85344.0]


@pytest.mark.parametrize(
    ("value", "fault"), [(None, "unassigned"), (-1, "negative"), (4, "past range"), (2**31, "past range")]
)
def test_a_binding_that_is_wrong(root: Any, value: int | None, fault: str) -> None:
    """Each kind of fault is told with symbol and value; nothing ran."""
    i, y = Symbol("i", 4), stored("y", ())
    context, (routine,) = chain(root, program("use", embedded(y, i), embedded=[y]))
    if value is not None:
        i.set(value)
    expected = {"routine": "use", "bindings": [["i", value, fault]]}
    for call in (
        lambda: context.run(routine),
        lambda: context.check_runnable(routine),
        lambda: context.check_launch_bindings(routine),
    ):
        assert refusal(call).subjects == expected
    context.check_lineage_runnable(routine)
    assert not context.buffer_written(y)


def test_a_symbol_without_a_range_has_the_index_width(root: Any) -> None:
    """Up to 2^31 - 1."""
    i, y = Symbol("i"), stored("y", ())
    context, (routine,) = chain(root, program("use", embedded(y, i), embedded=[y]))
    i.set(2**31)
    assert refusal(lambda: context.run(routine)).subjects["bindings"] == [["i", 2**31, "past index width"]]
    i.set(2**24)
    assert context.run(routine).get_values(y) == [float(2**24)]


def test_several_faults_are_told_together(root: Any) -> None:
    """In the order of the symbols' numbers."""
    i, j, y = Symbol("i", 4), Symbol("j", 4), stored("y", ())
    context, (routine,) = chain(root, program("use", embedded(y, j), embedded(y, i), embedded=[y]))
    j.set(9)
    assert refusal(lambda: context.run(routine)).subjects["bindings"] == [
        ["i", None, "unassigned"],
        ["j", 9, "past range"],
    ]


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_a_symbolic_extent(root: Any, count: int) -> None:
    """A sum over the first n elements, for each n up to the bound; none is the neutral value."""
    n, x, y = Symbol("n", 4, extent=True), node("x", (4,)), stored("y", ())
    comp = program("sum", total(y, "identity", x, by="k -> ; k=$n", symbols=[n]), embedded=[y])
    context, (routine,) = chain(root.set_values(x, [1, 2, 4, 8]), comp)
    n.set(count)
    assert context.run(routine).get_values(y) == [float(2**count - 1)]


def test_a_symbolic_extent_of_at_most_one(root: Any) -> None:
    """A reduction over no element is its neutral value, not the operand."""
    n, x, y = Symbol("n", 1, extent=True), node("x", (1,)), stored("y", ())
    comp = program("sum", total(y, "identity", x, by="k -> ; k=$n", symbols=[n]), embedded=[y])
    context, (routine,) = chain(root.set_values(x, [5]), comp)
    for count, value in ((0, 0.0), (1, 5.0)):
        n.set(count)
        assert context.run(routine).get_values(y) == [value]


def test_a_slice_outside_its_parent_is_refused_at_the_compile(root: Any) -> None:
    """A range larger than the axis can leave it."""
    i, p, y = Symbol("i", 5), node("p", (4,)), stored("y", ())
    cell = node("cell", (), slice_of=(p, i))
    comp = program("use", put(y, "identity", cell), embedded=[y])
    assert rule(lambda: root.set_values(p, [0] * 4).compile(comp)) == "compile/index-range"


def test_the_arguments_may_be_forgotten_after_the_run(cf: Any) -> None:
    """Symbols and routines dropped right after the call: the dispatch has what it needs."""
    y = stored("y", ())

    def dispatched(value: int) -> Any:
        i = Symbol("i", 8)
        i.set(value)
        context, (routine,) = chain(cf.Context.cpu(threads=2), program("use", embedded(y, i), embedded=[y]))
        return context.run(routine)

    for value in range(8):
        assert dispatched(value).get_values(y) == [float(value)]


def test_a_binding_is_no_definition_of_a_constant(root: Any) -> None:
    """What was embedded at one run is embedded anew at the next."""
    i, y = Symbol("i", 4), stored("y")
    context, (routine,) = chain(root, program("use", number(y, 9), embedded(y, i), embedded=[y]))
    for value in (3, 1):
        i.set(value)
        assert context.run(routine).get_values(y) == [float(value)] * 2
