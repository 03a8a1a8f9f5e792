"""Constants shared by roots, and the merge buffer (notes 5.8 and 6)."""

from __future__ import annotations

from tests.contexts_model.building import fetch, merged, node, program, refused, rule, store

from counterfoil_reference import Context, inspection
from counterfoil_spec.programs.nodes import Intent, Node


def literal(label: str = "c") -> Node:
    """A literal that always gets a buffer."""
    made = Node(label, (2,), literal=[1, 2])
    made.require(Intent.ON_DEVICE)
    return made


def test_two_roots_share_a_literal() -> None:
    """One pool, one upload; a write by one root is refused to the other until it writes or adopts (context:57)."""
    a, b, c, y = Context.cpu(), Context.cpu(), literal(), node("y")
    made = program("use", store(y, c), embedded=[y])
    (ca, ra), before = a.compile(made), inspection.census()["constant_pools"]
    cb, rb = b.compile(made)
    assert inspection.census()["constant_pools"] == before
    assert ra.shared_reads == rb.shared_reads == (c,)
    ca.run(ra)
    cb.run(rb)
    ca = ca.set_values(c, [5, 6])
    assert ca.run(ra).get_values(y) == [5.0, 6.0]
    foreign = ("run/foreign-write", {"routine": "use", "nodes": ["c"]})
    assert refused(lambda: cb.run(rb)) == foreign and refused(lambda: cb.check_runnable(rb)) == foreign
    cb = cb.copy_from(ca, c)
    assert cb.run(rb).get_values(y) == [5.0, 6.0] and rule(lambda: ca.run(ra)) is None
    cb = cb.set_values(c, [7, 8])
    assert rule(lambda: cb.run(rb)) is None and refused(lambda: ca.run(ra)) == foreign
    ca.release()
    assert inspection.census()["constant_pools"] == before
    cb.release()
    assert inspection.census()["constant_pools"] == before - 1


def test_a_stale_value_is_not_adopted() -> None:
    """A source that another root overwrote vouches for nothing (context:103)."""
    a, b, e = Context.cpu(), Context.cpu(), Context.cpu()
    c, y = literal(), node("y")
    made = program("use", store(y, c), embedded=[y])
    (ca, _), (cb, rb), (ce, _) = a.compile(made), b.compile(made), e.compile(made)
    ca.set_values(c, [5, 6])
    assert cb.copy_from(ce, c) is cb and rule(lambda: cb.run(rb)) == "run/foreign-write"


def test_a_root_made_after_the_write_is_stale() -> None:
    """A shared constant overwritten before a root existed is stale for it (C6)."""
    a, c, y = Context.cpu(), literal(), node("y")
    made = program("use", store(y, c), embedded=[y])
    ca, _ = a.compile(made)
    ca.set_values(c, [5, 6])
    cb, rb = Context.cpu().compile(made)
    assert rule(lambda: cb.run(rb)) == "run/foreign-write"
    ca.release()
    cb.release()
    cd, rd = Context.cpu().compile(made)
    assert cd.run(rd).get_values(y) == [1.0, 2.0]
    cd.release()


def test_siblings_share_what_they_only_read(root: Context) -> None:
    """A root's own constant is one buffer for its values, and none of another root's (C6)."""
    x, y = node("x"), node("y")
    made = program("use", store(y, x), embedded=[x, y])
    one, _ = root.compile(made)
    two, second = root.compile(made)
    other, third = Context.cpu().compile(made)
    one.set_values(x, [1, 2])
    assert two.run(second).get_values(y) == [1.0, 2.0] and rule(lambda: other.run(third)) == "run/unwritten-inputs"
    for context in (one, two, other):
        context.release()


def test_context_owned_nodes_are_not_shared(root: Context) -> None:
    """set_context_owned keeps a node out of the constant pools (context:57)."""
    c, y = literal(), node("y")
    c.set_context_owned()
    child, routine = root.compile(program("use", store(y, c), embedded=[y]))
    assert routine.shared_reads == () and child.run(routine).get_values(y) == [1.0, 2.0]
    child.release()


def test_merge_buffer_story(root: Context) -> None:
    """Pending writers and consumers, refills, releases: the scenario of notes 6."""
    a, b = node("a"), node("b")
    fed = root.set_values(b, [10, 20])
    source, tick = fed.compile(program("tick", fetch(a, 1), embedded=[a]))

    def fill(target: Context, origin: Context) -> Context:
        return target.copy_from(origin, a, into_merge_buffer=True)

    pending = {"node": "a", "writer": "tick"}
    assert refused(lambda: fill(fed, source)) == ("transfers/source-pending", pending)
    done = source.run(tick)
    filled = fill(fed, done)
    consumer = program("consume", merged(b, a))
    assert refused(lambda: fed.compile(consumer)) == (
        "compile/merge-mismatch", {"routine": "consume", "reads": "a", "filled": None},
    )  # fmt: skip
    child, consume = filled.compile(consumer)
    waiting = ("transfers/pending-consumers", {"node": "a", "consumers": ["consume"]})
    assert refused(lambda: fill(fed, done)) == waiting
    assert child.run(consume).get_values(b) == [11.0, 21.0]
    records = fed.ledger_records
    again = fill(fill(fed, done), done)
    assert fed.ledger_records == records - 1  # the registration of the consumer went with its fill
    assert rule(lambda: child.run(consume)) == "run/dependencies"
    last, unrun = again.compile(consumer, name="second")
    assert refused(lambda: fill(fed, done)) == ("transfers/pending-consumers", {"node": "a", "consumers": ["second"]})
    last.release()
    assert rule(lambda: fill(fed, done)) is None and rule(lambda: root.run(unrun)) == "run/compile-context-released"


def test_an_upload_fork_keeps_a_consumer_pending(root: Context) -> None:
    """Until every leaf that holds the consumer's buffers is released (context:172)."""
    a, b, p, q = node("a"), node("b"), node("p"), node("q")
    fed = root.set_values(a, [1, 2]).set_values(b, [3, 4])
    filled = fed.copy_from(fed, a, into_merge_buffer=True)
    child, _ = filled.compile(program("consume", merged(b, a)))
    tip, fork = child.set_values(p, [1, 1]), child.set_values(q, [1, 1])
    tip.release()
    assert rule(lambda: fed.copy_from(fed, a, into_merge_buffer=True)) == "transfers/pending-consumers"
    fork.release()
    assert rule(lambda: fed.copy_from(fed, a, into_merge_buffer=True)) is None


def test_another_roots_fill_is_seen_at_dispatch(root: Context) -> None:
    """A slab that another root filled is refused (C18)."""
    a, b = node("a"), node("b")
    fed = root.set_values(a, [1, 2]).set_values(b, [3, 4])
    child, consume = fed.copy_from(fed, a, into_merge_buffer=True).compile(program("consume", merged(b, a)))
    other = Context.cpu().set_values(a, [9, 9])
    other.copy_from(other, a, into_merge_buffer=True)
    assert refused(lambda: child.run(consume)) == ("run/merge-slab", {"routine": "consume", "node": "a"})
    assert rule(lambda: child.check_runnable(consume)) is None


def test_a_merge_fill_needs_a_source(root: Context) -> None:
    """Of the same backend, bound, and written by somebody (context:101)."""
    a, b = node("a"), node("b")
    fed = root.set_values(a, [1, 2])
    child, _ = root.compile(program("make", fetch(b, 1), embedded=[b]))
    away = Context.cpu(threads=2).set_values(a, [1, 2])

    def fill(origin: Context, what: Node) -> str | None:
        return rule(lambda: fed.copy_from(origin, what, into_merge_buffer=True))

    assert fill(away, a) == "transfers/cross-backend" and fill(fed, b) == "transfers/not-in-source"
    assert fill(child, b) == "transfers/source-pending" and fill(fed, a) is None


def test_constants_go_with_the_last_binder(root: Context) -> None:
    """Inherited entries bind too, and a freed constant is uploaded anew (context:178, C6)."""
    c, y, z = literal(), node("y"), node("z")
    before = inspection.census()["constant_pools"]
    child, _ = root.compile(program("use", store(y, c), embedded=[y]))
    grand, _ = child.compile(program("more", store(z, y), embedded=[z]))
    child.release()
    assert inspection.census()["constant_pools"] == before + 1
    grand.release()
    assert inspection.census()["constant_pools"] == before
    again, routine = root.compile(program("use", store(y, c), embedded=[y]))
    assert again.run(routine).get_values(y) == [1.0, 2.0]
    again.release()
