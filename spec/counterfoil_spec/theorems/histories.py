"""Gradient histories: the books agree with the buffers, and nothing is counted twice (docs/gradients.md, T1 and T2).

Each induction runs along the events of a history, of any length, over a lineage of any length: what matters of the
other routines is only what they do to the one buffer, or to the one token, that is looked at. A token is one
contribution: of one routine, at one event, to H (a trunk's gradient, propagated into W by one routine) or to W.
"""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.theorems.induction import Induction, Step, Symbols, Term, Theorem, Twin, within


def bit(condition: Term) -> Term:
    """1 where the condition holds, else 0: how often a token is put into a bag."""
    return z3.If(condition, 1, 0)


def unless(reset: Term, value: Term) -> Term:
    """The value, or 0 after a reset."""
    return z3.If(reset, 0, value)


# --- T1: accounting --------------------------------------------------------------------------------------------------
# One gradient and one routine. value: the buffer; base and sum: what it started from, what was added since; count: the
# ledger's; runs: how often the routine added since the last reset. ``zeroing``: whether the routine zeroes it itself.

_ADDS = Step(
    "the routine adds",
    "increment",
    facts=lambda g, q, a: [z3.Or(g.zeroing, q.count < g.allowance)],
    advance=lambda g, q, a: {
        "value": unless(g.zeroing, q.value) + a.increment,
        "base": unless(g.zeroing, q.base),
        "sum": unless(g.zeroing, q.sum) + a.increment,
        "count": z3.If(g.zeroing, 0, q.count + 1),
        "runs": unless(g.zeroing, q.runs) + 1,
    },
    case=lambda g, q, a: [z3.Not(g.zeroing), q.count > 0],
)
_ANOTHER = Step(
    "another routine zeroes, or adds, or both",
    "increment zeroes?",
    facts=lambda g, q, a: [],
    advance=lambda g, q, a: {
        "value": unless(a.zeroes, q.value) + a.increment,
        "base": unless(a.zeroes, q.base),
        "sum": unless(a.zeroes, q.sum) + a.increment,
        "count": unless(a.zeroes, q.count),
        "runs": unless(a.zeroes, q.runs),
    },
)
_OUTSIDE = Step(
    "a write from outside",
    "given_value",
    facts=lambda g, q, a: [],
    advance=lambda g, q, a: {
        "value": a.given_value,
        "base": a.given_value,
        "sum": z3.IntVal(0),
        "count": z3.IntVal(0),
        "runs": z3.IntVal(0),
    },
)
ACCOUNTING = Induction(
    "accounting",
    given="zeroing? allowance",
    assuming=lambda g: [g.allowance >= 1],
    state="value base sum count runs",
    start=lambda g: dict.fromkeys(("value", "base", "sum", "count", "runs"), z3.IntVal(0)),
    steps=(_ADDS, _ANOTHER, _OUTSIDE),
    invariant=lambda g, q: z3.And(
        q.value == q.base + q.sum,
        z3.Implies(z3.Not(g.zeroing), z3.And(q.runs == q.count, within(q.count, g.allowance + 1))),
        z3.Implies(g.zeroing, z3.And(within(q.runs, 2), q.count == 0)),
    ),
    claim=lambda g, q: z3.And(q.value == q.base + q.sum, q.runs <= g.allowance),
)


def _also(step: Step, **changes: Term) -> Induction:
    """A history in which one more kind of event happens: a step, with other terms for some of the state."""
    changed = replace(step, advance=lambda g, q, a: {**step.advance(g, q, a), **changes})
    return replace(ACCOUNTING, name="wrong accounting", steps=(_ADDS, _ANOTHER, _OUTSIDE, changed))


_TIMED = replace(_ADDS, name="a timing run", facts=lambda g, q, a: [])
_BY_HAND = Step(
    "a hand-written g += g", "", facts=lambda g, q, a: [], advance=lambda g, q, a: {"value": q.value + q.value}
)
_NOTHING_MOVED = Step(
    "a copy that moves nothing", "", facts=lambda g, q, a: [], advance=lambda g, q, a: {"count": z3.IntVal(0)}
)
_FORGETFUL = replace(_NOTHING_MOVED, name="a rollback that forgets the counts")

T1 = Theorem(
    "histories/accounting",
    "A gradient's buffer holds its base and exactly the increments executed since its last reset, of each routine at "
    "most as many as its allowance.",
    """Any lineage, siblings included, any order of runs and outside writes. One buffer and one routine are looked at;
    every other routine is the step that zeroes, adds, or both. The invariant is that the ledger's count is the number
    of the routine's additions since the last reset, at most its allowance (one addition if it zeroes the buffer
    itself), and that the buffer is base plus sum. Each kind of event keeps it, so it holds after any number of them.
    The allowance's guard is used in the first step only: it is what bounds the count.""",
    ("gradients/accounting", "gradients/without-reset", "gradients/history"),
    ACCOUNTING.obligations(),
    (
        Twin("timing runs are harmless", _also(_TIMED).unrolled(3, 3)),
        Twin("hand-written writes are contributions", _also(_BY_HAND).unrolled(0, 3)),
        Twin("adopting a value by a copy that moves nothing is a reset", _also(_NOTHING_MOVED).unrolled(0, 3, 0)),
        Twin("a rollback need not restore the counts", _also(_FORGETFUL).unrolled(0, 3, 0)),
    ),
)

# --- T2: no double counting ------------------------------------------------------------------------------------------
# One token, contributed to H (``into_h``) or to W at some event. in_h, in_w: how often it is in either bag; born:
# whether that event was; count: the ledger's, of the propagating routine and W. The propagating routine's flags are
# given: p_zh, p_zw whether it zeroes H, W, ``allowance`` its runs per reset of W.


def _contributed(given: Symbols, axis: Symbols) -> tuple[Term, Term]:
    """How often the event puts the token into H, and into W, by contribution."""
    return bit(z3.And(axis.mine, given.into_h)), bit(z3.And(axis.mine, z3.Not(given.into_h)))


def _propagates(given: Symbols, state: Symbols, axis: Symbols) -> dict[str, Term]:
    to_h, to_w = _contributed(given, axis)
    in_h = unless(given.p_zh, state.in_h) + to_h
    return {
        "in_h": in_h,
        "in_w": unless(given.p_zw, state.in_w) + in_h + to_w,
        "born": z3.Or(state.born, axis.mine),
        "count": z3.If(given.p_zw, 0, state.count + 1),
    }


def _does(given: Symbols, state: Symbols, axis: Symbols) -> dict[str, Term]:
    to_h, to_w = _contributed(given, axis)
    return {
        "in_h": unless(axis.zh, state.in_h) + to_h,
        "in_w": unless(axis.zw, state.in_w) + to_w,
        "born": z3.Or(state.born, axis.mine),
        "count": unless(axis.zw, state.count),
    }


_PROPAGATES = Step(
    "the propagating routine runs",
    "mine?",
    facts=lambda g, q, a: [
        z3.Implies(a.mine, z3.Not(q.born)),  # a token is of one event
        z3.Or(g.p_zw, q.count < g.allowance),  # gradients/without-reset
    ],
    advance=_propagates,
    case=lambda g, q, a: [q.in_h == 1, q.in_w == 0],
)
_RUNS = Step(
    "another routine runs, or a gradient is written from outside",
    "mine? zh? zw?",
    facts=lambda g, q, a: [z3.Implies(a.mine, z3.Not(q.born))],
    advance=_does,
    case=lambda g, q, a: [q.in_w == 1, a.zh, z3.Not(a.zw)],
)
NO_DOUBLE = Induction(
    "no double counting",
    given="into_h? p_zh? p_zw? allowance",
    assuming=lambda g: [g.allowance >= 1, z3.Or(g.allowance == 1, g.p_zh, g.p_zw)],
    state="in_h in_w born? count",
    start=lambda g: {"in_h": z3.IntVal(0), "in_w": z3.IntVal(0), "born": z3.BoolVal(False), "count": z3.IntVal(0)},
    steps=(_PROPAGATES, _RUNS),
    invariant=lambda g, q: z3.And(
        within(q.in_h, 2),
        within(q.in_w, 2),
        q.count >= 0,
        z3.Implies(z3.Not(q.born), z3.And(q.in_h == 0, q.in_w == 0)),
        z3.Implies(z3.Not(g.into_h), q.in_h == 0),
        # What came into W through H was propagated since W's reset, so it was counted.
        z3.Implies(z3.And(g.into_h, q.in_w == 1, z3.Not(g.p_zh), z3.Not(g.p_zw)), q.count >= 1),
    ),
    claim=lambda g, q: z3.And(q.in_h <= 1, q.in_w <= 1),
)

_ANY_ALLOWANCE = replace(NO_DOUBLE, name="any allowance", assuming=lambda g: [g.allowance >= 1])
_UNCOUNTED = replace(
    _PROPAGATES, name="a run nobody counts", facts=lambda g, q, a: [z3.Implies(a.mine, z3.Not(q.born))]
)
_TWO_RUNS = replace(NO_DOUBLE, name="uncounted runs", steps=(_UNCOUNTED, _RUNS))
_SECOND = replace(
    _UNCOUNTED,
    name="a second propagating routine, with a count of its own",
    advance=lambda g, q, a: {**_propagates(g, q, a), "count": q.count},
)
_TWO_OWNERS = replace(NO_DOUBLE, name="two owners", steps=(_PROPAGATES, _RUNS, _SECOND))

T2 = Theorem(
    "histories/no-double-count",
    "Along one path no contribution is twice in a gradient, whatever the order of runs, resets and outside writes, "
    "where the propagating routine is allowed one run per reset of W, or zeroes H (or W) itself.",
    """A lineage owns the backprop from H once, so one routine propagates; every other routine, and a write from
    outside, is the second step. One token is followed. The invariant is that it is at most once in H and at most once
    in W, and that if it came into W through H, where nothing is zeroed by the propagating routine, that routine's
    count is at least 1; with an allowance of 1 it then may not run before W is reset. Where it zeroes H, only what the
    same run contributes is propagated; where it zeroes W, nothing of an earlier run is left there. Neither the clauses
    of gradients/accumulated-elsewhere nor dependencies nor run/fragment-not-owned are used.""",
    ("gradients/no-double-count", "compile/owned-twice", "gradients/without-reset"),
    NO_DOUBLE.obligations(),
    (
        Twin("any allowance will do", _ANY_ALLOWANCE.unrolled(1, 0, 0)),
        Twin("timing runs are harmless", _TWO_RUNS.unrolled(1, 0, 0)),
        Twin("two routines may own one fragment, each counted", _TWO_OWNERS.unrolled(1, 0, 2)),
    ),
)

THEOREMS = (T1, T2)
