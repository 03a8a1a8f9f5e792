"""Both halves plan alike: what is refused, where nodes are kept, what a routine reads, writes and mentions."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from tests.programs.building import Drawn, programs

from counterfoil.compile.decisions import Decisions as FastDecisions
from counterfoil.compile.plan import plan as fast_plan
from counterfoil_reference.programs import plan
from counterfoil_spec.programs.assignments import Code
from counterfoil_spec.programs.assignments import Sequence as Codes
from counterfoil_spec.refusals import Refusal

FACTS = ("read_only", "read_before_write", "writes", "arguments", "merge", "symbols")


def outcome(planning: Callable[[Code, Any, str], Any], code: Code, decisions: Any) -> Any:
    """The plan, or the rule and subjects of the refusal."""
    try:
        return planning(code, decisions, "r")
    except Refusal as refused:
        return refused.rule, refused.subjects


@given(programs(routines=3, merges=True))
def test_both_halves_plan_alike(drawn: Drawn) -> None:
    """Along a lineage of drawn routines, refusals, placements, setters kept and interfaces are equal."""
    ours, theirs = drawn.decisions, FastDecisions(inline=drawn.decisions.inline)
    for assignments in drawn.routines:
        code = Codes(tuple(assignments))
        mine, other = outcome(plan, code, ours), outcome(fast_plan, code, theirs)
        if isinstance(mine, tuple) or isinstance(other, tuple):
            assert mine == other
            return
        assert [getattr(mine, fact) for fact in FACTS] == [getattr(other, fact) for fact in FACTS]
        ours, theirs = mine.decisions, other.decisions
        assert dict(ours.placements) == dict(theirs.placements)
        kept = [{node: len(setters) for node, setters in each.stored.items()} for each in (ours, theirs)]
        assert kept[0] == kept[1]
