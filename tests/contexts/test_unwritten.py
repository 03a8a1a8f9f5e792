"""What counts as written, and (i): memory that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.contexts.scenario import (
    add,
    adding,
    chain,
    gradient,
    node,
    number,
    program,
    put,
    refusal,
    rule,
    stored,
    total,
)


def reading(x: Any, *, embeds: bool) -> tuple[Any, Any]:
    """y = x: the comp and y."""
    y = stored("y")
    return program("use", put(y, "identity", x), embedded=[x, y] if embeds else [y]), y


def by_upload(root: Any, x: Any) -> Any:
    """Written by an upload."""
    return root.set_values(x, [1, 2])


def by_run(root: Any, x: Any) -> Any:
    """Written by a run."""
    child, routine = root.compile(program("write", put(x, "identity", node("c", literal=[1, 2])), embedded=[x]))
    return child.run(routine)


def by_copy(root: Any, x: Any) -> Any:
    """Written by a device copy."""
    return root.copy_from(type(root).cpu().set_values(x, [1, 2]), x)


@pytest.mark.parametrize("write", [by_upload, by_run, by_copy])
def test_5_5_read_only_data(root: Any, write: Callable[[Any, Any], Any]) -> None:
    """Data never written is refused; written by an upload, a run or a copy it is read."""
    x = stored("x")
    comp, y = reading(x, embeds=True)
    child, routine = root.compile(comp)
    assert refusal(lambda: child.run(routine)).subjects == {"routine": "use", "nodes": ["x"]}
    comp, y = reading(x, embeds=False)
    child, routine = write(root, x).compile(comp)
    assert child.run(routine).get_values(y) == [1.0, 2.0]


def test_5_5_read_only_gradient(root: Any) -> None:
    """A gradient never written is read as zeros."""
    comp, y = reading(gradient("x"), embeds=True)
    child, routine = root.compile(comp)
    assert child.run(routine).get_values(y) == [0.0, 0.0]


@pytest.mark.parametrize("embeds", [True, False])
def test_5_5_counter(root: Any, embeds: bool) -> None:
    """A counter that its routine embeds starts at zero; one bound and never seeded is refused."""
    c, one = stored("c"), node("one", literal=[1, 1])
    peek, _ = reading(c, embeds=True)
    context = root if embeds else root.compile(peek)[0]
    child, routine = context.compile(program("tick", add(c, "identity", one), embedded=[c] if embeds else []))
    if embeds:
        assert child.run(routine).get_values(c) == [1.0, 1.0]
    else:
        assert refusal(lambda: child.run(routine)).subjects == {"routine": "tick", "nodes": ["c"]}


def test_5_5_host_literal(root: Any) -> None:
    """A literal was written by whoever wrote the program."""
    comp, y = reading(node("x", literal=[3, 4]), embeds=False)
    child, routine = root.compile(comp)
    assert child.run(routine).get_values(y) == [3.0, 4.0]


def test_5_5_the_buffer_the_routine_binds(root: Any) -> None:
    """An input written in a sibling's buffer of the same node is unwritten here."""
    x = stored("x")
    x.set_context_owned()
    comp, _ = reading(x, embeds=True)
    (one, first), (two, second) = root.compile(comp), root.compile(comp)
    written = one.set_values(x, [1, 2])
    written.run(first)
    for context in (two, written):
        assert rule(lambda: context.run(second)) == "run/unwritten-inputs"  # noqa: B023


def test_5_5_released_and_allocated_again(root: Any) -> None:
    """The records of a released buffer do not serve the next one at its place."""
    x = stored("x")
    x.set_context_owned()
    comp, _ = reading(x, embeds=True)
    one, first = root.compile(comp)
    one.set_values(x, [1, 2]).run(first)
    assert one.buffer_written(x)
    one.release()
    assert not one.buffer_written(x)
    two, second = root.compile(comp)
    assert rule(lambda: two.run(second)) == "run/unwritten-inputs"


def test_b50_counters_and_forgotten_inputs(root: Any) -> None:
    """c = c + 1 and y = 2 x on a new context are refused naming c and x, and nothing counts as executed."""
    c, x, y, one = stored("c", ()), stored("x", ()), stored("y", ()), node("one", (), literal=[1])
    holder, holding = root.compile(program("hold", put(y, "add", c, x), embedded=[y, c, x]))
    tick, ticking = holder.compile(program("tick", add(c, "identity", one)))
    twice, doubling = holder.compile(program("twice", put(y, "add", x, x)))
    assert refusal(lambda: tick.run(ticking)).subjects["nodes"] == ["c"]
    assert refusal(lambda: twice.run(doubling)).subjects["nodes"] == ["x"]
    assert not tick.can_run(ticking)
    assert not twice.buffer_written(y)
    holder.set_values(c, [0]).set_values(x, [4]).run(holding)
    assert tick.run(ticking).get_values(c) == [1.0]
    assert twice.run(doubling).get_values(y) == [8.0]


@pytest.mark.parametrize("byte", [0xFF, 0x7F, 0x01])
def test_b48_no_poison_is_seen(cf: Any, root: Any, byte: int) -> None:
    """Whatever fresh memory held, a routine's results and what it leaves unwritten are the same."""
    cf.inspection.poison(byte)
    x, y, part, g = node("x"), stored("y"), stored("part", (4,)), gradient("d")
    code = [put(y, "mul", x, x), put(part, "identity", x, by="i -> i+1"), add(g, "identity", x)]
    child, routine = root.set_values(x, [1, 2]).compile(program("use", *code, embedded=[y, part, g], accumulates=[g]))
    after = child.run(routine)
    assert after.get_values(y) == [1.0, 4.0]
    assert after.get_values(part) == [0.0, 1.0, 2.0, 0.0]
    assert after.get_values(g) == [1.0, 2.0]


@pytest.mark.parametrize("size", [1, 5, 8, 9, 33])
def test_b47_a_fresh_product_holds_no_garbage(cf: Any, root: Any, size: int) -> None:
    """A matrix product into fresh memory is the product at every size, full tiles or not."""
    cf.inspection.poison(0xFF)
    a, b, out = node("a", (size, 3)), node("b", (3, size)), stored("out", (size, size))
    fed = root.set_values(a, [1] * (size * 3)).set_values(b, [1] * (size * 3))
    comp = program("product", total(out, "mul", a, b, by="i k, k j -> i j"), embedded=[out])
    child, routine = fed.compile(comp)
    assert child.run(routine).get_values(out) == [3.0] * size * size


def test_freed_memory_is_zero_when_it_comes_back(cf: Any, root: Any) -> None:
    """Memory released full of something is zeros for the next owner (C3)."""
    g, x = gradient(), node("x")
    fed = root.set_values(x, [1, 2])
    for _ in range(3):
        child, routine = fed.compile(adding(g, x))
        child.set_values(g, [9, 9])
        child.release()
        child, routine = fed.compile(adding(g, x))
        assert child.run(routine).get_values(g) == [1.0, 2.0]
        child.release()


def test_writing_a_part_first_does_not_make_it_written(root: Any) -> None:
    """A node partly written and then read whole is an input (issue 618)."""
    x, y = stored("x", (3,)), stored("y", (3,))
    five = node("five", (), literal=[5])
    code = [put(x, "identity", five, by="-> 0"), put(y, "identity", x)]
    context, (routine,) = chain(root.set_values(x, [1, 2, 3]), program("use", *code, embedded=[y]))
    assert [each.label for each in routine.inputs] == ["x"]
    assert context.run(routine).get_values(y) == [5.0, 2.0, 3.0]


def test_an_accumulation_into_zeroed_is_no_input(root: Any) -> None:
    """Zeroed and then added to, a node is written, not read."""
    x, g = node("x"), stored("g")
    comp = program("use", number(g, 0), add(g, "identity", x), embedded=[g])
    context, (routine,) = chain(root.set_values(x, [1, 2]), comp)
    assert [each.label for each in routine.inputs] == ["x"]
    for _ in range(2):
        assert context.run(routine).get_values(g) == [1.0, 2.0]
