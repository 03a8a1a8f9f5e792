"""The formulas z3 proves speak of the model: evaluated on lineages written out they say what the tables say.

The tables are the reference's own answers (``tables``); every lineage of up to three routines is asked about. A formula
is built once, over unknowns, and evaluated on all lineages at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest
import z3

from counterfoil_oracles.histories import discipline, encoding, explorer, tables
from counterfoil_oracles.histories.encoding import Codes
from counterfoil_spec.theorems import any_order, delivery, histories
from counterfoil_spec.theorems.induction import Induction, Step, Symbols, names_of, symbols

Column = npt.NDArray[np.int64]
"""A value for each of the lineages that are asked about; booleans are 0 and 1."""

FLAGS = {"zh": encoding.ZH, "ah": encoding.AH, "p": encoding.P, "zw": encoding.ZW, "aw": encoding.AW}
ONCE = encoding.alphabet(1)
UNNEEDED = {"c2", "c3", "dep"}
LENGTHS = (1, 2, 3)

_OPERATORS: Final[dict[int, Callable[..., Column]]] = {
    z3.Z3_OP_AND: lambda *terms: np.minimum.reduce(terms),
    z3.Z3_OP_OR: lambda *terms: np.maximum.reduce(terms),
    z3.Z3_OP_NOT: lambda term: 1 - term,
    z3.Z3_OP_IMPLIES: lambda premise, goal: np.maximum(1 - premise, goal),
    z3.Z3_OP_ITE: lambda which, yes, no: np.where(which, yes, no),
    z3.Z3_OP_EQ: lambda left, right: (left == right).astype(np.int64),
    z3.Z3_OP_LE: lambda left, right: (left <= right).astype(np.int64),
    z3.Z3_OP_LT: lambda left, right: (left < right).astype(np.int64),
    z3.Z3_OP_GE: lambda left, right: (left >= right).astype(np.int64),
    z3.Z3_OP_ADD: lambda *terms: np.add.reduce(terms),
}


class Valuation:
    """The values of formulas, their unknowns being columns; each shared term is computed once."""

    def __init__(self, unknowns: Mapping[str, Column], rows: int) -> None:
        self._unknowns = unknowns
        self._constants = {True: np.ones(rows, np.int64), False: np.zeros(rows, np.int64)}
        self._known: dict[int, tuple[z3.ExprRef, Column]] = {}  # by z3's number, which is its own while it is held

    def of(self, term: z3.ExprRef) -> Column:
        """The column of a formula, or of a number."""
        if term.get_id() not in self._known:
            self._known[term.get_id()] = term, self._computed(term)
        return self._known[term.get_id()][1]

    def _computed(self, term: z3.ExprRef) -> Column:
        if z3.is_true(term) or z3.is_false(term):
            return self._constants[z3.is_true(term)]
        if z3.is_int_value(term):
            return self._constants[True] * term.as_long()
        if z3.is_const(term):
            return self._unknowns[term.decl().name()]
        return _OPERATORS[term.decl().kind()](*map(self.of, term.children()))


def holds(valuation: Valuation, formulas: Sequence[z3.BoolRef]) -> list[bool]:
    """For each lineage whether all formulas hold."""
    return [bool(met) for met in valuation.of(z3.And(*formulas))]


def lineages(length: int) -> list[Codes]:
    """Every lineage of that length, accepted or not."""
    return list(itertools.product(ONCE, repeat=length))


def along(induction: Induction, given: Symbols, length: int) -> tuple[list[Symbols], list[Symbols]]:
    """The routines of a path as unknowns, and the states along them as the induction defines them."""
    (step,) = induction.steps
    routines = [symbols(step.unknowns, str(at)) for at in range(length)]
    states = [Symbols(**induction.start(given))]
    for routine in routines:
        states.append(Symbols(**{**vars(states[-1]), **step.advance(given, states[-1], routine)}))
    return routines, states


def columns(step: Step, paths: Sequence[Codes], mine: int | None = None) -> dict[str, Column]:
    """The unknowns of the routines on those paths: what they do; which one contributed the new token; no old owner."""
    found = {}
    for at in range(len(paths[0])):
        codes = np.array([path[at] for path in paths])
        for name in names_of(step.unknowns):
            flag = FLAGS.get(name)
            value = codes & flag != 0 if flag else np.full(len(paths), name == "mine" and at == mine)
            found[f"{name}{at}"] = value.astype(np.int64)
    return found


def given_columns(rows: int, into_h: bool = True, was_h: bool = False, was_w: bool = False) -> dict[str, Column]:
    """What is given of the tokens: where the new one goes, where the old one was; allowances 1."""
    flags = {"into_h": into_h, "was_h": was_h, "was_w": was_w, "single_h": True, "single_w": True}
    return {name: np.full(rows, value, np.int64) for name, value in flags.items()}


def valuation(induction: Induction, paths: Sequence[Codes], mine: int | None = None, **given: bool) -> Valuation:
    """Formulas over those paths, the unknowns numbered as ``along`` numbers them."""
    (step,) = induction.steps
    return Valuation({**given_columns(len(paths), **given), **columns(step, paths, mine)}, len(paths))


@pytest.mark.parametrize("length", LENGTHS)
def test_the_encoded_rules_are_the_compile_refusals(length: int) -> None:
    """A path meets the encoding's rules iff it compiles with the clauses that the proof does not use left out."""
    given, paths = symbols(delivery.DELIVERY.given), lineages(length)
    routines, states = along(delivery.DELIVERY, given, length)
    rules = [delivery.rules_met(state, routine) for state, routine in zip(states, routines, strict=False)]
    formulas = [formula for each in rules for found in each.values() for formula in found]
    met = holds(valuation(delivery.DELIVERY, paths), formulas)
    for codes, encoded in zip(paths, met, strict=True):
        faults = set().union(*(tables.compile_faults(code, codes[:at]) for at, code in enumerate(codes)))
        assert encoded is (faults <= UNNEEDED), codes
    assert 0 < sum(met) < len(paths) or length == 1


@pytest.mark.parametrize("length", LENGTHS)
def test_the_encoded_hypothesis_is_the_explorers(length: int) -> None:
    """late_h or late_w at the end, iff some zeroing-only routine follows the last accumulator."""
    paths = lineages(length)
    _, (*_, last) = along(delivery.DELIVERY, symbols(delivery.DELIVERY.given), length)
    late = holds(valuation(delivery.DELIVERY, paths), [z3.Or(last.late_h, last.late_w)])
    assert late == [not explorer.resets_stay_ahead(codes) for codes in paths]


def exact(induction: Induction, paths: Sequence[Codes], kinds: int) -> list[tuple[bool, bool]]:
    """Whether the encodings of every token of a cycle, old and new, say that H, and W, holds exactly the new ones."""
    length = len(paths[0])
    _, (*_, last) = along(induction, symbols(induction.given), length)
    in_h = np.ones(len(paths), np.int64)
    in_w = np.ones(len(paths), np.int64)
    for bit, was_h, was_w in ((1, True, False), (2, False, True), (4, True, True)):
        if kinds & bit:
            old = valuation(induction, paths, was_h=was_h, was_w=was_w)
            in_h &= old.of(z3.Not(last.old_h))
            in_w &= old.of(z3.Not(z3.Or(last.old_w, last.revived)))
    for mine, into_h in itertools.product(range(length), (True, False)):
        flag = encoding.AH if into_h else encoding.AW
        absent = np.array([not codes[mine] & flag for codes in paths], np.int64)
        new = valuation(induction, paths, mine, into_h=into_h)
        in_h &= absent | new.of(last.new_h == int(into_h))
        in_w &= absent | new.of(last.new_w == 1)
    return [(bool(h), bool(w)) for h, w in zip(in_h, in_w, strict=True)]


@pytest.mark.parametrize("length", LENGTHS)
def test_the_encoded_tokens_are_the_explorers(length: int) -> None:
    """After a cycle, from whatever kinds of tokens there were, the encodings of delivery and of the discipline hold
    exactly the tokens the explorer's do."""
    paths = lineages(length)
    for kinds in range(8):
        found = [explorer.delivered(codes, range(length), kinds) for codes in paths]
        assert exact(delivery.DELIVERY, paths, kinds) == found
        assert exact(any_order.ANY_ORDER, paths, kinds) == found


@pytest.mark.parametrize("length", LENGTHS)
def test_the_encoded_discipline_is_the_explorers(length: int) -> None:
    """A cycle meets the encoding's conditions iff the explorer finds no breach of them."""
    (step,) = any_order.ANY_ORDER.steps
    given, cycles = symbols(any_order.ANY_ORDER.given), list(discipline.cycles(ONCE, length))
    runs, states = along(any_order.ANY_ORDER, given, length)
    facts = [formula for state, run in zip(states, runs, strict=False) for formula in step.facts(given, state, run)]
    met = holds(valuation(any_order.ANY_ORDER, cycles), facts)
    assert met == [discipline.breaches(codes, range(length)) <= {"propagated"} for codes in cycles]


# --- counts ----------------------------------------------------------------------------------------------------------

COUNTED = [(code, gradient, count) for code in encoding.alphabet(2) for gradient in (0, 1) for count in range(4)
           if encoding.adds(code, gradient)]  # fmt: skip
"""Each routine that adds to a gradient, with each count of it that a state tells apart."""


def packed(gradient: int, count: int) -> int:
    """A routine's counts with that one of that gradient, none of the other."""
    return count << 2 * gradient


def allowance(code: int, gradient: int) -> int:
    """Runs per reset."""
    return 2 if code & (encoding.KW2 if gradient else encoding.KH2) else 1


def true(formula: z3.BoolRef) -> bool:
    return z3.is_true(z3.simplify(formula))


def number(term: z3.ArithRef) -> int:
    return min(z3.simplify(term).as_long(), 3)


def test_the_counts_of_accounting_are_the_references() -> None:
    """T1's routine runs iff gradients/without-reset lets it, and is counted as the reference's history counts it."""
    adds, another, outside = histories.ACCOUNTING.steps
    for code, gradient, count in COUNTED:
        table = tables.counting(code)
        given = Symbols(zeroing=z3.BoolVal(encoding.zeroes(code, gradient)), allowance=allowance(code, gradient))
        state = Symbols(**dict.fromkeys(("value", "base", "sum", "runs"), z3.IntVal(0)), count=z3.IntVal(count))
        axis = Symbols(increment=z3.IntVal(1), zeroes=given.zeroing, given_value=z3.IntVal(0))
        own = packed(gradient, count)
        assert true(z3.And(*adds.facts(given, state, axis))) is not table.overdrawn[own], (code, gradient, count)
        for step, after in ((adds, table.after[own]), (another, table.others & own), (outside, 0)):
            assert number(step.advance(given, state, axis)["count"]) == after >> 2 * gradient & 3, (code, step.name)


def test_the_counts_of_the_propagating_routine_are_the_references() -> None:
    """T2's propagating routine runs iff gradients/without-reset, of W, lets it, and is counted likewise."""
    propagates, runs = histories.NO_DOUBLE.steps
    for code, gradient, count in COUNTED:
        if gradient == 0 or not code & encoding.P:
            continue
        flags = {name: z3.BoolVal(encoding.zeroes(code, at)) for at, name in enumerate(("p_zh", "p_zw"))}
        given = Symbols(into_h=z3.BoolVal(True), allowance=allowance(code, 1), **flags)
        state = Symbols(in_h=z3.IntVal(0), in_w=z3.IntVal(0), born=z3.BoolVal(False), count=z3.IntVal(count))
        axis = Symbols(mine=z3.BoolVal(False), zh=flags["p_zh"], zw=flags["p_zw"])
        table, own = tables.counting(code), packed(1, count)
        assert true(z3.And(*propagates.facts(given, state, axis))) is not table.overdrawn[own], (code, count)
        for step, after in ((propagates, table.after[own]), (runs, table.others & own)):
            assert number(step.advance(given, state, axis)["count"]) == after >> 2, (code, step.name)
