"""Bugs reported of the system the rules come from, by number: each scenario, and the right behaviour.

Those that belong to a subject with a file of its own are in that file, as ``test_bug_NUMBER_...``.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import (
    Intent,
    Symbol,
    add,
    adding,
    chain,
    failing,
    gradient,
    live_pools,
    merged,
    node,
    number,
    program,
    put,
    refusal,
    resetting,
    rule,
    stored,
    total,
    zeroing,
)


def test_1_zeroing_wipes_another_roots_gradient(root: Any) -> None:
    """Two losses over one node in one lineage, each zeroing it: refused (#75)."""
    g, x = gradient(), node("x")
    context, _ = chain(root.set_values(x, [1, 2]), resetting(g, x, "one"))
    assert rule(lambda: context.compile(resetting(g, x, "two"))) == "gradients/accumulated-elsewhere"


def test_3_a_node_that_is_absent(root: Any) -> None:
    """Not embedded and not bound is an error, not silent zeros (#272)."""
    x, y = node("x"), stored("y")
    assert rule(lambda: root.compile(program("use", put(y, "identity", x), embedded=[y]))) == "compile/lacks-nodes"


def test_4_definitions_precede_their_readers(cf: Any, root: Any) -> None:
    """A projection read before its definition would be zeros: fragments are ordered (461)."""
    with cf.tensor.Session():
        t = cf.tensor
        x = t.data("x", ())
        trunk = x * 2
        late = trunk * 3
        early = trunk + 1
        both = late * early
        both.value.set_observable()
        child, routine = root.set_values(x.value, [5]).compile(t.forward(both))
        assert child.run(routine).get_values(both.value) == [330.0]


def test_6_helpers_over_nothing_trained(cf: Any) -> None:
    """An optimizer over Require_grad leaves is refused instead of compiling nothing (#670)."""
    with cf.tensor.Session():
        t = cf.tensor
        loss = t.leaf("a", ()) * 2
        assert rule(lambda: t.sgd_update(loss, 0.1)) == "frontend/trains-nothing"


def test_8_state_left_virtual(root: Any) -> None:
    """A node read before it is written is materialized: there is a buffer from one run to the next."""
    m, x = node("m"), node("x")
    context, (routine,) = chain(root.set_values(x, [1, 2]), program("step", add(m, "identity", x), embedded=[m]))
    context = context.run(routine).run(routine)
    assert context.get_values(m) == [2.0, 4.0]


def test_9_printing_a_literal_decides_nothing(root: Any) -> None:
    """Reading a literal before anything is computed leaves its place open (#324)."""
    c, y = node("c", literal=[3, 4]), stored("y")
    assert root.get_values(c) == [3.0, 4.0]
    assert c not in root.placements
    context, (routine,) = chain(root, program("use", put(y, "add", c, c), embedded=[y]))
    assert context.run(routine).get_values(y) == [6.0, 8.0]


def test_10_use_in_another_routine(root: Any) -> None:
    """Needs no buffer (#310)."""
    x, v, y = node("x"), node("v"), stored("y")
    comps = [program("def", put(v, "mul", x, x)), program("use", put(y, "identity", v), embedded=[y])]
    context, (_, use) = chain(root.set_values(x, [1, 2]), *comps)
    assert context.run(use).get_values(y) == [1.0, 4.0]


def test_11_a_spliced_leaf_is_a_parameter(root: Any) -> None:
    """A leaf that only a replayed definition reads is an input of the reader (#610)."""
    x, v, w, y = node("x"), node("v"), node("w"), stored("y")
    comps = [
        program("one", put(v, "add", x, x)),
        program("two", put(w, "add", v, v)),
        program("use", put(y, "identity", w), embedded=[y]),
    ]
    context, (_, _, use) = chain(root.set_values(x, [1, 2]), *comps)
    assert [each.label for each in use.inputs] == ["x"]
    assert context.run(use).get_values(y) == [4.0, 8.0]


def test_11_an_empty_routine_runs(root: Any) -> None:
    """611: nothing to do is legal."""
    v, x = node("v"), node("x")
    context, (routine,) = chain(root.set_values(x, [1, 2]), program("later", put(v, "add", x, x)))
    after = context.run(routine).run(routine)
    after.sync()
    assert (routine.inputs, routine.outputs) == ((), ()) and after.can_run(routine) and not after.mem(v)


def test_12_residual_sums_are_not_summed_again(root: Any) -> None:
    """A chain of sums is materialized where its fan-in passes eight (#573)."""
    leaves, sums, context = [node(f"x{k}") for k in range(10)], [node(f"s{k}") for k in range(10)], root
    for each in leaves:
        context = context.set_values(each, [1, 1])
    code = [put(sums[0], "identity", leaves[0])]
    code += [put(sums[k], "add", sums[k - 1], leaves[k]) for k in range(1, 10)]
    y = stored("y")
    child, (routine,) = chain(context, program("sums", *code, put(y, "identity", sums[9]), embedded=[y]))
    assert [child.placements[each].provenance for each in sums].count(41) == 1
    assert child.run(routine).get_values(y) == [10.0, 10.0]


def test_13_a_loop_that_repeats_a_setter(root: Any) -> None:
    """A setter in a loop that its target's index does not use keeps that loop (651, 674)."""
    x, v, y = node("x", (3,)), node("v", ()), stored("y", ())
    code = [number(v, 1), add(v, "identity", x, by="k ->"), put(y, "identity", v)]
    context, (routine,) = chain(root.set_values(x, [1, 2, 4]), program("use", *code, embedded=[y]))
    assert context.run(routine).get_values(y) == [8.0]


def test_14_uploads_to_scratch(root: Any) -> None:
    """Neither written nor read: an upload is not told back as if it were used (599)."""
    x, h, y = node("x"), node("h"), stored("y")
    comp = program("use", put(h, "add", x, x), put(y, "mul", h, h), embedded=[y])
    context, _ = chain(root.set_values(x, [1, 2]), comp)
    assert rule(lambda: context.set_values(h, [1, 2])) == "transfers/local"
    assert rule(lambda: context.get_values(h)) == "observability/local"


def test_15_a_read_says_why_not(root: Any) -> None:
    """The path, the placement's reason and the remedy are in the text (#777)."""
    x, h, v, y = node("x"), node("h"), node("v"), stored("y")
    code = [put(h, "add", x, x), put(v, "identity", h), put(y, "mul", h, v)]
    context, _ = chain(root.set_values(x, [1, 2]), program("use", *code, embedded=[y]))
    caught = refusal(lambda: context.get_values(v))
    assert caught.subjects == {"node": "v", "path": ["v", "h"], "provenance": 1}
    assert context.placeholder(v) == "<unobservable: reads Local h>"


def test_16_a_merge_buffer_overwritten_under_its_consumer(root: Any) -> None:
    """Refused while a consumer waits, and the consumer is of its own fill afterwards (#288, 766, 779)."""
    n, y = stored("n"), stored("y")
    fed = root.set_values(n, [1, 2])
    child, use = fed.copy_from(fed, n, into_merge_buffer=True).compile(program("use", merged(y, n), embedded=[y]))
    assert rule(lambda: fed.copy_from(fed, n, into_merge_buffer=True)) == "transfers/pending-consumers"
    child.run(use)
    fed.copy_from(fed, n, into_merge_buffer=True)
    assert rule(lambda: child.run(use)) == "run/dependencies"


def test_17_a_forgotten_input(root: Any) -> None:
    """Refused, not read as zeros (1339, 1462)."""
    x, y = node("x"), stored("y")
    context, (routine,) = chain(root, program("use", put(y, "identity", x), embedded=[x, y]))
    assert refusal(lambda: context.run(routine)).subjects["nodes"] == ["x"]


def test_21_a_link_that_fails_is_unwound(cf: Any, root: Any) -> None:
    """What a failed link allocated is freed, and a release that failed is not a release (550)."""
    y = stored("y")
    comp = program("init", number(y, 3), embedded=[y])
    before = live_pools(cf)
    for _ in range(5):
        with failing(cf, "link-after-delta"), pytest.raises(RuntimeError):
            root.compile(comp)
    assert live_pools(cf) == before
    child, _ = root.compile(comp)
    with failing(cf, "finalize-before-free"), pytest.raises(RuntimeError):
        child.release()
    child.release()
    assert live_pools(cf) == before


def test_22_constants_do_not_pile_up(cf: Any, root: Any) -> None:
    """A candidate's constants go with its last binder (#565)."""
    before = cf.inspection.census()["constant_pools"]
    for step in range(20):
        c, y = node("c", literal=[step, 1]), stored("y")
        child, _ = root.compile(program("candidate", put(y, "identity", c), embedded=[y]))
        child.release()
    assert cf.inspection.census()["constant_pools"] == before


def test_24_memory_is_our_own_requests(root: Any) -> None:
    """Used memory counts what was asked for, to the byte (542)."""
    before = root.used_memory
    fed = root.set_values(node("x", (3,)), [1, 2, 3])
    assert fed.used_memory == before + 12


def test_25_a_gauge_read_late_is_no_peak(cf: Any, root: Any) -> None:
    """The high-water mark has what was released meanwhile (1006)."""
    cf.inspection.reset_peak()
    start = cf.inspection.census()["peak_pool_bytes"]
    cf.Context.cpu().set_values(node("x", (1000,)), [0] * 1000).release()
    assert cf.inspection.census()["peak_pool_bytes"] == start + 4000
    assert root.lifecycle_depth == 0


def test_27_a_zero_after_a_store_stays(root: Any) -> None:
    """A second zeroing is real where something was written in between (#382, #420)."""
    x, h, y, z = node("x"), node("h"), stored("y"), stored("z")
    code = [
        number(h, 0),
        add(h, "identity", x),
        put(y, "add", h, h),
        number(h, 0),
        add(h, "mul", x, x),
        put(z, "add", h, h),
    ]
    context, (routine,) = chain(root.set_values(x, [1, 3]), program("use", *code, embedded=[y, z]))
    for _ in range(2):
        context = context.run(routine)
        assert (context.get_values(y), context.get_values(z)) == ([2.0, 6.0], [2.0, 18.0])


def test_28_memory_is_zero_explicitly(cf: Any, root: Any) -> None:
    """Not by the grace of an allocator."""
    cf.inspection.poison(0xAA)
    g, y = gradient(), stored("y")
    context, (routine,) = chain(root, program("use", put(y, "identity", g), embedded=[g, y]))
    assert context.run(routine).get_values(y) == [0.0, 0.0]


def test_29_divisions_are_not_rearranged(root: Any) -> None:
    """(a / b) / c is two quotients, each rounded, and not (a c) / b."""
    a, b, c, q, y = node("a", ()), node("b", ()), node("c", ()), node("q", ()), stored("y", ())
    fed = root.set_values(a, [7]).set_values(b, [2]).set_values(c, [4])
    context, (routine,) = chain(fed, program("use", put(q, "div", a, b), put(y, "div", q, c), embedded=[y]))
    assert context.run(routine).get_values(y) == [0.875]


def test_29_loops_of_one_name_are_not_one(root: Any) -> None:
    """The same definition read at two positions keeps both."""
    x, v, y = node("x", (3,)), node("v", (3,)), stored("y", (3,))
    fed = root.set_values(x, [1, 2, 3]).decide_inline([v])
    code = [put(v, "mul", x, x), put(y, "sub", v, v, by="i, 2-i -> i")]
    context, (routine,) = chain(fed, program("use", *code, embedded=[y]))
    assert context.run(routine).get_values(y) == [-8.0, 0.0, 8.0]


def test_30_wide_integers_keep_their_bits(cf: Any, root: Any) -> None:
    """A product and sum of int64 beyond 2^53 is exact."""
    a, b, c, y = (node(label, (), dtype=cf.int64) for label in "abcy")
    y.require(Intent.ON_DEVICE)
    fed = root.set_values(a, [2**31 + 1]).set_values(b, [2**31 - 1]).set_values(c, [3])
    p = node("p", (), dtype=cf.int64)
    context, (routine,) = chain(fed, program("use", put(p, "mul", a, b), put(y, "add", p, c), embedded=[y]))
    assert context.run(routine).get_values(y) == [2**62 + 2]


def test_31_a_reduction_over_nothing(root: Any) -> None:
    """A symbolic extent of 0 gives the neutral value."""
    n, x, y = Symbol("n", 1, extent=True), node("x", (1,)), stored("y", ())
    comp = program("use", total(y, "identity", x, by="k -> ; k=$n", symbols=[n]), embedded=[y])
    context, (routine,) = chain(root.set_values(x, [5]), comp)
    n.set(0)
    assert context.run(routine).get_values(y) == [0.0]


def test_32_a_fixable_mistake_poisons_nothing(root: Any) -> None:
    """A refused run leaves the root as it was: the mistake is mended and the run goes on (564, 569)."""
    x, y = node("x", ()), stored("y", ())
    context, (routine,) = chain(root, program("use", put(y, "identity", x), embedded=[x, y]))
    for _ in range(3):
        assert rule(lambda: context.check_lineage_runnable(routine)) == "run/unwritten-inputs"
        assert rule(lambda: context.run(routine)) == "run/unwritten-inputs"
    assert root.poisoned_failure is None
    context.set_values(x, [4])
    assert context.run(routine).get_values(y) == [4.0]


def test_34_timing_leaves_the_state_restored(root: Any) -> None:
    """Timing runs, undone by restoring buffers and history, are no reset (1621)."""
    g, x = gradient(), node("x")
    context, (zero, adds) = chain(root.set_values(x, [1, 2]), zeroing(g), adding(g, x))
    context.run(zero)
    context.run(adds)
    saved, restore = context.get_values(g), context.save_accumulation_history()
    for _ in range(4):
        context.run(adds, timing=True)
    context.set_values(g, saved)
    restore()
    assert context.get_values(g) == [1.0, 2.0]
    assert rule(lambda: context.run(adds)) == "gradients/without-reset"


def test_35_identity_is_no_label(root: Any) -> None:
    """Nodes of one label are different nodes, in one routine and in the caches behind it (#295)."""
    results = []
    for value in (1, 2):
        c, y = node("c", literal=[value, value]), stored("y")
        context, (routine,) = chain(root, program("use", put(y, "add", c, c), embedded=[y]))
        results.append(context.run(routine).get_values(y))
    assert results == [[2.0, 2.0], [4.0, 4.0]]
    one, two, y = node("same"), node("same"), stored("y")
    fed = root.set_values(one, [1, 1]).set_values(two, [5, 5])
    context, (routine,) = chain(fed, program("use", put(y, "sub", two, one), embedded=[y]))
    assert context.run(routine).get_values(y) == [4.0, 4.0]
