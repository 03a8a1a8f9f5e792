"""The theorems on every small lineage, and what each clause, hypothesis and condition is needed for.

`counterfoil histories --long` asks the same of lineages of four routines, in .ci/run.
"""

from __future__ import annotations

import functools
import itertools
import re

import pytest

from counterfoil_oracles.histories import clauses, discipline, encoding, explorer, model, named, price, report, tables
from counterfoil_oracles.histories.encoding import Codes, encode, lineage_of

SHORT = [codes for length in (1, 2, 3) for codes in explorer.lineages(length, 2)]


def codes_of(text: str) -> Codes:
    """The codes of a lineage written out."""
    return tuple(map(encode, model.routines(text)))


def test_the_books_agree_with_the_buffers() -> None:
    """T1: after every history each gradient is base plus increments, of each routine at most its allowance."""
    histories, wrong = report.walked(2, 3)
    assert histories > 20_000 and wrong == 0


def test_nothing_is_counted_twice_and_everything_is_delivered() -> None:
    """T2 and T3, on every lineage of up to three routines with allowances 1 and 2, from every state, any history."""
    found = report.explore(3, 2)
    assert found.lineages > 3_500
    assert found.doubled == [] and found.undelivered == []


def test_reaching_is_walking() -> None:
    """The states found once each are those that histories of as many events as there are states lead to."""
    for codes in SHORT[:: len(SHORT) // 60]:
        every = explorer.reachable(codes)
        if not every.doubled:
            assert set(explorer.reachable(codes, (), len(every.states)).states) == set(every.states)
            assert all(_leads_to(codes, every.history_to(state), state) for state in every.states)


def _leads_to(codes: Codes, words: list[explorer.Word], goal: int) -> bool:
    state, along = encoding.START, tables.moves(codes)
    for word in words:
        state = dict(explorer.successors(along, state))[word]
    return state == goal


@pytest.mark.parametrize(
    ("holds", "theorem"),
    [
        (explorer.propagates_safely, clauses.NO_DOUBLE),
        (explorer.resets_stay_ahead, clauses.DELIVERY),
        (explorer.allowances_are_spent, clauses.DELIVERY),
    ],
    ids=["propagates safely", "resets stay ahead", "allowances are spent"],
)
def test_each_hypothesis_is_needed(holds: object, theorem: str) -> None:
    """Some accepted lineage that meets all hypotheses but that one breaks the theorem."""
    hypotheses = [explorer.propagates_safely, explorer.resets_stay_ahead, explorer.allowances_are_spent]
    others = [each for each in hypotheses if each is not holds]
    unmet = [codes for codes in SHORT if not holds(codes) and all(each(codes) for each in others)]  # type: ignore[operator]
    reached = {codes: explorer.reachable(codes) for codes in unmet}
    if theorem == clauses.NO_DOUBLE:
        assert any(found.doubled for found in reached.values())
    else:
        assert any(explorer.undelivered(codes, found.states) is not None for codes, found in reached.items())


# --- clauses ---------------------------------------------------------------------------------------------------------


@functools.cache
def verdicts() -> dict[tuple[str, ...], clauses.Verdict]:
    """Each verdict by what was dropped."""
    return {verdict.dropped: verdict for verdict in clauses.verdicts(3)}


@pytest.mark.parametrize("clause", model.CLAUSES)
def test_each_clause_has_its_verdict(clause: str) -> None:
    """A needed clause has a witness that breaks the theorem needing it; without another no small lineage breaks any."""
    verdict = verdicts()[clause,]
    broken = [witness.broken for witness in verdict.witnesses]
    assert clauses.NEEDED[clause] in broken if clause in clauses.NEEDED else verdict.redundant
    assert verdict.lineages > 1_500


def test_the_redundant_clauses_are_redundant_together() -> None:
    """c2, c3 and dependencies dropped at once break nothing: none of them stands in for another."""
    assert verdicts()["c2", "c3", "dep"].redundant


@pytest.mark.parametrize("dropped", clauses.NEEDED)
def test_a_witness_is_what_it_says(dropped: str) -> None:
    """Replayed in the model, it is refused by that clause alone, and its bags break the theorem it names."""
    for witness in verdicts()[dropped,].witnesses:
        path = lineage_of(witness.codes)
        assert model.compiles(path, {dropped})
        root, tip = model.of_lineage(path), len(path) - 1
        cycle = range(len(path)) if witness.broken == clauses.DELIVERY else ()
        refusals = set() if model.compiles(path) else {dropped}
        for word in [*witness.history, *cycle]:
            if isinstance(word, int):
                refusals |= set(root.run_faults(word, tip))
                root.run(word)
            else:
                root.extern(model.H if word == "H" else model.W)
        assert refusals == {dropped}
        if witness.broken == clauses.NO_DOUBLE:
            assert not all(map(model.once, root.bags.values()))
        else:
            assert not exact(path, root, root.events - len(path))


def exact(path: model.Lineage, root: model.History, first: int) -> bool:
    """Whether the gradients hold exactly what a cycle in compile order, from that event on, contributed."""
    into_h = dict.fromkeys(((n, first + n, "H") for n, routine in enumerate(path) if routine.aH), 1)
    into_w = dict.fromkeys(((n, first + n, "W") for n, routine in enumerate(path) if routine.aW), 1)
    return dict(root.bags[model.H]) == into_h and dict(root.bags[model.W]) == into_h | into_w


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        ("c1", "[zW] [aW] [zW aW]"), ("c4", "[aW] [zW] [aW]"), ("10b", "[P] [aH]"), ("req", "[aH]"), ("cnt", "[aW]"),
    ],
)  # fmt: skip
def test_the_known_witnesses_are_witnesses(clause: str, text: str) -> None:
    """Each breaks delivery once its clause is dropped."""
    found = list(clauses.witnesses(codes_of(text), {clause}))
    assert model.compiles(model.routines(text), {clause})
    assert clauses.DELIVERY in [witness.broken for witness in found]
    assert model.compiles(model.routines(text)) is (clause in ("req", "cnt"))


# --- the price -------------------------------------------------------------------------------------------------------


def test_the_price_is_refused_and_right() -> None:
    """Each lineage of the price is refused by the reference at its last routine, and its first cycle is exact."""
    paid = list(price.price(3))
    assert len(paid) > 500
    for each in paid:
        path = lineage_of(each.codes)
        faults = model.compile_faults(path[-1], model.entries(path[:-1]))
        assert set(faults) == each.clauses and model.compiles(path[:-1])
        root = model.of_lineage(path)
        for number in range(len(path)):
            root.run(number)
        assert exact(path, root, 0), str(each)


def test_the_smallest_prices() -> None:
    """Two accumulators without a zeroing, right once; and a zeroing accumulator before another, right for ever."""
    smallest = next(iter(price.price(2)))
    assert str(smallest) == "[aW] [aW], once each"
    repeating = next(each for each in price.price(2) if each.repeats)
    assert str(repeating) == "[zW aW] [aW]"


# --- any order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3])
def test_an_orderly_cycle_is_exact(length: int) -> None:
    """From every state, whatever the routines, each gradient reset holds exactly what was contributed."""
    orderly = [
        codes
        for codes in discipline.cycles(encoding.alphabet(1), length)
        if not discipline.breaches(codes, range(length))
    ]
    assert len(orderly) > 5
    assert list(discipline.wrong(length)) == []


@pytest.mark.parametrize("condition", discipline.CONDITIONS)
def test_each_condition_of_the_discipline_is_needed(condition: str) -> None:
    """With that condition alone left out some cycle of up to three runs is not exact."""
    assert any(True for length in (1, 2, 3) for _ in discipline.wrong(length, condition))


def test_the_discipline_without_its_reset_is_refuted_by_an_accepted_history() -> None:
    """Resets before contributions, but one left out in a cycle: accepted, and the last cycle's is in the sum."""
    codes = codes_of("[zW] [aW] [aW]")
    state, along = encoding.START, tables.moves(codes)
    for number in (0, 1):
        state = along[number].after(state)
    assert not along[2].refused(state)
    assert discipline.breaches(codes, [2]) == {"reset"}
    assert explorer.delivered(codes, [2], state & 7) == (True, False)


def test_an_omitted_routine_is_absent() -> None:
    """Any subset of the contributors, in any order between the resets and the propagation, and the sum is theirs."""
    codes = codes_of("[zH zW] [aH] [aH aW] [P] [aW]")
    assert model.compiles(lineage_of(codes))
    for chosen in itertools.chain.from_iterable(itertools.permutations((1, 2), n) for n in (0, 1, 2)):
        for order in ((0, *chosen, 3), (0, *chosen, 3, 4), (0, 4, *chosen, 3)):
            assert discipline.breaches(codes, order) == set()
            assert all(explorer.delivers(codes, order, kinds) for kinds in range(8))


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_prints_what_it_found(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`counterfoil histories` says how far it went, each clause's verdict, the price, and the named traces."""
    smaller = report.Size(routines=2, clauses=3, price=2, walked=1, events=3, cycle=3, counted=1)
    monkeypatch.setattr(report, "SHORT", smaller)
    assert report.main([]) == 0
    out = capsys.readouterr().out
    assert re.search(r"T2, T3: \d{3} lineages of up to 2 routines, \d{4} states", out)
    assert all(f"without {clause}: " in out for clause in model.CLAUSES)
    assert all(each.name in out for each in named.NAMED)
