"""The reference's rule functions say what OCANNL's rules and the decisions say, on small lineages written out."""

from __future__ import annotations

import pytest

from counterfoil_reference import history, lineage
from counterfoil_reference.frontier import Frontier
from counterfoil_spec.programs.comps import Comp, Fragment, comp
from counterfoil_spec.programs.nodes import Node

G = Node("g", (1,))
OTHER = Node("other", (1,))
BACKPROP = Fragment(1, "backprop", "g", G)
FORWARD = Fragment(1, "forward", "g")
EMPTY = Fragment(2, "backprop", "leaf", OTHER, empty=True)

KINDS = {
    "Z": comp(zeroes=[G]),
    "A": comp(accumulates=[G]),
    "ZA": comp(zeroes=[G], accumulates=[G]),
    "P": comp(owned=[BACKPROP]),
}


def compiled(*kinds: str) -> list[lineage.Entry]:
    return [lineage.entry(KINDS[kind], f"r{number}", number) for number, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    ("before", "next_one", "first"),
    [
        ([], "A", None), ([], "ZA", None), (["ZA"], "A", 0), (["A"], "ZA", 0), (["ZA"], "ZA", 0), (["A"], "A", 0),
        (["Z"], "A", None), (["Z", "A"], "A", None), (["Z", "A"], "ZA", 1), (["A", "Z"], "A", 0),
        (["Z", "Z", "A"], "A", None), (["Z", "A", "Z"], "A", 1), (["Z"], "ZA", None), (["Z", "ZA"], "A", 1),
        (["Z", "A"], "Z", None), (["ZA"], "Z", None),
    ],
)  # fmt: skip
def test_a_second_accumulator_is_refused_unless_zeroed_first(
    before: list[str], next_one: str, first: int | None
) -> None:
    """gradients/accumulated-elsewhere, line by line of context:39, names the first accumulator."""
    found = lineage.accumulated_elsewhere(KINDS[next_one], compiled(*before))
    assert [(gradient, entry.routine_id) for gradient, entry in found] == ([] if first is None else [(G, first)])


def test_gradients_are_named_by_uid_and_each_alone() -> None:
    """Two gradients that clash are both named, a third that does not is not."""
    third = Node("third", (1,))
    both = comp(accumulates=[OTHER, G, third])
    found = lineage.accumulated_elsewhere(both, [lineage.entry(comp(accumulates=[OTHER, G]), "first", 0)])
    assert [gradient for gradient, _ in found] == [G, OTHER]


def test_a_contributor_after_the_propagator_is_refused() -> None:
    """gradients/propagated-earlier looks at earlier routines only: one that does both is right."""
    assert [e.routine_id for _, e in lineage.propagated_earlier(KINDS["A"], compiled("Z", "P"))] == [1]
    assert lineage.propagated_earlier(comp(accumulates=[G], owned=[BACKPROP]), compiled("Z", "A")) == []


def test_an_empty_fragment_propagates_nothing() -> None:
    """A leaf's backprop is empty: contributing to it afterwards loses nothing, and nothing requires it (C2)."""
    leaf = lineage.entry(comp(owned=[EMPTY]), "leaf", 0)
    assert lineage.propagated_earlier(comp(accumulates=[OTHER]), [leaf]) == []
    contributor = lineage.entry(Comp(requires=(EMPTY,)), "contributor", 1)
    assert lineage.unowned(contributor, [contributor]) == []


def test_fragments_are_owned_once_forward_ones_too() -> None:
    """compile/owned-twice names each fragment with each routine that has it, the comp itself last (C2)."""
    first = lineage.entry(comp(owned=[FORWARD, BACKPROP]), "first", 0)
    assert lineage.owned_twice(comp(owned=[BACKPROP]), [first], "second") == [("backprop of g", "first")]
    twice = comp(owned=[FORWARD, BACKPROP, FORWARD])
    assert lineage.owned_twice(twice, [], "second") == [("forward of g", "second")]
    assert lineage.owned_twice(twice, [first], "second") == [
        ("forward of g", "first"), ("forward of g", "second"), ("backprop of g", "first"),
    ]  # fmt: skip


def test_what_is_required_may_be_owned_by_a_later_routine() -> None:
    """run/fragment-not-owned looks at the lineage it is given: an owner compiled after the routine counts."""
    contributor = lineage.entry(comp(accumulates=[G], requires=[BACKPROP]), "contributor", 0)
    propagator = lineage.entry(comp(owned=[BACKPROP]), "propagator", 1)
    assert lineage.unowned(contributor, [contributor]) == [BACKPROP]
    assert lineage.unowned(contributor, [contributor, propagator]) == []


def test_the_first_routine_that_zeroes_is_named() -> None:
    """gradients/without-reset names the first routine of the lineage that zeroes the gradient, or none."""
    assert lineage.zeroing_routine(G, compiled("A", "Z", "Z")) == compiled("A", "Z")[1]
    assert lineage.zeroing_routine(G, compiled("A")) is None


def test_the_frontier_orders_readers_and_writers() -> None:
    """init writes w; grad reads w and writes g; sgd reads both and writes w: run/depends, all three kinds."""
    w, g = Node("w", (1,)), Node("w.grad", (1,))
    after_init = Frontier().after(0, [], [w])
    assert after_init.dependencies([w], [g]) == {0}
    after_grad = after_init.after(1, [w], [g])
    assert after_grad.dependencies([w, g], [w]) == {0, 1}
    assert after_grad.dependencies([], [w]) == {0, 1}, "a writer waits for the readers of what it writes"
    assert after_grad.after(2, [w, g], [w]).dependencies([w], []) == {2}


def test_a_reader_that_writes_is_a_writer() -> None:
    """x += 1 depends on the last writer, and is none of the readers a later writer waits for besides."""
    x = Node("x", (1,))
    after = Frontier().after(0, [], [x]).after(1, [x], [x])
    assert after.last_readers == {} and after.dependencies([], [x]) == {1}


def test_an_upload_ends_waiting() -> None:
    """After a write from outside nobody is waited for on account of the node, in the value returned alone."""
    x = Node("x", (1,))
    before = Frontier().after(0, [x], []).after(1, [], [x])
    assert before.written_from_outside(x).dependencies([x], [x]) == frozenset()
    assert before.dependencies([x], [x]) == {1}


def test_a_merge_reader_depends_on_the_fill_alone() -> None:
    """It waits for the transfer, not for the destination's writers of that node; an upload leaves the fill."""
    x, y = Node("x", (1,)), Node("y", (1,))
    filled = Frontier().after(0, [], [x]).filled(x, 7)
    assert filled.dependencies([], [y], merge=x) == {7}
    assert filled.written_from_outside(x).dependencies([], [y], merge=x) == {7}


A_TWICE = lineage.entry(comp(accumulates=[G, OTHER], allowances={G: 2}), "a", 3)
LOCATIONS = {G: ("buffer", 0), OTHER: ("buffer", 8)}


def test_each_gradient_has_its_own_allowance() -> None:
    """After one run the gradient allowed one is overdrawn, after two both are (C4)."""
    once = history.counted(A_TWICE, history.NOTHING_COUNTED, LOCATIONS.get)
    assert history.overdrawn(A_TWICE, history.NOTHING_COUNTED, LOCATIONS.get) == []
    assert history.overdrawn(A_TWICE, once, LOCATIONS.get) == [OTHER]
    assert history.overdrawn(A_TWICE, history.counted(A_TWICE, once, LOCATIONS.get), LOCATIONS.get) == [G, OTHER]


def test_a_gradient_without_a_buffer_is_not_counted() -> None:
    """A Virtual gradient is never overdrawn (context:61: the gradient's context buffer)."""
    assert history.counted(A_TWICE, history.NOTHING_COUNTED, lambda node: None) == {}


def test_zeroing_resets_the_counts_of_every_routine() -> None:
    """A run that zeroes the buffer, or a write from outside, ends the counts of that buffer and no other."""
    counts = history.counted(A_TWICE, history.NOTHING_COUNTED, LOCATIONS.get)
    zeroing = lineage.entry(comp(zeroes=[G]), "z", 4)
    assert history.counted(zeroing, counts, LOCATIONS.get) == {(3, LOCATIONS[OTHER]): 1}
    assert history.reset(counts, LOCATIONS[G]) == {(3, LOCATIONS[OTHER]): 1}


def test_a_routine_that_zeroes_and_adds_is_not_counted() -> None:
    """It resets its own sum each time: never overdrawn."""
    both = lineage.entry(KINDS["ZA"], "za", 5)
    counts = history.counted(both, history.NOTHING_COUNTED, LOCATIONS.get)
    assert counts == {} and history.overdrawn(both, counts, LOCATIONS.get) == []


def test_a_rollback_restores_what_the_run_removed_and_takes_back_its_own() -> None:
    """At the buffers of the run the counts are as before it; others keep what happened since (C5)."""
    added = history.counted(A_TWICE, history.NOTHING_COUNTED, LOCATIONS.get)
    zeroed = history.counted(lineage.entry(comp(zeroes=[G]), "z", 4), added, LOCATIONS.get)
    assert history.withdrawn(zeroed, added, [LOCATIONS[G]]) == added
    assert history.withdrawn(added, history.NOTHING_COUNTED, [LOCATIONS[G]]) == {(3, LOCATIONS[OTHER]): 1}


def test_a_retired_routine_leaves_no_counts() -> None:
    """When no live lineage holds it, its counts go, and no others (C17)."""
    counts = history.counted(A_TWICE, {(9, "x"): 1}, LOCATIONS.get)
    assert history.retired(counts, 3) == {(9, "x"): 1}
