"""The model is the halves: what it says of compiling, running and summing is what both do with real comps."""

from __future__ import annotations

import importlib

from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil_oracles.driver import run_trace
from counterfoil_oracles.histories import encoding
from counterfoil_oracles.histories.model import H, W
from counterfoil_oracles.histories.scripts import MOST_ROUTINES, Script
from counterfoil_spec.commands import Refused, matches
from counterfoil_spec.programs.nodes import Node

HALVES = ("counterfoil_reference", "counterfoil")

# Routines that do little go together more often, so they are drawn more often.
ALPHABET = sorted(encoding.alphabet(2), key=lambda code: code.bit_count())
codes = st.integers(0, len(ALPHABET) - 1).flatmap(lambda most: st.sampled_from(ALPHABET[: most + 1]))
compiles = st.lists(st.tuples(codes, st.booleans()), min_size=1, max_size=6)
events = st.lists(
    st.tuples(
        st.sampled_from(["run", "run", "run", "timing", "write", "rollback"]), st.integers(0, 7), st.integers(0, 7)
    ),
    max_size=10,
)


def binds(script: Script, number: int, gradient: Node) -> bool:
    """Whether the value that compiling the routine returned binds the gradient."""
    path = [script.history.routines[at] for at in script.history.paths[number]]
    return any(r.zH or r.aH or r.P if gradient is H else r.zW or r.aW or r.P for r in path)


def carry_out(script: Script, kind: str, number: int, through: int) -> bool:
    """One event; whether it was a run that was accepted."""
    if kind in ("run", "timing"):
        tips = [at for at, path in enumerate(script.history.paths) if number in path]
        return script.run(number, tips[through % len(tips)], timing=kind == "timing")
    gradient = (H, W)[through % 2]
    if kind == "write" and binds(script, number, gradient):
        script.extern(gradient, 0.5, number)
    return False


def history(wanted: list[tuple[int, bool]], happenings: list[tuple[str, int, int]]) -> Script:
    """Up to four routines along a path, siblings where both gradients are shared, refused ones tried; the events."""
    script = Script()
    parent: int | None = None
    for code, sibling in wanted:
        if len(script.history.routines) == MOST_ROUTINES:
            break
        made = script.compile(encoding.decode(code), parent)
        shared = parent is not None and binds(script, parent, H) and binds(script, parent, W)
        parent = parent if made is None or (sibling and shared) else made
    ran: int | None = None
    for kind, number, through in happenings:
        number %= len(script.history.routines)
        if kind == "rollback" and ran is not None:
            script.rollback(ran)
            ran = None
        else:
            ran = number if carry_out(script, kind, number, through) else None
        for gradient in (H, W):
            if binds(script, number, gradient):
                script.read(gradient, number)
    return script


@settings(max_examples=25, deadline=None)
@given(compiles, events)
def test_both_halves_do_as_the_model_says(
    wanted: list[tuple[int, bool]], happenings: list[tuple[str, int, int]]
) -> None:
    """Each compile and run is refused by the rule predicted, or accepted; each gradient holds the predicted sum."""
    trace = history(wanted, happenings).trace("A drawn history.", ["C21"])
    for half in HALVES:
        outcomes = run_trace(importlib.import_module(half), trace)
        for step, outcome in zip(trace.steps, outcomes, strict=True):
            assert step.outcome is not None and matches(step.outcome, outcome), (half, step, outcome)


def test_every_rule_is_predicted() -> None:
    """The histories that are drawn meet every refusal of the model."""
    met: set[str] = set()

    @settings(max_examples=400, database=None, derandomize=True, deadline=None)
    @given(compiles, events)
    def draw(wanted: list[tuple[int, bool]], happenings: list[tuple[str, int, int]]) -> None:
        met.update(s.outcome.rule for s in history(wanted, happenings).steps if isinstance(s.outcome, Refused))

    draw()
    assert met == {
        "compile/owned-twice", "gradients/accumulated-elsewhere", "gradients/propagated-earlier",
        "run/fragment-not-owned", "run/dependencies", "gradients/without-reset",
    }  # fmt: skip
