"""The gradient rules: the truth table, ownership, what is required, the history (notes 5.2 to 5.4)."""

from __future__ import annotations

import pytest
from tests.contexts_model.building import (
    adding,
    backprop,
    compiled,
    fetch,
    gradient,
    node,
    program,
    refused,
    resetting,
    rule,
    zeroing,
)

from counterfoil_reference import Context
from counterfoil_spec.programs.comps import Comp, comp
from counterfoil_spec.programs.nodes import Node

TABLE = [
    ([], "A", True), ([], "ZA", True), (["ZA"], "A", False), (["A"], "ZA", False), (["ZA"], "ZA", False),
    (["A"], "A", False), (["Z"], "A", True), (["Z", "A"], "A", True), (["Z", "A"], "ZA", False),
    (["A", "Z"], "A", False), (["Z", "Z"], "A", True), (["Z", "A", "Z"], "A", False), (["Z"], "ZA", True),
    (["Z", "ZA"], "A", False),
]  # fmt: skip


def routine_of(kind: str, g: Node, x: Node, label: str) -> Comp:
    """Z zeroes, A accumulates, ZA does both."""
    if kind == "Z":
        return zeroing(g, label)
    return adding(g, x, label) if kind == "A" else resetting(g, x, label)


@pytest.mark.parametrize(("lineage", "last", "accepted"), TABLE)
def test_the_table_of_second_accumulations(root: Context, lineage: list[str], last: str, accepted: bool) -> None:
    """Rule 10a's truth table (context:39, notes 5.3): lineage, then the next routine."""
    g, x = gradient(), node("x")
    context = root.set_values(x, [1, 2])
    context, _ = compiled(context, *(routine_of(kind, g, x, f"r{at}") for at, kind in enumerate(lineage)))
    found = refused(lambda: context.compile(routine_of(last, g, x, "last")))
    first = next((f"r{at}" for at, kind in enumerate(lineage) if "A" in kind), None)
    expected = None if accepted else ("gradients/accumulated-elsewhere", {"gradients": [["g", first]]})
    assert found == expected


def test_siblings_never_collide(root: Context) -> None:
    """The same accumulation compiled twice from one value is two alternatives (context:39)."""
    g, x = gradient(), node("x")
    context = root.set_values(x, [1, 2])
    assert all(rule(lambda: context.compile(resetting(g, x))) is None for _ in range(2))


def test_a_fragment_is_compiled_once_per_lineage(root: Context) -> None:
    """A fragment owned by an earlier routine, or twice by the comp itself, is refused by name (context:37, C2)."""
    w, g = node("w"), gradient()
    fragment = backprop(7, "w", g)
    owner = comp(program("own", fetch(w, 1)).code, [w], owned=[fragment])
    child, _ = root.compile(owner)
    again = comp(program("again", fetch(w, 2)).code, owned=[fragment])
    twice = comp(program("twice", fetch(w, 2)).code, [w], owned=[fragment, fragment])
    assert refused(lambda: child.compile(again)) == ("compile/owned-twice", {"fragments": [["backprop of w", "own"]]})
    assert refused(lambda: root.compile(twice)) == ("compile/owned-twice", {"fragments": [["backprop of w", "twice"]]})
    assert rule(lambda: root.compile(owner)) is None


def test_a_contributor_comes_before_its_propagator(root: Context) -> None:
    """A comp that accumulates into a gradient whose backprop was compiled earlier is refused (context:39, 10b)."""
    h, x = gradient("h"), node("x")
    w = node("w")
    propagator = comp(program("prop", fetch(w, 1)).code, [w], owned=[backprop(3, "h", h)])
    child, _ = root.set_values(x, [1, 2]).compile(propagator)
    found = refused(lambda: child.compile(adding(h, x)))
    assert found == ("gradients/propagated-earlier", {"gradients": [["h", "prop"]]})


def test_what_a_gradient_flows_into_is_owned(root: Context) -> None:
    """A required fragment is looked for in the value's lineage, later owners included; siblings never count
    (context:55)."""
    h, x, w = gradient("h"), node("x"), node("w")
    needed = backprop(3, "h", h)
    contributor = comp(adding(h, x).code, [h], accumulates=[h], requires=[needed])
    owner = comp(program("own", fetch(w, 1)).code, [w], owned=[needed])
    context = root.set_values(x, [1, 2])
    child, routine = context.compile(contributor)
    alone = ("run/fragment-not-owned", {"routine": "add", "fragments": [["backprop of h", []]]})
    assert refused(lambda: child.run(routine)) == alone
    context.compile(owner, name="sibling")
    beside = ("run/fragment-not-owned", {"routine": "add", "fragments": [["backprop of h", ["sibling"]]]})
    assert refused(lambda: child.run(routine)) == beside
    final, _ = child.compile(owner)
    assert refused(lambda: final.run(routine)) is None
    assert rule(lambda: child.run(routine)) == "run/fragment-not-owned"


def test_an_accumulation_is_reset_before_it_goes_on(root: Context) -> None:
    """A routine adds once per reset: a zeroing run or a write from outside (context:61)."""
    g, x = gradient(), node("x")
    context, (zero, accumulate) = compiled(root.set_values(x, [1, 2]), zeroing(g), adding(g, x))
    named = ("gradients/without-reset", {"routine": "add", "gradients": [["g", "zero"]]})
    context.run(zero)
    context.run(accumulate)
    assert refused(lambda: context.run(accumulate)) == named
    context.run(zero)
    context.run(accumulate)
    assert context.get_values(g) == [1.0, 2.0]
    context = context.set_values(g, [10, 10])
    context.run(accumulate)
    assert context.get_values(g) == [11.0, 12.0] and rule(lambda: context.run(accumulate)) == named[0]


def test_an_allowance_of_two(root: Context) -> None:
    """A comp that allows two runs per reset is refused at the third, with no zeroing routine to name (context:61)."""
    g, x = gradient(), node("x")
    context, (routine,) = compiled(root.set_values(x, [1, 2]), adding(g, x, runs=2))
    context.run(routine)
    context.run(routine)
    named = ("gradients/without-reset", {"routine": "add", "gradients": [["g", None]]})
    assert refused(lambda: context.run(routine)) == named


def test_timing_waives_and_counts(root: Context) -> None:
    """Timing runs are not refused, and count (context:61, C13)."""
    g, x = gradient(), node("x")
    context, (routine,) = compiled(root.set_values(x, [1, 2]), adding(g, x))
    for _ in range(3):
        context.run(routine, timing=True)
    assert rule(lambda: context.run(routine)) == "gradients/without-reset"


def test_history_is_saved_and_set_back(root: Context) -> None:
    """The counts of the root are captured and set back, as often as wanted (context:63, C12)."""
    g, x = gradient(), node("x")
    context, (zero, accumulate) = compiled(root.set_values(x, [1, 2]), zeroing(g), adding(g, x))
    context.run(zero)
    restore = context.save_accumulation_history()
    for _ in range(2):
        context.run(accumulate)
        assert rule(lambda: context.run(accumulate)) == "gradients/without-reset"
        restore()
    assert rule(lambda: context.run(accumulate)) is None


def test_adopting_is_no_reset(root: Context) -> None:
    """A copy that moves nothing leaves the counts (C5)."""
    g, x = gradient(), node("x")
    context, (routine,) = compiled(root.set_values(x, [1, 2]), adding(g, x))
    done = context.run(routine)
    adopted = context.copy_from(done, g)
    assert rule(lambda: adopted.run(routine)) == "gradients/without-reset"
