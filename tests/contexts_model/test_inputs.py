"""What counts as written: the matrix of rule 29 (notes 5.5)."""

from __future__ import annotations

from tests.contexts_model.building import add, adding, fetch, gradient, node, program, refused, rule, store

from counterfoil_reference import Context
from counterfoil_spec.programs.nodes import Intent, Node


def test_data_nobody_wrote_is_refused(root: Context) -> None:
    """A read-only input counts as written by a run, an upload or a copy, not by allocation (context:53)."""
    x, y = node("x"), node("y")
    made = program("use", store(y, x), embedded=[x, y])
    child, routine = root.compile(made)
    assert refused(lambda: child.run(routine)) == ("run/unwritten-inputs", {"routine": "use", "nodes": ["x"]})
    assert rule(lambda: child.check_runnable(routine)) == "run/unwritten-inputs"
    fed = child.set_values(x, [1, 2])
    assert fed.run(routine).get_values(y) == [1.0, 2.0]


def test_a_gradient_is_zero_valid(root: Context) -> None:
    """A gradient nobody wrote is read as zeros, whether read-only or read before written (context:53, C3)."""
    g, x, y = gradient(), node("x"), node("y")
    fed = root.set_values(x, [1, 2])
    reader, reading = fed.compile(program("read", store(y, g), embedded=[g, y]))
    writer, adding_up = fed.compile(adding(g, x))
    assert reader.run(reading).get_values(y) == [0.0, 0.0]
    assert writer.run(adding_up).get_values(g) == [1.0, 2.0]


def test_a_counter_starts_somewhere(root: Context) -> None:
    """A counter read before it is written must be seeded, unless the routine embeds it (context:53)."""
    c, one = node("c"), Node("one", (1,), literal=[1])
    one.require(Intent.ON_DEVICE)
    embedding, counting = root.compile(program("tick", add(c, one), embedded=[c]))
    child, _ = root.compile(program("make", store(c, c), embedded=[c]))
    other, ticking = child.compile(program("tick", add(c, one)))
    assert embedding.run(counting).get_values(c) == [1.0, 1.0]
    assert rule(lambda: other.check_lineage_runnable(ticking)) == "run/unwritten-inputs"
    seeded = child.set_values(c, [5, 5])
    after, tick = seeded.compile(program("tick", add(c, one)))
    assert after.run(tick).get_values(c) == [6.0, 6.0]


def test_literals_are_there(root: Context) -> None:
    """A literal needs no write (context:53)."""
    c, y = Node("c", (2,), literal=[3, 4]), node("y")
    c.require(Intent.ON_DEVICE)
    child, routine = root.compile(program("use", store(y, c), embedded=[y]))
    assert child.run(routine).get_values(y) == [3.0, 4.0] and not child.buffer_written(c)


def test_what_counts_is_the_buffer_the_routine_binds(root: Context) -> None:
    """A sibling's buffer for the same node says nothing (context:53)."""
    x, y = node("x"), node("y")
    x.set_context_owned()
    made = program("use", store(y, x), embedded=[x, y])
    first, _ = root.compile(made)
    second, routine = root.compile(made)
    first.set_values(x, [1, 2])
    assert rule(lambda: second.run(routine)) == "run/unwritten-inputs"
    assert first.buffer_written(x) and not second.buffer_written(x)


def test_released_locations_keep_no_record(root: Context) -> None:
    """The record of a buffer is gone with it (context:105)."""
    x = node("x")
    child, routine = root.compile(program("init", fetch(x, 1), embedded=[x]))
    done = child.run(routine)
    assert done.buffer_written(x)
    done.release()
    assert not done.buffer_written(x) and root.ledger_records == 0


def test_dependencies_have_run(root: Context) -> None:
    """What a routine depends on runs first, named in the order of ids (context:99)."""
    x, y = node("x"), node("y")
    first, init = root.compile(program("init", fetch(x, 1), embedded=[x]))
    second, use = first.compile(program("use", store(y, x), embedded=[y]))
    fed = second.set_values(x, [1, 2])
    assert not second.can_run(use)
    assert refused(lambda: fed.run(use)) == ("run/dependencies", {"routine": "use", "missing": ["init"]})
    first.run(init)
    assert second.can_run(use) and second.run(use).get_values(y) == [1.0, 1.0]
