"""The truth table of gradients with several accumulators, and the trunk walked through."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import (
    add,
    adding,
    backprop,
    chain,
    gradient,
    node,
    number,
    program,
    put,
    refusal,
    resetting,
    rule,
    zeroing,
)

from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.nodes import Node

TABLE = [
    ("", "A", True),
    ("", "ZA", True),
    ("ZA", "A", False),
    ("A", "ZA", False),
    ("ZA", "ZA", False),
    ("A", "A", False),
    ("Z", "A", True),
    ("Z A", "A", True),
    ("Z A", "ZA", False),
    ("A Z", "A", False),
    ("Z Z A", "A", True),
    ("Z A Z", "A", False),
    ("Z", "ZA", True),
    ("Z ZA", "A", False),
]


def made(kind: str, place: int, g: Node, x: Node) -> Comp:
    """A routine that zeroes (Z), adds (A) or does both, with a label of its own."""
    label = f"{kind}{place}"
    return {"Z": zeroing(g, label=label), "A": adding(g, x, label), "ZA": resetting(g, x, label)}[kind]


@pytest.mark.parametrize(("lineage", "last", "accepted"), TABLE, ids=lambda value: str(value))
def test_5_3_truth_table(root: Any, lineage: str, last: str, accepted: bool) -> None:
    """Whether one more routine may touch the gradient, by what the lineage did with it before (context:39)."""
    g, x = gradient(), node("x")
    kinds = lineage.split()
    context, _ = chain(root.set_values(x, [1, 2]), *(made(kind, place, g, x) for place, kind in enumerate(kinds)))
    comp = made(last, len(kinds), g, x)
    if accepted:
        context.compile(comp)
        return
    first = next(f"{kind}{place}" for place, kind in enumerate(kinds) if "A" in kind)
    caught = refusal(lambda: context.compile(comp))
    assert (caught.rule, caught.subjects) == ("gradients/accumulated-elsewhere", {"gradients": [["g", first]]})


@pytest.mark.parametrize(("lineage", "last"), [(a, b) for a, b, accepted in TABLE if accepted])
def test_5_3_what_is_accepted_is_right(root: Any, lineage: str, last: str) -> None:
    """Each accepted row, run once in compile order from zeros, leaves every contribution once."""
    g, x = gradient(), node("x")
    kinds = [*lineage.split(), last]
    context, routines = chain(root.set_values(x, [1, 2]), *(made(kind, k, g, x) for k, kind in enumerate(kinds)))
    for routine in routines:
        context = context.run(routine)
    times = float(sum("A" in kind for kind in kinds))
    assert context.get_values(g) == [times, 2 * times]


@pytest.mark.parametrize(("lineage", "last"), [(a, b) for a, b, accepted in TABLE if not accepted])
def test_siblings_never_collide(root: Any, lineage: str, last: str) -> None:
    """What is refused in a lineage is an alternative beside it (context:39)."""
    g, x = gradient(), node("x")
    fed = root.set_values(x, [1, 2])
    chain(fed, *(made(kind, place, g, x) for place, kind in enumerate(lineage.split())))
    sibling, routine = fed.compile(made(last, 9, g, x))
    assert sibling.run(routine).get_values(g) == [1.0, 2.0]


def trunk(root: Any) -> tuple[Any, dict[str, Comp]]:
    """Two losses over a trunk h: l1 propagates it, l2 contributes only."""
    x, h, w = node("x"), gradient("h"), gradient("w")
    fragment = backprop("h", h)
    zero = zeroing(h, w)
    own = [put(h, "identity", x), add(w, "identity", h)]
    comps = {
        "l1": program("l1", *own, embedded=[h, w], accumulates=[h, w], zeroes=[h, w], owned=[fragment]),
        "l2": program("l2", add(h, "add", x, x), embedded=[h], accumulates=[h], requires=[fragment]),
        "propagate": program("propagate", add(w, "identity", h), embedded=[w], accumulates=[w], owned=[fragment]),
        "zero": zero,
    }
    return root.set_values(x, [1, 2]), comps


def test_5_8_trunk_walked_through(root: Any) -> None:
    """l1 then l2, and l2 then l1, are refused; l2 alone compiles and is not run, naming l1 where it was compiled."""
    fed, comps = trunk(root)
    after_l1, _ = fed.compile(comps["l1"])
    after_l2, contributing = fed.compile(comps["l2"])
    assert rule(lambda: after_l1.compile(comps["l2"])) == "gradients/accumulated-elsewhere"
    assert rule(lambda: after_l2.compile(comps["l1"])) == "gradients/accumulated-elsewhere"
    caught = refusal(lambda: after_l2.run(contributing))
    assert caught.subjects == {"routine": "l2", "fragments": [["backprop of h", ["l1"]]]}


def test_5_8_requires_sees_later_owners(root: Any) -> None:
    """From the context of a propagator compiled later the contributor runs; from its own it does not (context:55)."""
    fed, comps = trunk(root)
    _, (zero, contribute, propagate) = chain(fed, comps["zero"], comps["l2"], comps["propagate"])
    last = propagate.context
    assert rule(lambda: contribute.context.run(contribute)) == "run/fragment-not-owned"
    for routine in (zero, contribute, propagate):
        last = last.run(routine)
    g = propagate.outputs[0]
    assert last.get_values(g) == [2.0, 4.0]


def test_a_root_of_its_own_never_counts(cf: Any, root: Any) -> None:
    """A routine of another root owns nothing here."""
    fed, comps = trunk(root)
    _, contributing = fed.compile(comps["l2"])
    other = cf.Context.cpu().set_values(contributing.inputs[0], [1, 2])
    owner, _ = other.compile(comps["l1"])
    caught = refusal(lambda: owner.run(contributing))
    assert caught.subjects == {"routine": "l2", "fragments": [["backprop of h", []]]}


def test_hand_written_writes_neither_contribute_nor_reset(root: Any) -> None:
    """Code that names no accumulation or zeroing is not looked at (context:39)."""
    g, x = gradient(), node("x")
    by_hand = program("by hand", number(g, 0), add(g, "identity", x), embedded=[g])
    context, (adds, hand) = chain(root.set_values(x, [1, 2]), adding(g, x), by_hand)
    context = context.run(adds).run(hand)
    assert rule(lambda: context.run(adds)) == "gradients/without-reset"
    assert context.get_values(g) == [1.0, 2.0]
