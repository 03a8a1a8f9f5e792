"""The door's order is total: whatever is wrong with a call, one answer is given, and it is the first in A3's order.

A door makes its checks one after another: of each operand in turn whether it is dead, held exclusive or (written)
read-only; then, for each of the later answers in A3's order, of each operand whether that applies. Operands are counted
written ones first. A *fault* is a check that applies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import z3

from counterfoil_spec.answers import DOOR_ORDER, Answer
from counterfoil_spec.theorems.induction import (
    Formula,
    Induction,
    Lemma,
    Obligation,
    Step,
    Symbols,
    Term,
    Theorem,
    Twin,
    conjunction,
    symbols,
    within,
)

CLAIM_ANSWERS = DOOR_ORDER[:3]
"""Dead_buffer, Held_exclusive, Read_only: asked operand by operand."""
LOST = "Lost"
"""No answer but an exception: memory that a lost device owns or must finish. It comes where answers 1 to 5 are done."""
STAGES: tuple[Answer | str, ...] = (*DOOR_ORDER[3:7], LOST, *DOOR_ORDER[7:])
"""The later outcomes, each asked of all operands before the next. What concerns the whole call: of the first."""

# --- the first fault of any list of checks ----------------------------------------------------------------------------


def _first(answered: Formula, answer: Term, applies: Formula, position: Term) -> tuple[Formula, Term]:
    """A run of the checks: the first one that applies is kept."""
    return z3.Or(answered, applies), z3.If(z3.And(z3.Not(answered), applies), position, answer)


def _check(given: Symbols, state: Symbols, axis: Symbols) -> dict[str, Term]:
    position = state.checks
    answered, answer = _first(state.answered, state.answer, axis.applies, position)
    without = z3.And(axis.applies, position != given.removed)
    again, next_answer = _first(state.again, state.next, without, position)
    tracks = z3.And(axis.track, axis.applies)
    passes = z3.And(axis.pass_by, z3.Not(axis.applies))
    return {
        "checks": position + 1,
        "answered": answered,
        "answer": answer,
        "again": again,
        "next": next_answer,
        "tracking": z3.Or(state.tracking, tracks),
        "fault": z3.If(tracks, position, state.fault),
        "passing": z3.Or(state.passing, passes),
        "sound": z3.If(passes, position, state.sound),
    }


def _answers_first(given: Symbols, state: Symbols) -> Formula:
    """What is known of the answer, of the answer once ``removed`` is no fault, and of one arbitrary fault."""
    remaining = z3.And(state.tracking, state.fault != given.removed)
    return z3.And(
        z3.Implies(state.answered, within(state.answer, state.checks)),
        z3.Implies(state.tracking, z3.And(state.answered, state.answer <= state.fault, state.fault < state.checks)),
        z3.Implies(state.passing, within(state.sound, state.checks)),
        z3.Implies(z3.And(state.answered, state.passing), state.answer != state.sound),
        z3.Implies(state.again, z3.And(state.answered, state.answer <= state.next, state.next < state.checks)),
        z3.Implies(state.again, state.next != given.removed),
        z3.Implies(remaining, z3.And(state.again, state.next <= state.fault)),
    )


def _claimed(given: Symbols, state: Symbols) -> Formula:
    remaining = z3.And(state.tracking, state.fault != state.answer)
    then = z3.And(state.answered, given.removed == state.answer)
    return z3.And(
        z3.Implies(state.tracking, z3.And(state.answered, state.answer <= state.fault)),
        z3.Implies(z3.And(state.answered, state.passing), state.answer != state.sound),
        z3.Implies(z3.And(then, state.again), state.answer < state.next),
        z3.Implies(z3.And(then, remaining), z3.And(state.again, state.next <= state.fault)),
    )


FIRST_FAULT = Induction(
    "the first fault",
    given="removed",
    state="checks answered? answer again? next tracking? fault passing? sound",
    start=lambda g: {
        "checks": z3.IntVal(0),
        **dict.fromkeys(("answered", "again", "tracking", "passing"), z3.BoolVal(False)),
    },
    steps=(
        Step(
            "a check",
            "applies? track? pass_by?",
            facts=lambda g, q, a: [],
            advance=_check,
            case=lambda g, q, a: [a.applies, q.answered, q.tracking, q.passing],
        ),
    ),
    invariant=lambda g, q: z3.And(q.checks >= 0, _answers_first(g, q)),
    claim=_claimed,
    direct=((), (0,), (0, 0), (0, 0, 0)),
)


def _keeping_last(given: Symbols, state: Symbols, axis: Symbols) -> dict[str, Term]:
    kept = z3.If(axis.applies, state.checks, state.answer)
    return {**_check(given, state, axis), "answer": kept}


_LAST_FAULT = replace(FIRST_FAULT, steps=(replace(FIRST_FAULT.steps[0], advance=_keeping_last),))

FIRST = Theorem(
    "door/first-fault",
    "For every list of checks exactly one outcome is given: Done if no check applies, else the first that does; "
    "with that fault removed the outcome is the next fault of the list, so faults are answered in order until "
    "Done.",
    """One check is added at a time. One arbitrary fault and one arbitrary check that does not apply are followed
    (an axis' booleans track and pass_by choose them), and a second run leaves out one check, `removed`. The
    invariant: the answer comes no later than the followed fault and is not the check that does not apply; the
    second run's answer is never the one left out, comes no earlier than the first, and no later than any followed
    fault other than that. With removed = the answer this is the claim: the next answer is later and nothing lies
    between. The step is propositional with an order on positions; so by induction it holds for any number of
    checks, hence of operands.""",
    ("door/order", "door/done"),
    FIRST_FAULT.obligations(),
    (Twin("each fault found replaces the one before", _LAST_FAULT.unrolled(0, 0)),),
)

# --- A3's order is that of a list -------------------------------------------------------------------------------------


def _precedes(stage: Term, operand: Term, claim: Term, stage2: Term, operand2: Term, claim2: Term) -> Formula:
    """A3's order of two faults: by stage, then operand, then (in stage 0) dead, exclusive, read-only."""
    later_claim = z3.And(operand == operand2, claim < claim2)
    return z3.Or(stage < stage2, z3.And(stage == stage2, z3.Or(operand < operand2, later_claim)))


def _fault(stage: Term, operand: Term, claim: Term, operands: Term) -> Formula:
    claims = z3.If(stage == 0, within(claim, z3.IntVal(len(CLAIM_ANSWERS))), claim == 0)
    return z3.And(within(stage, z3.IntVal(1 + len(STAGES))), within(operand, operands), claims)


def _position(stage: Term, operand: Term, claim: Term, operands: Term) -> Term:
    """The place of a check in the list for a call of that many operands."""
    claims = len(CLAIM_ANSWERS)
    # One product per stage, each by a constant: z3 sees a linear term.
    later = z3.Sum([z3.If(stage > k, operands, 0) for k in range(1, 1 + len(STAGES))])
    return z3.If(stage == 0, claims * operand + claim, claims * operands + later + operand)


LINEAR = Lemma(
    "A3's order is the order of places in the list, so of two different faults one comes first",
    "operands stage operand claim stage2 operand2 claim2",
    hypotheses=lambda m: [
        _fault(m.stage, m.operand, m.claim, m.operands),
        _fault(m.stage2, m.operand2, m.claim2, m.operands),
    ],
    goal=lambda m: conjunction(
        [
            (_position(m.stage, m.operand, m.claim, m.operands) < _position(m.stage2, m.operand2, m.claim2, m.operands))
            == _precedes(m.stage, m.operand, m.claim, m.stage2, m.operand2, m.claim2),
            (
                _position(m.stage, m.operand, m.claim, m.operands)
                == _position(m.stage2, m.operand2, m.claim2, m.operands)
            )
            == z3.And(m.stage == m.stage2, m.operand == m.operand2, m.claim == m.claim2),
        ]
    ),
    case=lambda m: [m.operands > 2, m.stage == 0, m.stage2 > 1, m.operand > m.operand2],
)
_OPERANDS_INTERLEAVED = replace(
    LINEAR,
    goal=lambda m: (
        (_position(m.stage, m.operand, m.claim, m.operands) == _position(m.stage2, m.operand2, m.claim2, m.operands))
        == z3.And(m.operand == m.operand2, m.claim == m.claim2)
    ),
)
DEAD_FIRST = Lemma(
    "nothing else that is wrong with an operand comes before its being dead",
    "operands operand stage claim",
    hypotheses=lambda m: [_fault(m.stage, m.operand, m.claim, m.operands), z3.Or(m.stage != 0, m.claim != 0)],
    goal=lambda m: _precedes(z3.IntVal(0), m.operand, z3.IntVal(0), m.stage, m.operand, m.claim),
    case=lambda m: [m.stage > 2, m.operands > 2],
)


def _code(outcome: Answer | str) -> int:
    """The answer's code; Lost gets the number after them."""
    return int(outcome) if isinstance(outcome, Answer) else len(Answer)


def _name(outcome: Answer | str) -> str:
    return outcome.name.lower() if isinstance(outcome, Answer) else outcome.lower()


@dataclass(frozen=True)
class Call:
    """What is wrong with a call of a few operands: one boolean for each check there is."""

    claims: tuple[tuple[Formula, ...], ...]
    stages: tuple[tuple[Formula, ...], ...]

    @staticmethod
    def of(operands: int) -> Call:
        """Unknown faults of a call with that many operands."""
        claims = [[z3.Bool(f"{_name(answer)}{k}") for answer in CLAIM_ANSWERS] for k in range(operands)]
        stages = [[z3.Bool(f"{_name(answer)}{k}") for k in range(operands)] for answer in STAGES]
        return Call(tuple(map(tuple, claims)), tuple(map(tuple, stages)))


def as_loops(call: Call) -> Term:
    """The answer's code, as a door's loops compute it: operand by operand, then stage by stage."""
    outcome: Term = z3.IntVal(_code(Answer.DONE))
    for answer, faults in reversed(list(zip(STAGES, call.stages, strict=True))):
        outcome = z3.If(z3.Or(*faults), _code(answer), outcome)
    for faults in reversed(call.claims):
        for answer, fault in reversed(list(zip(CLAIM_ANSWERS, faults, strict=True))):
            outcome = z3.If(fault, _code(answer), outcome)
    return outcome


def class_by_class(call: Call) -> Term:
    """A mistaken door: all operands are asked whether they are dead before any is asked anything else."""
    outcome = as_loops(replace(call, claims=()))
    for kind, answer in reversed(list(enumerate(CLAIM_ANSWERS))):
        outcome = z3.If(z3.Or(*(faults[kind] for faults in call.claims)), _code(answer), outcome)
    return outcome


def _least_fault(operands: int, door: Callable[[Call], Term]) -> Obligation:
    """A door's loops give the answer of the fault whose place is least, for every set of faults."""
    call, least = Call.of(operands), symbols("place").place
    checks = [
        (z3.IntVal(0), k, c, answer, call.claims[k][c])
        for k in range(operands)
        for c, answer in enumerate(CLAIM_ANSWERS)
    ] + [
        (z3.IntVal(1 + j), k, 0, answer, call.stages[j][k]) for k in range(operands) for j, answer in enumerate(STAGES)
    ]
    count = z3.IntVal(operands)
    placed = [(z3.simplify(_position(s, z3.IntVal(k), z3.IntVal(c), count)), a, f) for s, k, c, a, f in checks]
    is_least = [z3.Or(*(z3.And(fault, least == place) for place, _, fault in placed))]
    is_least += [z3.Implies(fault, least <= place) for place, _, fault in placed]
    answers = [z3.Implies(least == place, door(call) == _code(answer)) for place, answer, _ in placed]
    case = (call.claims[-1][0], call.claims[0][1], call.stages[0][0])
    return Obligation(f"a door's loops, {operands} operands", tuple(is_least), conjunction(answers), case)


def _no_fault(operands: int) -> Obligation:
    """Without a fault a door's loops answer Done, and only then."""
    call = Call.of(operands)
    faults = [fault for group in (*call.claims, *call.stages) for fault in group]
    done = (as_loops(call) == _code(Answer.DONE)) == z3.Not(z3.Or(*faults))
    return Obligation(f"Done means no fault, {operands} operands", (), done)


TOTAL = Theorem(
    "door/order-total",
    "A3's order puts every two different faults of a call one before the other, for any number of operands; the "
    "loops that check operand by operand, then stage by stage, give the first in it; a dead operand is never "
    "answered as anything later about that operand.",
    """The number of operands is an unknown of LINEAR: each fault has a place in the list of checks, places are
    equal only for one fault, and places and A3's lexicographic order agree. So the order is total for any number of
    operands, and by door/first-fault (an induction over that list) the first fault is the answer. DEAD_FIRST is the
    case of one operand's own faults. For 1 to 3 operands the loops themselves, written out over one boolean for
    each check, are compared with the least place, over every set of faults.""",
    ("door/order", "door/dead-buffer"),
    (
        LINEAR.obligation(),
        DEAD_FIRST.obligation(),
        *(_least_fault(operands, as_loops) for operands in (1, 2, 3)),
        *(_no_fault(operands) for operands in (1, 2, 3)),
    ),
    (
        Twin("all operands are asked whether they are dead first", _least_fault(2, class_by_class)),
        Twin("two faults of one operand are told apart by their answer alone", _OPERANDS_INTERLEAVED.obligation()),
    ),
)

THEOREMS = (FIRST, TOTAL)
