"""Where a lineage keeps a node, what is replayed of it, and that no value depends on that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import (
    Intent,
    add,
    chain,
    node,
    number,
    program,
    put,
    refusal,
    rule,
    stored,
    total,
)


def place(context: Any, of: Any) -> tuple[str, int]:
    """A node's mode and the code of its reason."""
    found = context.placements[of]
    return found.mode.value, found.provenance


INTENTS = [Intent.UNSPECIFIED, Intent.VIRTUAL, Intent.NEVER_VIRTUAL, Intent.LOCAL, Intent.ON_DEVICE, Intent.CONSTANT]


@pytest.mark.parametrize("reading", ["materialized", "inline", "footprint"])
@pytest.mark.parametrize("intent", INTENTS)
def test_values_do_not_depend_on_placement(root: Any, intent: Intent, reading: str) -> None:
    """h = x + x, y = h * h + h under every declaration and every decision: the same y."""
    x, h, y = node("x"), node("h"), stored("y")
    h.require(intent)
    fed = root.set_values(x, [1, 2]).decide_reading(reading, [h])
    comp = program("use", put(h, "add", x, x), put(y, "fma", h, h, h), embedded=[h, y])
    context, (routine,) = chain(fed, comp)
    assert context.run(routine).get_values(y) == [6.0, 20.0]


def test_siblings_decide_for_themselves(root: Any) -> None:
    """A materialize-all sibling and a default one coexist; the node's intent is untouched."""
    x, h, y = node("x"), node("h"), stored("y")
    fed = root.set_values(x, [1, 2])
    comp = program("use", put(h, "add", x, x), put(y, "mul", h, h), embedded=[h, y])
    (one, first), (two, second) = fed.decide_materialized([h]).compile(comp), fed.compile(comp)
    assert (place(one, h), place(two, h)) == (("on_device", 24), ("local", 1))
    assert one.run(first).get_values(y) == two.run(second).get_values(y) == [4.0, 16.0]
    assert h.intent is Intent.UNSPECIFIED


def test_stored_components_are_counted(root: Any) -> None:
    """One per stored setter; the newest definition replaces them; the total is over all nodes."""
    x, v, w = node("x"), node("v"), node("w")
    fed = root.set_values(x, [1, 2])
    first, _ = fed.compile(program("a", put(v, "identity", x), add(v, "identity", x), put(w, "identity", x)))
    assert (first.stored_components(v), first.stored_components(w), first.total_stored_components) == (2, 1, 3)
    second, _ = first.compile(program("b", number(v, 1)))
    assert (second.stored_components(v), second.total_stored_components) == (1, 2)
    assert first.has_stored_computation(v)
    assert not fed.has_stored_computation(v)
    assert (fed.stored_components(v), fed.total_stored_components) == (0, 0)


def test_a_template_does_not_grow_with_readers(root: Any) -> None:
    """Reading a virtual node again and again replays what was stored once."""
    x, v = node("x"), node("v")
    context, _ = chain(root.set_values(x, [1, 2]), program("def", put(v, "add", x, x)))
    for place_ in range(4):
        y = stored(f"y{place_}")
        context, routine = context.compile(program("read", put(y, "identity", v), embedded=[y]))
        assert context.stored_components(v) == 1
        assert context.run(routine).get_values(y) == [2.0, 4.0]


def test_recompute_at_the_read(root: Any) -> None:
    """A definition is evaluated over its leaves as they are then, not as they were (issue 617)."""
    x, v, y = node("x"), node("v"), stored("y")
    comps = [program("def", put(v, "add", x, x)), program("read", put(y, "identity", v), embedded=[y])]
    context, (define, read) = chain(root.set_values(x, [1, 2]), *comps)
    context.run(define)
    context.set_values(x, [5, 6])
    assert context.run(read).get_values(y) == [10.0, 12.0]
    assert [each.label for each in read.inputs] == ["x"]


def test_one_cell_written_before_all_are_read(root: Any) -> None:
    """x[0] = 5000; out = x: the other cells are the old ones, so x is an input (issue 618)."""
    x, out, big = stored("x", (3,)), stored("out", (3,)), node("big", ())
    comp = program(
        "use", number(big, 5000), put(x, "identity", big, by="-> 0"), put(out, "identity", x), embedded=[out]
    )
    context, (routine,) = chain(root.set_values(x, [1, 2, 3]), comp)
    assert [each.label for each in routine.inputs] == ["x"]
    assert context.run(routine).get_values(out) == [5000.0, 2.0, 3.0]
    assert context.get_values(x) == [5000.0, 2.0, 3.0]


def test_added_to_is_an_input(root: Any) -> None:
    """x += a reads x; x = 0, x += a does not."""
    a = node("a")
    fed = root.set_values(a, [1, 2])
    x, z = stored("x"), stored("z")
    _, routine = fed.set_values(x, [10, 20]).compile(program("add", add(x, "identity", a)))
    _, other = fed.compile(program("zero", number(z, 0), add(z, "identity", a), embedded=[z]))
    assert [[each.label for each in found.inputs] for found in (routine, other)] == [["a", "x"], ["a"]]


def test_a_partial_producer_that_nobody_reads_stays_out(root: Any) -> None:
    """Declared nothing and read by nobody, a partly written node takes no buffer."""
    x, p = node("x"), node("p", (4,))
    context, (routine,) = chain(root.set_values(x, [1, 2]), program("use", put(p, "identity", x, by="i -> i+1")))
    assert p not in routine.outputs
    assert not context.mem(p)


def test_use_across_routines_needs_no_buffer(root: Any) -> None:
    """A virtual node of one routine is inlined in the next (issue 310)."""
    x, v, y = node("x"), node("v"), stored("y")
    comps = [program("def", put(v, "add", x, x)), program("use", put(y, "identity", v), embedded=[y])]
    context, (_, use) = chain(root.set_values(x, [1, 2]), *comps)
    assert context.run(use).get_values(y) == [2.0, 4.0]
    assert not context.mem(v)


def test_a_write_before_the_spliced_read(root: Any) -> None:
    """A routine that overwrites a leaf and replays a definition over it afterwards sees the new leaf."""
    x, v, y = stored("x"), node("v"), stored("y")
    comps = [program("def", put(v, "add", x, x)), program("use", number(x, 7), put(y, "identity", v), embedded=[y])]
    context, (_, use) = chain(root.set_values(x, [1, 2]), *comps)
    assert use.inputs == ()
    assert context.run(use).get_values(y) == [14.0, 14.0]


def test_a_splice_before_the_write(root: Any) -> None:
    """Replayed before the leaf is overwritten, the definition sees the old one, and the leaf is an input."""
    x, v, y = stored("x"), node("v"), stored("y")
    comps = [program("def", put(v, "add", x, x)), program("use", put(y, "identity", v), number(x, 7), embedded=[y])]
    context, (_, use) = chain(root.set_values(x, [1, 2]), *comps)
    assert [each.label for each in use.inputs] == ["x"]
    assert context.run(use).get_values(y) == [2.0, 4.0]
    assert context.get_values(x) == [7.0, 7.0]


def test_the_fan_in_of_residual_sums_is_bounded(root: Any) -> None:
    """Twelve sums one over the other: no definition is replayed over more than eight buffers (issue 573)."""
    leaves = [node(f"x{k}", ()) for k in range(12)]
    sums = [node(f"s{k}", ()) for k in range(12)]
    y = stored("y", ())
    context = root
    for k, each in enumerate(leaves):
        context = context.set_values(each, [k])
    code = [put(sums[0], "identity", leaves[0])]
    code += [put(sums[k], "add", sums[k - 1], leaves[k]) for k in range(1, 12)]
    child, (routine,) = chain(context, program("sums", *code, put(y, "identity", sums[-1]), embedded=[y, *sums]))
    assert [place(child, each)[1] for each in sums] == [152] * 8 + [41] + [152] * 3
    assert child.run(routine).get_values(y) == [66.0]


@pytest.mark.parametrize(("extent", "code"), [(16, 152), (17, 39)])
def test_the_reduction_cap(root: Any, extent: int, code: int) -> None:
    """Sixteen points are inlined, seventeen are not."""
    x, v, y = node("x", (extent,)), node("v", ()), stored("y", ())
    comp = program("use", total(v, "identity", x, by="k -> "), put(y, "identity", v), embedded=[y])
    context, (routine,) = chain(root.set_values(x, [1] * extent), comp)
    assert place(context, v)[1] == code
    assert context.run(routine).get_values(y) == [float(extent)]


def test_a_preference_does_not_make_the_illegal_legal(root: Any) -> None:
    """A leaf overwritten after the definition: preferred inline, it is kept all the same."""
    x, v, y = stored("x"), node("v"), stored("y")
    fed = root.set_values(x, [1, 2]).decide_inline([v])
    comp = program("use", put(v, "identity", x), number(x, 9), put(y, "add", v, v), embedded=[y])
    context, (routine,) = chain(fed, comp)
    assert place(context, v) == ("local", 10)
    assert context.run(routine).get_values(y) == [2.0, 4.0]


def test_declared_virtual_and_read_before_written(root: Any) -> None:
    """State that lives across routines is materialized, or refused."""
    w, x = node("w"), node("x")
    w.require(Intent.VIRTUAL)
    caught = refusal(lambda: root.set_values(x, [1, 2]).compile(program("use", add(w, "identity", x), embedded=[w])))
    assert (caught.rule, caught.subjects["reason"]) == ("placement/virtual-illegal", 36)


def test_scratch_is_read_by_no_other_routine(root: Any) -> None:
    """The node, and what to do: declare it before the first routine that uses it."""
    x, h, y, z = node("x"), node("h"), stored("y"), stored("z")
    fed = root.set_values(x, [1, 2])
    context, _ = chain(fed, program("use", put(h, "add", x, x), put(y, "mul", h, h), embedded=[y]))
    read = program("read", put(z, "identity", h), embedded=[z])
    assert refusal(lambda: context.compile(read)).subjects == {"routine": "read", "nodes": ["h"]}
    assert rule(lambda: fed.compile(read)) == "compile/lacks-nodes"


def test_a_reversed_node_over_itself_is_not_inlined(root: Any) -> None:
    """A setter that reads its own target elsewhere has no one value to replay."""
    v, y = stored("v", (3,)), stored("y", (3,))
    w = node("w", (3,))
    code = [put(w, "identity", v), put(w, "identity", w, by="2-i -> i"), put(y, "identity", w)]
    context, _ = chain(root.set_values(v, [1, 2, 3]), program("use", *code, embedded=[y]))
    assert place(context, w)[0] == "local"
