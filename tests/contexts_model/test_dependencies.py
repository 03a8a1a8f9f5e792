"""Which routines a routine depends on: the examples of notes 4."""

from __future__ import annotations

from tests.contexts_model.building import add, fetch, merged, node, program, rule, store

from counterfoil_reference import Context
from counterfoil_spec.programs.nodes import Intent, Node


def test_a_training_step(root: Context) -> None:
    """Writers of what is read and written, and readers of what is written; running again needs no reset."""
    w, x, g = node("w"), node("x"), node("g")
    c1, init = root.set_values(x, [1, 2]).compile(program("init", fetch(w, 3), embedded=[w]))
    c2, grad = c1.compile(program("grad", store(g, w, x, operation="mul"), embedded=[g]))
    c3, sgd = c2.compile(program("sgd", add(w, g)))
    assert init.execution_deps == frozenset()
    assert grad.execution_deps == {init.routine_id}
    assert sgd.execution_deps == {init.routine_id, grad.routine_id}
    c1.run(init)
    assert rule(lambda: c3.run(sgd)) == "run/unwritten-inputs" and not c3.can_run(sgd)
    for _ in range(2):
        c2.run(grad)
        c3.run(sgd)
    assert c3.get_values(w) == [12.0, 27.0]


def test_siblings_depend_on_nothing_of_each_other(root: Context) -> None:
    """Two routines compiled from one value run in any order."""
    x, y = node("x"), node("y")
    c1, init = root.compile(program("init", fetch(x, 1), fetch(y, 2), embedded=[x, y]))
    _, one = c1.compile(program("one", add(x, y)))
    _, two = c1.compile(program("two", add(x, y)))
    assert one.execution_deps == two.execution_deps == {init.routine_id}


def test_an_upload_supersedes_earlier_writers(root: Context) -> None:
    """A reader compiled after an upload waits for no earlier writer; one compiled before it does."""
    n, y = node("n"), node("y")
    c1, writer = root.compile(program("write", fetch(n, 1), embedded=[n]))
    uploaded = c1.set_values(n, [5, 6])
    _, after = uploaded.compile(program("read", store(y, n), embedded=[y]))
    _, before = c1.compile(program("read", store(y, n), embedded=[y]))
    assert after.execution_deps == frozenset() and before.execution_deps == {writer.routine_id}


def test_a_writer_waits_for_readers(root: Context) -> None:
    """Both readers since the last write are waited for."""
    n, y, z = node("n"), node("y"), node("z")
    c = root.set_values(n, [1, 2])
    c, one = c.compile(program("one", store(y, n), embedded=[y]))
    c, two = c.compile(program("two", store(z, n), embedded=[z]))
    c, write = c.compile(program("write", fetch(n, 0)))
    assert write.execution_deps == {one.routine_id, two.routine_id}


def test_a_read_modify_write_is_no_reader(root: Context) -> None:
    """An update depends on the writer before it, and the next writer on the update."""
    n = node("n")
    c, init = root.compile(program("init", fetch(n, 1), embedded=[n]))
    c, update = c.compile(program("update", add(n, n)))
    c, write = c.compile(program("write", fetch(n, 0)))
    assert update.execution_deps == {init.routine_id} and write.execution_deps == {update.routine_id}


def test_a_consumer_depends_on_the_fill_alone(root: Context) -> None:
    """A routine that reads the merge buffer depends on the transfer, not on the node's writers."""
    a, b = node("a"), node("b")
    c, tick = root.set_values(b, [9, 9]).compile(program("tick", fetch(a, 1), embedded=[a]))
    done = c.run(tick)
    filled = done.copy_from(done, a, into_merge_buffer=True)
    _, consume = filled.compile(program("consume", merged(b, a)))
    assert len(consume.execution_deps) == 1 and tick.routine_id not in consume.execution_deps


def test_a_routine_that_defers_depends_on_nothing(root: Context) -> None:
    """A routine all of whose assignments became definitions is empty and runs."""
    x, v = node("x"), Node("v", (2,))
    v.require(Intent.VIRTUAL)
    c, define = root.set_values(x, [1, 2]).compile(program("define", store(v, x), embedded=[v]))
    assert define.outputs == () and define.execution_deps == frozenset()
    assert c.run(define) is not None and c.stored_components(v) == 1
