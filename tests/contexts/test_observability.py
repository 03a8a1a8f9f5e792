"""Whether a host read is served, and why not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import (
    Fetch,
    Intent,
    Offsets,
    Symbol,
    chain,
    embedded,
    merged,
    node,
    number,
    program,
    put,
    refusal,
    rule,
    stored,
    total,
)


def every_kind(cf: Any, root: Any) -> tuple[Any, dict[str, Any]]:
    """A context in which there is a node of each answer: the context, the nodes by answer."""
    x, n, y, i = node("x"), node("n"), stored("y"), Symbol("i", 4)
    absent, literal, virtual = node("absent"), node("literal", literal=[5, 6]), node("virtual")
    scratch, bound, over = node("scratch"), node("bound"), node("over")
    fed = root.set_values(x, [1, 2]).set_values(n, [3, 4])
    filled = fed.copy_from(fed, n, into_merge_buffer=True)
    code = [
        put(virtual, "add", x, x),
        put(scratch, "identity", x),
        put(y, "mul", scratch, scratch),
        embedded(bound, i),
        merged(over, n),
    ]
    context, _ = chain(filled, program("use", *code, embedded=[y]))
    kinds = cf.Observability
    return context, {
        kinds.STORED: x,
        kinds.HOST_INIT: literal,
        kinds.RECOMPUTABLE: virtual,
        kinds.LOCAL: scratch,
        kinds.MERGE: over,
        kinds.LAUNCH_BOUND: bound,
        kinds.NEEDS_CONTEXT: absent,
    }


def test_an_explanation_names_path_reason_and_remedy(root: Any) -> None:
    """Scratch over which a node is defined: which, why it was placed so, and what would help (context:119)."""
    x, h, v = stored("x", (4, 32)), node("h", (4,)), node("v", (4,))
    fed = root.set_values(x, [1.0] * 128)
    comp = program("p", total(h, "identity", x, by="i j -> i"), put(v, "identity", h), embedded=[h, v])
    explained = fed.compile(comp)[0].explain_observability(v)
    assert explained is not None
    for part in ("v, h", "reason 39", "decide_materialized", "decide_inline"):
        assert part in explained


def test_5_7_each_answer(cf: Any, root: Any) -> None:
    """Each kind is classified as such, and served or refused accordingly."""
    context, nodes = every_kind(cf, root)
    for kind, each in nodes.items():
        assert context.observability(each) is kind
        found = rule(lambda: context.to_host(each))  # noqa: B023
        assert found == (None if kind.readable else f"observability/{kind.value.replace('_', '-')}")


def test_5_7_explanations_are_the_refusals_texts(cf: Any, root: Any) -> None:
    """None where a read is served; else the text of what to_host refuses, and a short placeholder."""
    context, nodes = every_kind(cf, root)
    for kind, each in nodes.items():
        if kind.readable:
            assert context.explain_observability(each) is None
            assert context.placeholder(each) is None
        else:
            assert context.explain_observability(each) == str(refusal(lambda: context.to_host(each)))  # noqa: B023
            assert context.placeholder(each).startswith("<unobservable: ")
    assert context.placeholder(nodes[cf.Observability.LOCAL]) == "<unobservable: placed Local>"


def test_5_7_asking_changes_nothing(cf: Any, root: Any) -> None:
    """Classifying leaves counts, records, placements and memory as they were."""
    context, nodes = every_kind(cf, root)

    def state() -> tuple[object, ...]:
        census = dict(cf.inspection.census())
        return cf.inspection.compile_count(), context.ledger_records, dict(context.placements), census

    before = state()
    for each in nodes.values():
        context.observability(each)
        context.explain_observability(each)
        context.placeholder(each)
    assert state() == before


def test_5_7_precedence(root: Any) -> None:
    """Local comes before merge, merge before launch bound, launch bound before what is not there."""
    x, n, y, i = node("x"), node("n"), stored("y"), Symbol("i", 4)
    scratch, bound, gone = node("scratch"), node("bound"), node("gone")
    sums = [node(f"sum{k}") for k in range(4)]
    fed = root.set_values(x, [1, 2]).set_values(n, [3, 4])
    over = node("over")
    code = [
        put(scratch, "identity", x),
        put(y, "mul", scratch, scratch),
        embedded(bound, i),
        merged(over, n),
        put(sums[0], "identity", gone),
        put(sums[1], "add", sums[0], bound),
        put(sums[2], "add", sums[1], over),
        put(sums[3], "add", sums[2], scratch),
    ]
    context, _ = chain(fed.copy_from(fed, n, into_merge_buffer=True), program("use", *code, embedded=[y]))
    answers = [context.observability(each).value for each in sums]
    assert answers == ["needs_context", "launch_bound", "merge", "local"]
    assert refusal(lambda: context.to_host(sums[3])).subjects["path"] == ["sum3", "scratch"]
    assert refusal(lambda: context.to_host(sums[1])).subjects["path"] == ["sum1", "bound", "i"]


def test_5_7_a_recompute_leaves_the_context_alone(cf: Any, root: Any) -> None:
    """Buffers, frontier, placements and records are as before; each read compiles anew."""
    x, v = node("x"), node("v")
    context, _ = chain(root.set_values(x, [1, 2]), program("later", put(v, "add", x, x)))
    before = (context.ledger_records, dict(context.placements), context.mem(v))
    live = cf.inspection.census()["working_pools"]
    count = cf.inspection.compile_count()
    assert context.get_values(v) == [2.0, 4.0]
    context.set_values(x, [5, 6])
    assert context.get_values(v) == [10.0, 12.0]
    assert (context.ledger_records, dict(context.placements), context.mem(v)) == before
    assert cf.inspection.census()["working_pools"] == live
    assert cf.inspection.compile_count() == count + 2


def test_5_7_a_recompute_keeps_its_checks(root: Any) -> None:
    """A leaf that nobody wrote is refused by the recompute's own run (context:125)."""
    x, v, y = node("x"), node("v"), stored("y")
    code = [put(v, "add", x, x), put(y, "identity", x)]
    context, _ = chain(root, program("use", *code, embedded=[x, y]))
    assert context.observability(v).readable
    assert rule(lambda: context.to_host(v)) == "run/unwritten-inputs"


def test_reads_are_fresh(root: Any) -> None:
    """What a read gives is the reader's own: writing it changes nothing, and later runs do not change it."""
    x = stored("x")
    fed = root.set_values(x, [1, 2])
    array = fed.to_host(x)
    array.set([0], 9.0)
    assert fed.get_values(x) == [1.0, 2.0]
    fed.set_values(x, [7, 8])
    assert array.to_values() == [9.0, 2.0]


def test_a_node_listed_twice_is_one_array(root: Any) -> None:
    """to_host_all gives the same array at both places (context:130)."""
    x, v = node("x"), node("v")
    context, _ = chain(root.set_values(x, [1, 2]), program("later", put(v, "add", x, x)))
    first, other, second = context.to_host_all([v, x, v])
    assert first is second
    assert [first.to_values(), other.to_values()] == [[2.0, 4.0], [1.0, 2.0]]


def test_a_contraction_placed_local(root: Any) -> None:
    """A reduction over 32 is scratch: neither read nor written; its materialized twin reads back."""
    a, b = node("a", (4, 32)), node("b", (32,))
    h, twin, y = node("h", (4,)), node("twin", (4,)), stored("y", (4,))
    twin.set_observable()
    fed = root.set_values(a, [1] * 128).set_values(b, [2] * 32)
    code = [total(each, "mul", a, b, by="i k, k -> i") for each in (h, twin)]
    context, (routine,) = chain(fed, program("use", *code, put(y, "add", h, twin), embedded=[twin, y]))
    context = context.run(routine)
    for call in (lambda: context.get_values(h), lambda: context.get_value(h, (0,))):
        assert refusal(call).subjects == {"node": "h", "path": ["h"], "provenance": 39}
    for call in (lambda: context.set_values(h, [1] * 4), lambda: context.set_value(h, (0,), 1)):
        assert refusal(call).rule == "transfers/local"
    assert context.get_values(twin) == [64.0] * 4
    assert context.get_values(y) == [128.0] * 4
    assert refusal(lambda: context.get_values(node("z"))).rule == "observability/needs-context"


def test_a_range_never_run_is_recomputed(root: Any) -> None:
    """A definition without inputs is readable without any run."""
    r = node("r", (4,))
    context, _ = chain(root, program("range", Fetch(r, Offsets())))
    assert context.get_values(r) == [0.0, 1.0, 2.0, 3.0]


def test_literals_are_the_same_in_every_root(cf: Any, root: Any) -> None:
    """A literal of twenty elements is uploaded alike in independent roots, and read before any compile."""
    c, y = node("c", (20,), literal=list(range(20))), stored("y", (20,))
    values = [float(k) for k in range(20)]
    comp = program("use", put(y, "identity", c), embedded=[y])
    for context in (root, cf.Context.cpu()):
        assert context.get_values(c) == values
        assert not context.mem(c)
        child, routine = context.compile(comp)
        assert child.mem(c)
        assert child.get_values(c) == values
        assert child.run(routine).get_values(y) == values


def test_an_upload_to_a_virtual_node_is_served_and_unread(root: Any) -> None:
    """A read gives the uploaded bytes; routines of the lineage replay the definition."""
    x, v, y = node("x"), node("v"), stored("y")
    context, _ = chain(root.set_values(x, [1, 2]), program("later", put(v, "add", x, x)))
    uploaded = context.set_values(v, [9, 9])
    assert uploaded.get_values(v) == [9.0, 9.0]
    child, routine = uploaded.compile(program("use", put(y, "identity", v), embedded=[y]))
    assert child.run(routine).get_values(y) == [2.0, 4.0]


@pytest.mark.parametrize("intent", [Intent.LOCAL, Intent.VIRTUAL])
def test_observable_does_not_override_a_declaration(root: Any, intent: Intent) -> None:
    """A declared mode comes before the wish to be read."""
    x, h, y = node("x"), node("h"), stored("y")
    h.require(intent)
    h.set_observable()
    comp = program("use", put(h, "add", x, x), put(y, "identity", h), embedded=[h, y])
    context, (routine,) = chain(root.set_values(x, [1, 2]), comp)
    assert context.run(routine).get_values(y) == [2.0, 4.0]
    assert context.observability(h).readable == (intent is Intent.VIRTUAL)


def test_a_partly_recomputed_value_follows_later_definitions(root: Any) -> None:
    """The newest definition of a lineage is what a read evaluates."""
    x, v = node("x"), node("v")
    fed = root.set_values(x, [1, 2])
    context, _ = chain(fed, program("a", put(v, "identity", x)), program("b", number(v, 7)))
    assert context.get_values(v) == [7.0, 7.0]
