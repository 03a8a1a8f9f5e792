"""The formulas z3 proves speak of the model: evaluated on lineages written out they say what the model says."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import z3

from counterfoil_oracles.histories import discipline, encoding, explorer
from counterfoil_oracles.histories.encoding import Codes
from counterfoil_spec.theorems import any_order, delivery
from counterfoil_spec.theorems.induction import Induction, Symbols

FLAGS = {"zh": encoding.ZH, "ah": encoding.AH, "p": encoding.P, "zw": encoding.ZW, "aw": encoding.AW}
ONCE = encoding.alphabet(1)
PAIRS = list(itertools.product(ONCE, repeat=2))
TRIPLES = list(itertools.product(ONCE, repeat=3))
UNNEEDED = {"c2", "c3", "dep"}


def axis(code: int, mine: bool, old_owner: bool) -> Symbols:
    """A routine as the encodings have it; the old token's owner is the routine, for each gradient it adds to."""
    flags = {name: z3.BoolVal(bool(code & bit)) for name, bit in FLAGS.items()}
    puts = {f"put_{'hw'[gradient]}": z3.BoolVal(old_owner and encoding.adds(code, gradient)) for gradient in (0, 1)}
    return Symbols(**flags, **puts, mine=z3.BoolVal(mine))


def given_terms(into_h: bool, was_h: bool, was_w: bool) -> Symbols:
    flags = {"into_h": into_h, "was_h": was_h, "was_w": was_w, "single_h": True, "single_w": True}
    return Symbols(**{name: z3.BoolVal(value) for name, value in flags.items()})


def states(induction: Induction, given: Symbols, routines: Sequence[Symbols]) -> list[Symbols]:
    """The states along the routines, as the induction defines them."""
    (step,) = induction.steps
    found = [Symbols(**induction.start(given))]
    for routine in routines:
        moved = {name: z3.simplify(term) for name, term in step.advance(given, found[-1], routine).items()}
        found.append(Symbols(**{**vars(found[-1]), **moved}))
    return found


def true(formula: z3.BoolRef) -> bool:
    return z3.is_true(z3.simplify(formula))


def test_the_encoded_rules_are_the_compile_refusals() -> None:
    """A path meets the encoding's rules iff it compiles with the clauses that the proof does not use left out.

    On evenly spread lineages of two and three routines, as everywhere in this file.
    """
    for codes in (*PAIRS[::4], *TRIPLES[::211]):
        routines = [axis(code, False, False) for code in codes]
        along = states(delivery.DELIVERY, given_terms(True, False, False), routines)
        met = [delivery.rules_met(state, routine) for state, routine in zip(along, routines, strict=False)]
        encoded = all(true(formula) for rules in met for formulas in rules.values() for formula in formulas)
        faults = set().union(*(encoding.compile_faults(code, codes[:at]) for at, code in enumerate(codes)))
        assert encoded is (faults <= UNNEEDED), codes


def test_the_encoded_hypothesis_is_the_explorers() -> None:
    """late_h or late_w at the end, iff some zeroing-only routine follows the last accumulator."""
    for codes in PAIRS[::3]:
        *_, last = states(
            delivery.DELIVERY, given_terms(True, False, False), [axis(code, False, False) for code in codes]
        )
        if encoding.compile_faults(codes[1], codes[:1]) <= UNNEEDED:
            assert true(z3.Or(last.late_h, last.late_w)) is not explorer.resets_stay_ahead(codes), codes


def exact(induction: Induction, codes: Codes, kinds: int) -> tuple[bool, bool]:
    """Whether the encodings of every token of a cycle, old and new, say that H, and W, holds exactly the new ones."""
    in_h, in_w = [True], [True]
    old = [(bool(kinds & bits[0]), bool(kinds & bits[1])) for bits in ((1, 0), (0, 2), (4, 4))]
    for was_h, was_w in [each for each in old if any(each)]:
        *_, last = states(induction, given_terms(True, was_h, was_w), [axis(code, False, False) for code in codes])
        in_h.append(not true(last.old_h))
        in_w.append(not true(z3.Or(last.old_w, last.revived)))
    contributions = [(at, into_h) for at, code in enumerate(codes) for into_h in (True, False)
                     if code & (encoding.AH if into_h else encoding.AW)]  # fmt: skip
    for mine, into_h in contributions:
        routines = [axis(code, at == mine, False) for at, code in enumerate(codes)]
        *_, last = states(induction, given_terms(into_h, False, False), routines)
        in_h.append(true(last.new_h == int(into_h)))
        in_w.append(true(last.new_w == 1))
    return all(in_h), all(in_w)


def test_the_encoded_tokens_are_the_explorers() -> None:
    """After a cycle the encodings of delivery and of the discipline hold exactly the tokens the explorer's do."""
    for number, codes in enumerate(PAIRS[::7]):
        kinds = number % 8
        found = explorer.delivered(codes, range(2), kinds)
        assert exact(delivery.DELIVERY, codes, kinds) == found, (codes, kinds)
        assert exact(any_order.ANY_ORDER, codes, kinds) == found, (codes, kinds)


def test_the_encoded_discipline_is_the_explorers() -> None:
    """A cycle meets the encoding's conditions iff the explorer finds no breach of them."""
    (step,) = any_order.ANY_ORDER.steps
    given = given_terms(True, False, False)
    for codes in list(discipline.cycles(ONCE, 2))[::3]:
        routines = [axis(code, False, False) for code in codes]
        along = states(any_order.ANY_ORDER, given, routines)
        met = all(
            true(formula)
            for state, routine in zip(along, routines, strict=False)
            for formula in step.facts(given, state, routine)
        )
        assert met is (discipline.breaches(codes, range(2)) <= {"propagated"}), codes
