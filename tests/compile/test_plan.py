"""The plan of a program is the reference's: refusals, placements, stored definitions, reads and writes, symbols."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.programs.building import Drawn, programs

import counterfoil.compile as fast
import counterfoil_reference.programs as reference
from counterfoil_spec.programs.assignments import Assignment, Sequence
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import Refusal


@dataclass
class Outcome:
    """A plan, or the rule and subjects of its refusal."""

    plan: object = None
    refusal: object = None


def outcome(plan: Callable[[], object]) -> Outcome:
    try:
        return Outcome(plan=plan())
    except Refusal as refusal:
        return Outcome(refusal=(refusal.rule, refusal.subjects))


def facts(plan: object) -> dict[str, object]:
    """What both halves' plans say, in one form."""
    names = ("read_only", "read_before_write", "writes", "arguments", "merge", "symbols")
    found: dict[str, object] = {name: getattr(plan, name) for name in names}
    found["placements"] = dict(plan.decisions.placements)  # type: ignore[attr-defined]
    return found


def assert_same_lineage(drawn: Drawn, materialized: frozenset[Node], inline: frozenset[Node]) -> None:
    """The routines of a drawn program one after the other, each half from its own decisions."""
    ours = replace(fast.NOTHING_DECIDED, materialized=materialized, inline=inline)
    theirs = replace(reference.NOTHING_DECIDED, materialized=materialized, inline=inline)
    for routine in drawn.routines:
        code = Sequence(tuple(routine))
        mine = outcome(lambda code=code, ours=ours: fast.plan(code, ours, "r"))
        other = outcome(lambda code=code, theirs=theirs: reference.plan(code, theirs, "r"))
        assert mine.refusal == other.refusal
        if mine.refusal is not None:
            return
        assert facts(mine.plan) == facts(other.plan)
        ours, theirs = mine.plan.decisions, other.plan.decisions  # type: ignore[attr-defined]
        assert counts(ours.stored) == counts(theirs.stored)


def counts(stored: dict[Node, tuple[Assignment, ...]]) -> dict[Node, list[tuple[str, Node]]]:
    """The setters of each Virtual node, as far as both halves write them alike."""
    return {node: [(type(it).__name__, it.target) for it in setters] for node, setters in stored.items()}


@settings(max_examples=120, deadline=None)
@given(programs(routines=3, merges=True), st.data())
def test_plans_agree_along_a_lineage(drawn: Drawn, data: st.DataObject) -> None:
    """Three routines of one lineage: the same refusal, or the same placements, reads, writes, merge node, symbols."""
    subsets = st.sets(st.sampled_from(drawn.nodes), max_size=2).map(frozenset)
    assert_same_lineage(drawn, data.draw(subsets), data.draw(subsets) | drawn.decisions.inline)


@settings(max_examples=60, deadline=None)
@given(programs(routines=2, merges=True))
def test_plans_of_lowered_code_agree(drawn: Drawn) -> None:
    """Code given lowered: the same placements, reads, writes, merge node and symbols as the reference finds."""
    decisions = reference.NOTHING_DECIDED
    for routine in drawn.routines:
        made = outcome(lambda routine=routine, d=decisions: reference.plan(Sequence(tuple(routine)), d, "r"))
        if made.refusal is not None:
            return
        lowered = made.plan.lowered  # type: ignore[attr-defined]
        mine = fast.plan_lowered(lowered, fast.NOTHING_DECIDED, "r")
        assert facts(mine) == facts(reference.plan_lowered(lowered, reference.NOTHING_DECIDED, "r"))
        decisions = made.plan.decisions  # type: ignore[attr-defined]
