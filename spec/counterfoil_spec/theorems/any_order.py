"""Any order, with discipline: what a caller may run beside each routine once in compile order (docs/gradients.md).

The induction runs along a cycle, of any length, each step a run or a write from outside, from any state. An *old* token
was there before the cycle, a *new* one is contributed in it. Nothing of compile is assumed but that one routine
propagates. added_*, reset_*: the gradient was, in this cycle; the rest is as in ``delivery``.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from counterfoil_spec.theorems.delivery import FALSE, FLAGS, tokens
from counterfoil_spec.theorems.histories import bit
from counterfoil_spec.theorems.induction import Formula, Induction, Step, Symbols, Term, Theorem, Twin, within


def _orderly(without: Sequence[str], state: Symbols, run: Symbols) -> list[Formula]:
    adds_w = z3.Or(run.aw, run.p)
    conditions = {
        "resets first": [z3.Implies(run.zh, z3.Not(state.added_h)), z3.Implies(run.zw, z3.Not(state.added_w))],
        "reset": [
            z3.Implies(z3.Or(run.ah, run.p), z3.Or(state.reset_h, run.zh)),
            z3.Implies(adds_w, z3.Or(state.reset_w, run.zw)),
        ],
        "once": [z3.Implies(run.p, z3.Not(state.propagated))],
        "contributors first": [z3.Implies(run.ah, z3.Not(state.propagated))],
    }
    return [formula for name, formulas in conditions.items() if name not in without for formula in formulas]


def _disciplined_run(given: Symbols, state: Symbols, run: Symbols) -> dict[str, Term]:
    moved = tokens(given, state, run)
    return {
        **moved,
        "added_h": z3.Or(state.added_h, run.ah),
        "added_w": z3.Or(state.added_w, run.aw, run.p),
        "reset_h": z3.Or(state.reset_h, run.zh),
        "reset_w": z3.Or(state.reset_w, run.zw),
        "propagated": z3.Or(state.propagated, run.p),
    }


def _disciplined_invariant(given: Symbols, state: Symbols) -> Formula:
    return z3.And(
        z3.Implies(state.reset_h, z3.Not(state.old_h)),
        z3.Implies(state.reset_w, z3.Not(z3.Or(state.old_w, state.revived))),
        z3.Not(state.revived),
        z3.Implies(state.propagated, z3.And(state.reset_h, state.reset_w, state.added_w)),
        z3.Implies(z3.Not(state.came), z3.And(state.new_h == 0, state.new_w == 0)),
        z3.Implies(z3.Not(given.into_h), state.new_h == 0),
        z3.Implies(z3.And(state.came, given.into_h), z3.And(state.new_h == 1, state.added_h)),
        z3.Implies(z3.And(state.came, given.into_h), state.new_w == bit(state.propagated)),
        z3.Implies(z3.And(state.came, z3.Not(given.into_h)), z3.And(state.new_w == 1, state.added_w)),
    )


def _disciplined_claim(without: Sequence[str], given: Symbols, state: Symbols) -> Formula:
    gone = z3.And(
        z3.Implies(state.reset_h, z3.Not(state.old_h)),
        z3.Implies(state.reset_w, z3.Not(z3.Or(state.old_w, state.revived))),
    )
    there = z3.And(state.new_h == bit(given.into_h), state.new_w == 1)
    dropped = FALSE if "propagated" in without else z3.And(state.added_h, z3.Not(state.propagated))
    return z3.Or(dropped, z3.And(gone, z3.Implies(state.came, there), within(state.new_w, 2)))


def disciplined(name: str, without: Sequence[str] = ()) -> Induction:
    """The induction over a cycle; ``without`` conditions, a twin of it."""
    step = Step(
        "one more run, or a write from outside",
        f"{FLAGS} mine?",
        facts=lambda g, q, a: [
            z3.Implies(a.mine, z3.And(z3.Not(q.came), z3.If(g.into_h, a.ah, a.aw))),
            *_orderly(without, q, a),
        ],
        advance=_disciplined_run,
        case=lambda g, q, a: [q.came, q.new_h == 1, a.p, q.reset_w],
    )
    numbers = {"new_h": z3.IntVal(0), "new_w": z3.IntVal(0)}
    flags = "old_h? old_w? revived? came? added_h? added_w? reset_h? reset_w? propagated?"
    start: dict[str, Term] = dict.fromkeys([name.rstrip("?") for name in flags.split()], FALSE)
    return Induction(
        name,
        given="into_h? was_h? was_w?",
        state=f"{flags} new_h new_w",
        start=lambda g: {**start, **numbers, "old_h": g.was_h, "old_w": g.was_w},
        steps=(step,),
        invariant=_disciplined_invariant,
        claim=lambda g, q: _disciplined_claim(without, g, q),
    )


ANY_ORDER = disciplined("any order")


def _undisciplined(mistake: str, name: str, length: int) -> Twin:
    return Twin(mistake, disciplined(f"any order without {name}", (name,)).unrolled(*[0] * length))


DISCIPLINE = Theorem(
    "histories/any-order",
    "In an orderly cycle, from any state, each gradient it resets ends with exactly what the routines that ran in it "
    "contributed, each once: every gradient it adds to or propagates from is reset in it first and not after; one "
    "routine propagates, once, after every contribution to H, and does if there is any.",
    """A step is a run, or a write from outside, which only zeroes. Before a gradient is added to it is reset, so
    nothing old is in it then or later, and what is propagated from H is of this cycle; after an addition nothing is
    reset, so a token stays; it is propagated once, as the propagating routine runs once and after it. A routine that
    did not run contributed no token. No rule is used but ownership: the discipline is the caller's.""",
    ("gradients/delivery", "compile/owned-twice"),
    ANY_ORDER.obligations(),
    (
        _undisciplined("a reset may be left out", "reset", 2),
        _undisciplined("a reset may follow a contribution", "resets first", 2),
        _undisciplined("propagating twice does no harm", "once", 2),
        _undisciplined("propagating may be left out", "propagated", 1),
        _undisciplined("a contribution may come after propagating", "contributors first", 2),
    ),
)

THEOREMS = (DISCIPLINE,)
