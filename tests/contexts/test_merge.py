"""Copies between contexts, and the merge buffer linked statically."""

from __future__ import annotations

from typing import Any

from tests.contexts.scenario import chain, merged, node, program, put, refusal, rule, stored


def test_copy_into_a_context_that_lacks_the_node(cf: Any, root: Any) -> None:
    """The destination allocates; the source keeps its own."""
    a = stored("a", (3,))
    source = root.set_values(a, [11, 22, 33])
    copied = cf.Context.cpu().copy_from(source, a)
    source.set_values(a, [0, 0, 0])
    assert copied.get_values(a) == [11.0, 22.0, 33.0]
    assert copied.is_initialized(a)


def test_copy_overwrites_what_is_there(cf: Any, root: Any) -> None:
    """A second copy goes into the same buffer, and makes no new unit."""
    a = stored("a", (3,))
    source = root.set_values(a, [11, 22, 33])
    copied = cf.Context.cpu().copy_from(source, a)
    again = copied.copy_from(source.set_values(a, [100, 200, 300]), a)
    assert copied.get_values(a) == [100.0, 200.0, 300.0]
    assert again.same_release_unit(copied)
    assert again.lifecycle_depth == 0


def test_copy_of_a_literal_the_source_does_not_bind(cf: Any, root: Any) -> None:
    """It goes by the host."""
    c = node("c", literal=[5, 6])
    assert cf.Context.cpu().copy_from(root, c).get_values(c) == [5.0, 6.0]


def test_copy_of_a_virtual_node(cf: Any, root: Any) -> None:
    """It is recomputed on the way."""
    x, v = node("x"), node("v")
    context, _ = chain(root.set_values(x, [1, 2]), program("later", put(v, "add", x, x)))
    assert cf.Context.cpu().copy_from(context, v).get_values(v) == [2.0, 4.0]


def test_copy_between_backends(cf: Any, root: Any) -> None:
    """It goes by the host; a merge buffer is not filled so."""
    a = stored("a")
    source = root.set_values(a, [1.5, 2.5])
    there = cf.Context.cpu(threads=2)
    assert there.copy_from(source, a).get_values(a) == [1.5, 2.5]
    assert rule(lambda: there.copy_from(source, a, into_merge_buffer=True)) == "transfers/cross-backend"


def test_a_consumer_needs_the_transfers_context(root: Any) -> None:
    """b += a.merge compiles only from what the fill returned, and adds what was filled."""
    a, b = stored("a", (3,)), stored("b", (3,))
    fed = root.set_values(a, [2, 3, 4]).set_values(b, [10, 20, 30])
    comp = program("add", merged(b, a, "add"))
    assert refusal(lambda: fed.compile(comp)).subjects == {"routine": "add", "reads": "a", "filled": None}
    child, routine = fed.copy_from(fed, a, into_merge_buffer=True).compile(comp)
    assert child.run(routine).get_values(b) == [12.0, 23.0, 34.0]


def test_a_mismatched_node_is_refused_at_the_link(root: Any) -> None:
    """The slab holds one node's value: code over another's is refused naming both."""
    a, b, y = stored("a"), stored("b"), stored("y")
    fed = root.set_values(a, [1, 2]).set_values(b, [3, 4])
    filled = fed.copy_from(fed, a, into_merge_buffer=True)
    caught = refusal(lambda: filled.compile(program("use", merged(y, b), embedded=[y])))
    assert (caught.rule, caught.subjects) == ("compile/merge-mismatch", {"routine": "use", "reads": "b", "filled": "a"})


def test_a_fill_does_nothing_to_the_node(root: Any) -> None:
    """Filling the slab leaves every buffer, and what is waited for, as it was."""
    a, y = stored("a"), stored("y")
    fed = root.set_values(a, [3, 4]).set_values(y, [9, 9])
    filled = fed.copy_from(fed, a, into_merge_buffer=True)
    assert (filled.get_values(a), filled.get_values(y)) == ([3.0, 4.0], [9.0, 9.0])
    child, routine = filled.compile(program("use", merged(y, a)))
    assert child.run(routine).get_values(y) == [3.0, 4.0]


def test_a_slab_grows(root: Any) -> None:
    """A larger node fills the same slab; the small one's consumer, which has run, cannot run again."""
    a, b, y, z = stored("a"), stored("b", (64,)), stored("y"), stored("z", (64,))
    fed = root.set_values(a, [1, 2]).set_values(b, list(range(64)))
    small, first = fed.copy_from(fed, a, into_merge_buffer=True).compile(program("small", merged(y, a), embedded=[y]))
    small.run(first)
    large, second = fed.copy_from(fed, b, into_merge_buffer=True).compile(program("large", merged(z, b), embedded=[z]))
    assert large.run(second).get_values(z) == [float(k) for k in range(64)]
    assert rule(lambda: small.run(first)) == "run/dependencies"


def test_two_merge_nodes_in_one_routine(root: Any) -> None:
    """There is one slab: code over two nodes is refused naming both."""
    a, b, y = stored("a"), stored("b"), stored("y")
    comp = program("two", merged(y, a), merged(y, b, "add"), embedded=[y])
    assert refusal(lambda: root.compile(comp)).subjects == {"nodes": ["a", "b"]}


def test_gradients_are_summed_between_devices(cf: Any) -> None:
    """Two devices of one backend: the second's gradient is added to the first's through the slab."""
    g = stored("g")
    one = cf.Context.cpu(threads=2, ordinal=0).set_values(g, [1, 2])
    two = cf.Context.cpu(threads=2, ordinal=1).set_values(g, [10, 20])
    child, routine = one.copy_from(two, g, into_merge_buffer=True).compile(program("sum", merged(g, g, "add")))
    assert child.run(routine).get_values(g) == [11.0, 22.0]
    assert two.get_values(g) == [10.0, 20.0]
