"""The theorems behind the rules are proved, their twins refuted, and the machinery that says so can fail.

The last part evaluates the encodings on small layouts, where enumeration knows the answer: a proof about formulas that
do not mean what their names say would be worth nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

import counterfoil_spec
from counterfoil_oracles import prove
from counterfoil_oracles.prove import Verdict
from counterfoil_spec.rules import registry
from counterfoil_spec.theorems import (
    THEOREMS,
    Induction,
    Obligation,
    Theorem,
    Twin,
    any_order,
    bitcast,
    bounds,
    delivery,
    distinct,
    door,
    histories,
    moves,
    overlap,
    placement,
    ranges,
    reshape,
    spans,
)
from counterfoil_spec.theorems.induction import Symbols, symbols

SUBJECTS = (
    spans, moves, reshape, distinct, bitcast, bounds, ranges, placement, overlap, door, histories, delivery, any_order
)  # fmt: skip
QUESTIONS = [obligation for theorem in THEOREMS for obligation in theorem.obligations]


def inductions() -> list[Induction]:
    """Every induction that some theorem rests on (twins are variants of these, and come after them)."""
    asked = {obligation.name for obligation in QUESTIONS}
    found: dict[str, Induction] = {}
    for value in (value for subject in SUBJECTS for value in vars(subject).values()):
        if isinstance(value, Induction) and f"{value.name}: base" in asked:
            found.setdefault(value.name, value)
    return list(found.values())


INDUCTIONS = inductions()

# --- proved and refuted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.id)
def test_theorem_is_proved(theorem: Theorem) -> None:
    """Each obligation is proved, and its hypotheses can hold."""
    found = prove.prove(theorem)
    assert found.verdict is Verdict.PROVED, found.detail


@pytest.mark.parametrize(
    "twin", [twin for theorem in THEOREMS for twin in theorem.twins], ids=lambda twin: twin.mistake
)
def test_twin_is_refuted(twin: Twin) -> None:
    """Each plausible mistake has a concrete counterexample."""
    found = prove.refute(twin.obligation)
    assert found.verdict is Verdict.COUNTEREXAMPLE, found.detail
    assert re.search(r"\w+=", found.detail), "a counterexample names values"


def test_every_theorem_has_words_a_twin_and_rules() -> None:
    """Ids differ; each theorem has a statement, an argument, at least one twin, and supports rules there are."""
    assert len({theorem.id for theorem in THEOREMS}) == len(THEOREMS)
    for theorem in THEOREMS:
        assert theorem.statement.endswith(".") and theorem.argument.endswith("."), theorem.id
        assert theorem.obligations and theorem.twins, theorem.id
        assert theorem.supports and set(theorem.supports) <= set(registry()), theorem.id


def test_only_the_theorems_need_z3() -> None:
    """No other module of the words imports z3, or the theorems."""
    room = Path(counterfoil_spec.__file__).parent
    imports = re.compile(r"^\s*(?:import|from)\s+(?:z3|counterfoil_spec\.theorems)\b", re.MULTILINE)
    outside = [path for path in room.rglob("*.py") if "theorems" not in path.parts]
    assert len(outside) > 5
    assert [str(path) for path in outside if imports.search(path.read_text())] == []


# --- an induction rests on its parts ---------------------------------------------------------------------------------


def named(induction: Induction, part: str) -> list[Obligation]:
    """The induction's obligations of that name."""
    return [o for o in induction.obligations() if o.name.startswith(f"{induction.name}: {part}")]


@pytest.mark.parametrize("induction", INDUCTIONS, ids=lambda induction: induction.name)
def test_an_invariant_that_says_nothing_proves_nothing(induction: Induction) -> None:
    """Without its invariant the conclusion has a counterexample."""
    idle = replace(induction, invariant=lambda given, state: z3.BoolVal(True))
    (conclusion,) = named(idle, "conclusion")
    assert prove.refute(conclusion).verdict is Verdict.COUNTEREXAMPLE


@pytest.mark.parametrize("induction", INDUCTIONS, ids=lambda induction: induction.name)
def test_an_invariant_that_is_false_is_not_begun(induction: Induction) -> None:
    """An invariant no state meets would make step and conclusion hold of nothing: the base refuses it."""
    absurd = replace(induction, invariant=lambda given, state: z3.BoolVal(False))
    (base,) = named(absurd, "base")
    assert prove.refute(base).verdict is Verdict.COUNTEREXAMPLE


@pytest.mark.parametrize(
    "induction", [spans.SOUND, distinct.NESTED, reshape._NUMBERS], ids=lambda induction: induction.name
)
def test_the_chain_rests_on_every_step_quoted(induction: Induction) -> None:
    """Where every step multiplies, leaving out any one of the quoted steps leaves the chain unproved."""
    (chain,) = named(induction, "chain")
    lengths = len(induction.chain) or 3 * len(induction.steps)
    quoted = range(len(chain.hypotheses) - 1 - lengths, len(chain.hypotheses) - 1)
    for position in quoted:
        without = replace(chain, hypotheses=chain.hypotheses[:position] + chain.hypotheses[position + 1 :])
        assert prove.refute(without).verdict is not Verdict.PROVED, position


def test_a_changed_lemma_breaks_the_theorem_that_quotes_it() -> None:
    """A lemma weakened to nothing leaves its step unproved by it; one made too strong is itself refuted."""
    too_strong = replace(spans.AXIS_REACH, goal=lambda a: a.i * a.s <= 0)
    (step,) = spans.SOUND.steps
    broken = replace(spans.SOUND, steps=(replace(step, quotes=lambda g, q, a: [too_strong.at(n=a.n, s=a.s, i=a.i)]),))
    theorem = replace(spans.SPAN_SOUND, obligations=broken.obligations())
    found = prove.prove(theorem)
    assert found.verdict is Verdict.COUNTEREXAMPLE
    assert found.detail.startswith(too_strong.name)


def test_unknowns_that_share_a_name_are_refused() -> None:
    """A state and an axis with one name would be assumed equal, so such an induction cannot be written."""
    (step,) = spans.SOUND.steps
    with pytest.raises(AssertionError, match="shares a name"):
        replace(spans.SOUND, steps=(replace(step, unknowns="n s i lo"),))


# --- the verdicts can fail -------------------------------------------------------------------------------------------

CUBES = symbols("x y z")
OPEN = Obligation(
    "no cube is the sum of two",
    (CUBES.x > 0, CUBES.y > 0, CUBES.z > 0),
    CUBES.x * CUBES.x * CUBES.x + CUBES.y * CUBES.y * CUBES.y != CUBES.z * CUBES.z * CUBES.z,
)
FALSE = Obligation("everything is 7", (), CUBES.x == 7)
TRUE = Obligation("everything is itself", (), CUBES.x == CUBES.x)
EMPTY = Obligation("nothing is above and below", (CUBES.x > 1, CUBES.x < 1), CUBES.x == 7)


def theorem_of(obligation: Obligation, twin: Obligation) -> Theorem:
    return Theorem("a/b", "A statement.", "An argument.", ("layouts/span",), (obligation,), (Twin("a mistake", twin),))


@pytest.mark.parametrize(
    ("obligation", "verdict"),
    [(TRUE, "proved"), (FALSE, "counterexample"), (OPEN, "unknown"), (EMPTY, "unknown")],
    ids=["true", "false", "open", "vacuous"],
)
def test_each_verdict_is_given(
    obligation: Obligation, verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A theorem is proved only if it is; a vacuous or undecided one is unknown; all but proved fail the run."""
    monkeypatch.setattr(prove, "TIMEOUT_MS", 200)
    assert prove.run([theorem_of(obligation, FALSE)]) == (0 if verdict == "proved" else 1)
    first, *_ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"a/b +{verdict} +\d+\.\d\d s  .*", first)


@pytest.mark.parametrize("twin", [TRUE, OPEN], ids=["true", "open"])
def test_a_twin_that_stands_fails_the_run(twin: Obligation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin without a counterexample shows that the theorem excludes nothing."""
    monkeypatch.setattr(prove, "TIMEOUT_MS", 200)
    assert prove.run([theorem_of(TRUE, twin)]) == 1


def test_the_command_proves_what_it_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Ids and beginnings of ids choose; the last line counts theorems and twins; --list proves nothing."""
    chosen = [theorem for theorem in THEOREMS if theorem.id.startswith("door/")]
    twins = sum(len(theorem.twins) for theorem in chosen)
    assert prove.main(["door/", "--words"]) == 0
    out = capsys.readouterr().out
    assert re.fullmatch(rf"{len(chosen)} theorems proved, {twins} twins refuted, in \d+\.\d s", out.splitlines()[-1])
    assert chosen[0].statement[:40] in out
    assert prove.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(THEOREMS)
    with pytest.raises(SystemExit):
        prove.main(["no/such-theorem"])


# --- the encodings mean what they say --------------------------------------------------------------------------------

Axes = Sequence[Mapping[str, int | bool]]


def state_after(induction: Induction, axes: Axes, kinds: Sequence[int] | None = None, **given: int) -> Symbols:
    """The state that the induction's own definitions give for a list of axes, as Python numbers."""
    terms = Symbols(**{name: z3.IntVal(value) for name, value in given.items()})
    state = Symbols(**induction.start(terms))
    for axis, kind in zip(axes, kinds or [0] * len(axes), strict=True):
        values = Symbols(**{name: _term(value) for name, value in axis.items()})
        state = Symbols(**{**vars(state), **induction.steps[kind].advance(terms, state, values)})
    return Symbols(**{name: _number(value) for name, value in vars(state).items()})


def _term(value: int | bool) -> z3.ExprRef:
    return z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)


def _number(term: z3.ExprRef) -> int | bool:
    value = z3.simplify(term)
    return z3.is_true(value) if z3.is_bool(value) else value.as_long()


extents = st.integers(1, 4)
strides = st.integers(-7, 7)
layouts = st.lists(st.tuples(extents, strides), max_size=3)


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(extent) for extent in shape))


def position(strides: Sequence[int], index: Sequence[int], offset: int = 0) -> int:
    return offset + sum(i * s for i, s in zip(index, strides, strict=True))


@given(layouts, st.integers(-20, 20))
def test_the_encoded_span_is_the_span(axes: list[tuple[int, int]], offset: int) -> None:
    """lo and top of the encoding are the least and greatest position, found by enumeration."""
    shape, steps = [n for n, _ in axes], [s for _, s in axes]
    reached = [position(steps, index, offset) for index in indices(shape)]
    state = state_after(spans.TIGHT, [{"n": n, "s": s} for n, s in axes], offset=offset)
    assert (state.lo, state.top) == (min(reached), max(reached))


@given(layouts, st.data())
def test_the_encoded_nesting_is_about_positions(axes: list[tuple[int, int]], data: st.DataObject) -> None:
    """The encoding's difference is that of two positions, and same says whether the indices agree."""
    shape, steps = [n for n, _ in axes], [s for _, s in axes]
    first, second = (data.draw(st.sampled_from(list(indices(shape)))) for _ in range(2))
    both = [{"n": n, "s": s, "i": i, "j": j} for (n, s), i, j in zip(axes, first, second, strict=True)]
    state = state_after(distinct.NESTED, both)
    assert state.difference == position(steps, first) - position(steps, second)
    assert state.same == (first == second)
    assert state.inner == sum((n - 1) * abs(s) for n, s in axes)


@given(st.lists(extents, max_size=3))
def test_the_encoded_numbers_are_c_order(shape: list[int]) -> None:
    """The encoding numbers the indices 0, 1, 2 ... in C order."""
    for number, index in enumerate(indices(shape)):
        axes = [{"n": n, "i": i, "j": 0} for n, i in zip(shape, index, strict=True)]
        assert state_after(reshape._NUMBERS, axes).number == number


# Shape and strides of a source, and the strides and the offset that compacting gives it (arrays whose byte range is
# larger than one element per index; worked out by hand from the rule's words).
COMPACTED = [
    ((3, 2), (2, 2), (2, 1), 0),
    ((2, 3), (-6, 2), (-3, 1), 3),
    ((4,), (2,), (1,), 0),
    ((3,), (-2,), (-1,), 2),
    ((2, 2, 2), (4, 0, -4), (2, 0, -1), 1),
    ((2, 3), (10, 1), (3, 1), 0),
]


@pytest.mark.parametrize(("shape", "source", "target", "offset"), COMPACTED)
def test_the_encoded_places_are_those_of_compacted_strides(
    shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...], offset: int
) -> None:
    """The encoding puts every index where the compacted strides and offset put it."""
    order = sorted(range(len(shape)), key=lambda axis: -abs(source[axis]))
    kinds = [1 if source[axis] == 0 else 0 for axis in reversed(order)]
    for index in indices(shape):
        axes = [{"n": shape[k], "i": index[k], "j": 0, "negative": source[k] < 0} for k in reversed(order)]
        assert state_after(placement.COMPACTED, axes, kinds).place == position(target, index, offset)
