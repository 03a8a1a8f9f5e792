"""What a theorem is made of: obligations for z3, lemmas that later obligations quote, and induction over axes.

A claim "for every rank" is never unrolled into ranks. It is an :class:`Induction`: a list of axes (or operands) is
consumed one at a time by a state of a few numbers, and z3 is asked three questions about *arbitrary* states:

- base: the invariant holds of the state before the first axis;
- step: from any state with the invariant, any axis that meets its facts leads to a state with the invariant;
- conclusion: any state with the invariant meets the claim.

Induction on the length of the list then gives the claim for every list, of whatever length and contents; that
principle is the one thing z3 is not asked. Two more obligations guard the encoding itself:

- chain: the *same formulas* as above, instantiated along a list of a few axes, imply the claim, with an unknown in
  place of every product, so that nothing but those instances can carry what depends on multiplication;
- direct: for a few short lists the claim follows from the definition of the state alone, with no invariant at all.

Numbers are z3's unbounded integers. A question about machine integers is put as a question about their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeAlias

import z3

Formula: TypeAlias = z3.BoolRef
Term: TypeAlias = z3.ExprRef


class Symbols(SimpleNamespace):
    """Named z3 terms, read as attributes."""


def symbols(names: str, suffix: str = "") -> Symbols:
    """Fresh unknowns: integers, or booleans for the names that end in ``?`` (the attribute has no ``?``)."""
    unknowns = {}
    for name in names.split():
        plain = name.rstrip("?")
        unknowns[plain] = z3.Bool(plain + suffix) if name.endswith("?") else z3.Int(plain + suffix)
    return Symbols(**unknowns)


def names_of(names: str) -> list[str]:
    """The names in a list of unknowns, without the marks of booleans."""
    return [name.rstrip("?") for name in names.split()]


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """All of the formulas; true for none."""
    return z3.And(*formulas)


def least(value: Term) -> Term:
    """``min(value, 0)``."""
    return z3.If(value < 0, value, 0)


def greatest(value: Term) -> Term:
    """``max(value, 0)``."""
    return z3.If(value > 0, value, 0)


def magnitude(value: Term) -> Term:
    """``abs(value)``."""
    return z3.If(value < 0, -value, value)


def within(value: Term, end: Term) -> Formula:
    """``0 <= value < end``."""
    return z3.And(value >= 0, value < end)


def is_quotient(quotient: Term, dividend: Term, divisor: Term) -> Formula:
    """``quotient == floor(dividend / divisor)`` for a positive divisor, said without dividing.

    z3 reasons poorly about division by an unknown; the two inequalities determine the same number.
    """
    return z3.And(quotient * divisor <= dividend, dividend < quotient * divisor + divisor)


def without_products(formulas: Sequence[Formula]) -> list[Formula]:
    """The formulas with every product of unknowns replaced by an unknown of its own, equal ones by the same.

    What follows from the result follows from the formulas, and nothing about multiplication was used.
    """
    products: dict[int, tuple[Term, Term]] = {}
    pending, seen = list(formulas), set()
    while pending:
        term = pending.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        pending += term.children()
        if z3.is_mul(term) and sum(not z3.is_int_value(factor) for factor in term.children()) > 1:
            products[term.get_id()] = (term, z3.Int(f"product {len(products)}"))
    return [z3.substitute(formula, *products.values()) for formula in formulas]


@dataclass(frozen=True)
class Obligation:
    """One question: do the hypotheses imply the goal?

    ``case`` narrows the check that the hypotheses can hold at all to a case of interest (an extent above 1, a
    negative stride), so that a proof is not vacuous there either. ``inputs`` names the unknowns that determine the
    others, which is what a counterexample shows; all of them if it is empty.
    """

    name: str
    hypotheses: tuple[Formula, ...]
    goal: Formula
    case: tuple[Formula, ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quotation:
    """A lemma at particular terms: what another proof may assume, and what must be proved with it."""

    lemma: Lemma
    formula: Formula


@dataclass(frozen=True)
class Lemma:
    """A statement about arbitrary integers: an obligation once, then an implication wherever it is quoted."""

    name: str
    unknowns: str
    hypotheses: Callable[[Symbols], Sequence[Formula]]
    goal: Callable[[Symbols], Formula]
    quotes: Callable[[Symbols], Sequence[Quotation]] = lambda unknowns: ()
    case: Callable[[Symbols], Sequence[Formula]] = lambda unknowns: ()

    def obligation(self) -> Obligation:
        """The lemma itself, to be proved, from its hypotheses and the instances it quotes."""
        own = symbols(self.unknowns)
        premises = (*self.hypotheses(own), *(quotation.formula for quotation in self.quotes(own)))
        return Obligation(self.name, premises, self.goal(own), tuple(self.case(own)))

    def obligations(self) -> tuple[Obligation, ...]:
        """The lemmas quoted, then the lemma."""
        return (*quoted_lemmas(self.quotes(symbols(self.unknowns))), self.obligation())

    def at(self, **terms: Term) -> Quotation:
        """The lemma's instance at those terms: the same functions, so a changed lemma changes its quotations."""
        assert set(terms) == set(names_of(self.unknowns)), f"{self.name} is quoted with {sorted(terms)}"
        given = Symbols(**terms)
        return Quotation(self, z3.Implies(conjunction(self.hypotheses(given)), self.goal(given)))


def quoted_lemmas(quotations: Iterable[Quotation]) -> tuple[Obligation, ...]:
    """What must be proved for those quotations to hold, each lemma once."""
    lemmas = {quotation.lemma.name: quotation.lemma for quotation in quotations}
    return tuple(obligation for lemma in lemmas.values() for obligation in lemma.obligations())


@dataclass(frozen=True)
class Step:
    """One kind of axis: its unknowns, what is known of it, and how it moves the state.

    The callbacks take the globally given terms, the state before, and the axis. ``quotes`` are instances of lemmas
    that the step's proof may use; they are hypotheses of the step only, and their lemmas become obligations beside it.
    """

    name: str
    unknowns: str
    facts: Callable[[Symbols, Symbols, Symbols], Sequence[Formula]]
    advance: Callable[[Symbols, Symbols, Symbols], Mapping[str, Term]]
    quotes: Callable[[Symbols, Symbols, Symbols], Sequence[Quotation]] = lambda given, state, axis: ()
    case: Callable[[Symbols, Symbols, Symbols], Sequence[Formula]] = lambda given, state, axis: ()

    def moves(self, given: Symbols, before: Symbols, axis: Symbols, after: Symbols) -> Formula:
        """``after`` is the state that the axis makes of ``before``; names not mentioned keep their value."""
        changed = {**vars(before), **self.advance(given, before, axis)}
        return conjunction(getattr(after, name) == value for name, value in changed.items())


@dataclass(frozen=True)
class Induction:
    """A claim about every list of axes, each of one of the kinds in ``steps``, in any order and number.

    ``chain`` and ``direct`` name the lists, by kinds, for which the two guards of the encoding are asked (every kind
    thrice, and none, one and two axes of the first kind, unless told otherwise).
    """

    name: str
    state: str
    start: Callable[[Symbols], Mapping[str, Term]]
    steps: tuple[Step, ...]
    invariant: Callable[[Symbols, Symbols], Formula]
    claim: Callable[[Symbols, Symbols], Formula]
    given: str = ""
    assuming: Callable[[Symbols], Sequence[Formula]] = lambda given: ()
    chain: tuple[int, ...] = ()
    direct: tuple[tuple[int, ...], ...] = ((), (0,), (0, 0))

    def __post_init__(self) -> None:
        """No two unknowns may be one: a state and an axis sharing a name would silently be assumed equal."""
        for step in self.steps:
            names = [*names_of(self.given), *names_of(self.state), *names_of(step.unknowns)]
            assert len(set(names)) == len(names), f"{self.name}: {step.name} shares a name: {names}"
            assert not any(name[-1].isdigit() or name[-1] == "'" for name in names), f"{self.name}: {names}"

    def obligations(self) -> tuple[Obligation, ...]:
        """The lemmas quoted, base, a step for each kind of axis, conclusion, chain, and the direct checks."""
        given, state = symbols(self.given), symbols(self.state)
        quotations = [q for step in self.steps for q in step.quotes(given, state, symbols(step.unknowns))]
        chain = [self.steps[kind] for kind in self.chain] or [*self.steps, *self.steps, *self.steps]
        return (
            *quoted_lemmas(quotations),
            self._base(),
            *map(self._step, self.steps),
            self._conclusion(),
            self._chain(chain),
            *(self.unrolled(*kinds) for kinds in self.direct),
        )

    # The three formulas of the induction. Obligations refute their negations; the chain quotes them as they stand.

    def _begins(self, given: Symbols, state: Symbols) -> Formula:
        begun = conjunction(getattr(state, name) == value for name, value in self.start(given).items())
        return conjunction([*self.assuming(given), begun])

    def _base_holds(self, given: Symbols, state: Symbols) -> Formula:
        return z3.Implies(self._begins(given, state), self.invariant(given, state))

    def _step_premises(
        self, step: Step, given: Symbols, before: Symbols, axis: Symbols, after: Symbols
    ) -> list[Formula]:
        moves = step.moves(given, before, axis, after)
        return [*self.assuming(given), self.invariant(given, before), *step.facts(given, before, axis), moves]

    def _step_holds(self, step: Step, given: Symbols, before: Symbols, axis: Symbols, after: Symbols) -> Formula:
        premises = self._step_premises(step, given, before, axis, after)
        return z3.Implies(conjunction(premises), self.invariant(given, after))

    def _conclusion_holds(self, given: Symbols, state: Symbols) -> Formula:
        return z3.Implies(conjunction([*self.assuming(given), self.invariant(given, state)]), self.claim(given, state))

    # The obligations.

    def _base(self) -> Obligation:
        given, state = symbols(self.given), symbols(self.state)
        return Obligation(f"{self.name}: base", (self._begins(given, state),), self._base_holds(given, state))

    def _step(self, step: Step) -> Obligation:
        given, axis = symbols(self.given), symbols(step.unknowns)
        before, after = symbols(self.state), symbols(self.state, "'")
        premises = self._step_premises(step, given, before, axis, after)
        quotes = [quotation.formula for quotation in step.quotes(given, before, axis)]
        goal = self._step_holds(step, given, before, axis, after)
        case = tuple(step.case(given, before, axis))
        return Obligation(f"{self.name}: step, {step.name}", (*premises, *quotes), goal, case)

    def _conclusion(self) -> Obligation:
        given, state = symbols(self.given), symbols(self.state)
        premises = (*self.assuming(given), self.invariant(given, state))
        return Obligation(f"{self.name}: conclusion", premises, self._conclusion_holds(given, state))

    def _chain(self, steps: Sequence[Step]) -> Obligation:
        given, states, axes = self._list_of(steps)
        along = list(zip(steps, states, axes, states[1:], strict=False))
        quoted = [self._base_holds(given, states[0])]
        quoted += [self._step_holds(step, given, before, axis, after) for step, before, axis, after in along]
        quoted += [self._conclusion_holds(given, states[-1])]
        premises = self._definitions(steps, given, states, axes)
        *hypotheses, goal = without_products([*premises, *quoted, self.claim(given, states[-1])])
        return Obligation(f"{self.name}: chain", tuple(hypotheses), goal)

    def unrolled(self, *kinds: int) -> Obligation:
        """The claim for one short list, axis k being of kind ``steps[kinds[k]]``, from the definitions alone.

        Unknowns are numbered: the extent ``n`` of axis 0 is ``n0``, the state before it ``lo0``, after it ``lo1``.
        """
        steps = [self.steps[kind] for kind in kinds]
        given, states, axes = self._list_of(steps)
        premises = self._definitions(steps, given, states, axes)
        inputs = names_of(self.given) + [f"{name}{k}" for k, s in enumerate(steps) for name in names_of(s.unknowns)]
        name = f"{self.name}: direct, {len(steps)} axes"
        return Obligation(name, premises, self.claim(given, states[-1]), inputs=tuple(inputs))

    def _list_of(self, steps: Sequence[Step]) -> tuple[Symbols, list[Symbols], list[Symbols]]:
        states = [symbols(self.state, str(k)) for k in range(len(steps) + 1)]
        return symbols(self.given), states, [symbols(step.unknowns, str(k)) for k, step in enumerate(steps)]

    def _definitions(
        self, steps: Sequence[Step], given: Symbols, states: Sequence[Symbols], axes: Sequence[Symbols]
    ) -> tuple[Formula, ...]:
        formulas = [self._begins(given, states[0])]
        for step, before, axis, after in zip(steps, states, axes, states[1:], strict=False):
            formulas += [*step.facts(given, before, axis), step.moves(given, before, axis, after)]
        return tuple(formulas)


@dataclass(frozen=True)
class Twin:
    """A plausible mistake, and the statement it would make true; z3 must answer with a concrete counterexample."""

    mistake: str
    obligation: Obligation


@dataclass(frozen=True)
class Theorem:
    """A statement in words, the rules that rest on it, its argument, and what z3 is asked.

    ``argument`` says what the invariant is, which obligation is the step, and why that covers every rank.
    """

    id: str
    statement: str
    argument: str
    supports: tuple[str, ...]
    obligations: tuple[Obligation, ...]
    twins: tuple[Twin, ...]
