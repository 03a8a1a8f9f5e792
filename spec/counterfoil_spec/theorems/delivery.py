"""A cycle in compile order delivers every contribution once (docs/gradients.md, T3).

The induction runs along a path in compile order, of any length: each step compiles one more routine, under the rules,
and runs it. Two tokens are followed: an *old* one, contributed before the cycle, and a *new* one, contributed by one
routine of the path in it. H is a trunk's gradient, W the parameter's it is propagated into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import z3

from counterfoil_spec.theorems.histories import bit, unless
from counterfoil_spec.theorems.induction import (
    Formula,
    Induction,
    Step,
    Symbols,
    Term,
    Theorem,
    Twin,
)

FALSE = z3.BoolVal(False)

# --- a token that is in a buffer was counted -------------------------------------------------------------------------
# One token that a routine which does not zero the gradient put there; count: the ledger's, of that routine and buffer.

COUNTED = Induction(
    "what is there was counted",
    state="there? count",
    start=lambda g: {"there": FALSE, "count": z3.IntVal(0)},
    steps=(
        Step(
            "the routine runs",
            "again?",
            facts=lambda g, q, a: [],
            advance=lambda g, q, a: {"there": z3.Or(q.there, a.again), "count": q.count + 1},
        ),
        Step(
            "a run zeroes the buffer, or it is written from outside",
            "",
            facts=lambda g, q, a: [],
            advance=lambda g, q, a: {"there": FALSE, "count": z3.IntVal(0)},
        ),
    ),
    invariant=lambda g, q: z3.And(q.count >= 0, z3.Implies(q.there, q.count >= 1)),
    claim=lambda g, q: z3.Implies(q.there, q.count >= 1),
)
_LOST_COUNT = replace(
    COUNTED,
    name="wrong counts",
    steps=(*COUNTED.steps, Step("counts are dropped", "", lambda g, q, a: [], lambda g, q, a: {"count": z3.IntVal(0)})),
)

# --- a cycle in compile order ----------------------------------------------------------------------------------------
# Of a routine: zh ah p zw aw, what it does; mine: it contributed the new token; put_h, put_w: it is who put the old one
# into H, into W. Of the path so far: has_*: something accumulates into it; spoiled_*: it is zeroed at or after the
# first accumulator; zeroing_*: an accumulator zeroes it; late_*: it is zeroed, without adding, after the last
# accumulator so far; zeroed_*: something zeroes it; fed: something contributes to H; propagated; came, seen_*: the
# tokens' routines were met. Of the run: old_*: the old token is there since before the cycle; revived: it was
# propagated into W in the cycle; new_*: how often the new one is there. single_*: its allowances are 1.

FLAGS = "zh? ah? p? zw? aw?"
_PATH = "has_h? has_w? spoiled_h? spoiled_w? zeroing_h? zeroing_w? late_h? late_w? zeroed_h? zeroed_w? fed? propagated?"
_TOKENS = "old_h? old_w? revived? new_h new_w came? seen_h? seen_w?"

RULES = ("own", "c1", "c4", "10b", "cnt")
"""What a step is known to meet. The clauses c2 and c3, and dependencies, are not among them: nothing needs them."""


def _may_share(zeroes: Term, adds: Term, has: Term, spoiled: Term, zeroing: Term) -> dict[str, Formula]:
    """The clauses of gradients/accumulated-elsewhere that are needed, for one gradient."""
    second = z3.And(adds, has)
    return {
        "c1": z3.Implies(second, z3.Not(z3.Or(zeroes, zeroing))),
        "c4": z3.Implies(second, z3.Not(spoiled)),
    }


def rules_met(state: Symbols, routine: Symbols) -> dict[str, list[Formula]]:
    """The rules that let the routine be compiled after that path, by name."""
    into_h = _may_share(routine.zh, routine.ah, state.has_h, state.spoiled_h, state.zeroing_h)
    into_w = _may_share(routine.zw, z3.Or(routine.aw, routine.p), state.has_w, state.spoiled_w, state.zeroing_w)
    return {
        "own": [z3.Implies(routine.p, z3.Not(state.propagated))],
        "c1": [into_h["c1"], into_w["c1"]],
        "c4": [into_h["c4"], into_w["c4"]],
        "10b": [z3.Implies(routine.ah, z3.Not(state.propagated))],
    }


def _is_run(given: Symbols, state: Symbols, routine: Symbols) -> list[Formula]:
    """Whose tokens those are, and that gradients/without-reset lets it run: what is there was counted, allowance 1."""
    adds_w = z3.Or(routine.aw, routine.p)
    return [
        z3.Implies(routine.put_h, z3.And(routine.ah, z3.Not(state.seen_h))),
        z3.Implies(routine.put_w, z3.And(adds_w, z3.Not(state.seen_w))),
        z3.Implies(routine.mine, z3.And(z3.Not(state.came), z3.If(given.into_h, routine.ah, routine.aw))),
    ]


def _counted(given: Symbols, state: Symbols, routine: Symbols) -> list[Formula]:
    return [
        z3.Implies(z3.And(given.single_h, routine.put_h, z3.Not(routine.zh)), z3.Not(state.old_h)),
        z3.Implies(z3.And(given.single_w, routine.put_w, z3.Not(routine.zw)), z3.Not(state.old_w)),
    ]


def facts(given: Symbols, state: Symbols, routine: Symbols, without: Sequence[str] = ()) -> list[Formula]:
    """What is known of each routine of the path; ``without`` some of RULES for the twins."""
    met = {**rules_met(state, routine), "cnt": _counted(given, state, routine)}
    kept = [formula for name in RULES if name not in without for formula in met[name]]
    return [*_is_run(given, state, routine), *kept]


def tokens(given: Symbols, state: Symbols, routine: Symbols) -> dict[str, Term]:
    """What running the routine makes of the two tokens."""
    old_h = z3.And(state.old_h, z3.Not(routine.zh))
    new_h = unless(routine.zh, state.new_h) + bit(z3.And(routine.mine, given.into_h))
    carried = z3.If(routine.p, new_h, 0) + bit(z3.And(routine.mine, z3.Not(given.into_h)))
    return {
        "old_h": old_h,
        "old_w": z3.And(state.old_w, z3.Not(routine.zw)),
        "revived": z3.Or(z3.And(state.revived, z3.Not(routine.zw)), z3.And(routine.p, old_h)),
        "new_h": new_h,
        "new_w": unless(routine.zw, state.new_w) + carried,
        "came": z3.Or(state.came, routine.mine),
    }


def path(state: Symbols, routine: Symbols) -> dict[str, Term]:
    """The path with the routine."""
    after: dict[str, Term] = {"fed": z3.Or(state.fed, routine.ah), "propagated": z3.Or(state.propagated, routine.p)}
    for name, adds, zeroes in (("h", routine.ah, routine.zh), ("w", z3.Or(routine.aw, routine.p), routine.zw)):
        has, spoiled = getattr(state, f"has_{name}"), getattr(state, f"spoiled_{name}")
        zeroing, late = getattr(state, f"zeroing_{name}"), getattr(state, f"late_{name}")
        only_zeroes = z3.And(zeroes, z3.Not(adds))
        after[f"has_{name}"] = z3.Or(has, adds)
        after[f"spoiled_{name}"] = z3.Or(spoiled, z3.And(zeroes, z3.Or(has, adds)))
        after[f"zeroing_{name}"] = z3.Or(zeroing, z3.And(zeroes, adds))
        after[f"zeroed_{name}"] = z3.Or(getattr(state, f"zeroed_{name}"), zeroes)
        after[f"late_{name}"] = z3.Or(z3.And(only_zeroes, has), z3.And(late, z3.Not(adds)))
    return after


def _advance(given: Symbols, state: Symbols, routine: Symbols) -> dict[str, Term]:
    seen = {"seen_h": z3.Or(state.seen_h, routine.put_h), "seen_w": z3.Or(state.seen_w, routine.put_w)}
    return {**path(state, routine), **tokens(given, state, routine), **seen}


def _start(given: Symbols) -> dict[str, Term]:
    names = [name.rstrip("?") for name in (*_PATH.split(), *_TOKENS.split())]
    begun: dict[str, Term] = dict.fromkeys(names, FALSE)
    return {**begun, "old_h": given.was_h, "old_w": given.was_w, "new_h": z3.IntVal(0), "new_w": z3.IntVal(0)}


def _invariant(given: Symbols, state: Symbols) -> Formula:
    arrived = z3.And(state.came, given.into_h)
    behind = z3.Or(z3.Not(state.zeroed_h), state.late_h)
    in_time = z3.Not(z3.Or(state.late_h, state.late_w))
    return z3.And(
        z3.Implies(z3.Or(z3.And(state.seen_h, given.single_h), state.zeroed_h), z3.Not(state.old_h)),
        z3.Implies(z3.Or(z3.And(state.seen_w, given.single_w), state.zeroed_w), z3.Not(state.old_w)),
        z3.Implies(state.seen_h, state.has_h),
        z3.Implies(state.old_h, given.was_h),
        z3.Implies(state.old_w, given.was_w),
        z3.Implies(state.revived, z3.And(given.was_h, state.propagated)),
        z3.Implies(z3.And(state.revived, state.seen_h), z3.And(z3.Not(given.single_h), behind)),
        z3.Implies(state.late_h, z3.And(state.has_h, state.spoiled_h)),
        z3.Implies(state.late_w, z3.And(state.has_w, state.spoiled_w)),
        z3.Implies(state.propagated, state.has_w),
        z3.Implies(state.came, z3.If(given.into_h, z3.And(state.has_h, state.fed), state.has_w)),
        z3.Implies(z3.Not(state.came), z3.And(state.new_h == 0, state.new_w == 0)),
        z3.Implies(z3.Not(given.into_h), state.new_h == 0),
        z3.Implies(z3.And(arrived, z3.Not(state.late_h)), state.new_h == 1),
        z3.Implies(z3.And(arrived, z3.Not(state.propagated)), state.new_w == 0),
        z3.Implies(z3.And(arrived, state.propagated, in_time), state.new_w == 1),
        z3.Implies(z3.And(state.came, z3.Not(given.into_h), z3.Not(state.late_w)), state.new_w == 1),
    )


def _hypotheses(given: Symbols, state: Symbols, without: Sequence[str] = ()) -> list[Formula]:
    """What may be otherwise: a zeroing-only routine behind the last accumulator; an allowance above 1 for a gradient
    the path does not zero; an old token no routine of the path put there; contributing to H, which nothing propagates.
    """
    unlimited = z3.Or(z3.Not(z3.Or(given.single_h, state.zeroed_h)), z3.Not(z3.Or(given.single_w, state.zeroed_w)))
    return [
        FALSE if "allowance" in without else unlimited,
        FALSE if "late" in without else z3.Or(state.late_h, state.late_w),
        z3.And(given.was_h, z3.Not(state.seen_h)),
        z3.And(given.was_w, z3.Not(state.seen_w)),
        FALSE if "req" in without else z3.And(state.fed, z3.Not(state.propagated)),
    ]


def _claim(without: Sequence[str], given: Symbols, state: Symbols) -> Formula:
    gone = z3.Not(z3.Or(state.old_h, state.old_w, state.revived))
    there = z3.And(state.new_h == bit(given.into_h), state.new_w == 1)
    return z3.Or(*_hypotheses(given, state, without), z3.And(gone, z3.Implies(state.came, there)))


def delivery(name: str, without: Sequence[str] = ()) -> Induction:
    """The induction; ``without`` rules or hypotheses, a twin of it."""
    step = Step(
        "one more routine",
        f"{FLAGS} mine? put_h? put_w?",
        facts=lambda g, q, a: facts(g, q, a, without),
        advance=_advance,
        case=lambda g, q, a: [q.came, q.has_w, q.has_h, a.p],
    )
    return Induction(
        name,
        given="into_h? was_h? was_w? single_h? single_w?",
        state=f"{_PATH} {_TOKENS}",
        start=_start,
        steps=(step,),
        invariant=_invariant,
        claim=lambda g, q: _claim(without, g, q),
    )


DELIVERY = delivery("delivery")


def _dropped(mistake: str, name: str, length: int) -> Twin:
    return Twin(mistake, delivery(f"delivery without {name}", (name,)).unrolled(*[0] * length))


T3 = Theorem(
    "histories/delivery",
    "From any state that accepted runs along a path and outside writes lead to, a cycle that runs each of its routines "
    "once, in compile order, and is not refused leaves in H exactly its contributions to H, in W exactly those and its "
    "contributions to W, each once; where no routine that zeroes a gradient without adding to it follows the last one "
    "that adds, and each gradient that is added to without being zeroed has allowances of 1 or is zeroed in the path.",
    """The step compiles a routine after the path so far and runs it. An old token was put where it is by a routine of
    the path; if that one does not zero the gradient its count is at least 1 (the first induction), so with an allowance
    of 1 it is refused unless the token is gone by then: after its turn the old token is not there, and none of H's
    reaches W, as the contributors come before the propagating routine. With more, a zeroing removes it, which comes
    before the propagating routine unless it is late. The new token is at most once in H, and there unless H is zeroed
    behind it: by a routine that also adds, which the clause c1 refuses, or by one that only zeroes, after which c4
    refuses every further accumulator, so that it follows the last one. The same holds of W, and the propagating
    routine, which is compiled because it is required, finds the token in H. Clauses c2 and c3 of
    gradients/accumulated-elsewhere and dependencies are not used: given the rest they are redundant for this.""",
    ("gradients/delivery", "gradients/accumulated-elsewhere", "gradients/propagated-earlier",
     "run/fragment-not-owned"),
    (*COUNTED.obligations(), *DELIVERY.obligations()),
    (
        Twin("counts may be dropped while the buffer is kept", _LOST_COUNT.unrolled(0, 2)),
        _dropped("a second accumulator may zero", "c1", 2),
        _dropped("a zeroing may come between two accumulators", "c4", 3),
        _dropped("a contributor may follow the propagating routine", "10b", 2),
        _dropped("nothing need propagate what is contributed", "req", 1),
        _dropped("accumulating again needs no reset", "cnt", 1),
        _dropped("any allowance will do", "allowance", 1),
        _dropped("two routines may own one fragment", "own", 3),
        _dropped("a zeroing may follow the last accumulator", "late", 2),
    ),
)  # fmt: skip

THEOREMS = (T3,)
