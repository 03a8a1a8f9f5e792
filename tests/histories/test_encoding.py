"""The explorer's tables and states say what the reference's rule functions and the model's bags say."""

from __future__ import annotations

import itertools

import pytest

from counterfoil_oracles.histories import encoding, explorer, model, tables, walking
from counterfoil_oracles.histories.encoding import COUNTS, DOUBLED, EXECUTED, Codes, lineage_of
from counterfoil_reference import history

ONCE = encoding.alphabet(1)
TWICE = encoding.alphabet(2)
ACCEPTED = [codes for length in (1, 2, 3) for codes in explorer.lineages(length, 2)]
"""Every lineage of up to three routines that compiles, with allowances 1 and 2."""


def every(length: int) -> list[Codes]:
    """Every lineage of that length, accepted or not."""
    return list(itertools.product(ONCE, repeat=length))


@pytest.mark.parametrize(("length", "letters"), [(1, TWICE), (2, TWICE), (3, ONCE)])
def test_the_tables_of_compile_are_the_references(length: int, letters: list[int]) -> None:
    """Clause by clause, on every lineage of up to three routines, whether what comes before compiles or not.

    Of two with allowances too, which no rule of compile looks at: the tables are asked once for both.
    """
    for codes in itertools.product(letters, repeat=length):
        *before, last = codes
        path = model.entries(lineage_of(tuple(before)))
        assert set(model.compile_faults(encoding.decode(last), path)) == tables.compile_faults(last, tuple(before))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_tables_of_dependencies_are_the_frontiers(length: int) -> None:
    """Each routine waits for those the reference's frontier names, on every lineage of up to three routines."""
    for codes in every(length):
        root = model.of_lineage(lineage_of(codes))
        found = tables.dependencies(codes)
        assert [sum(1 << at for at in each) for each in root.dependencies] == list(found), codes


def executed_in(codes: Codes, state: int) -> set[int]:
    """What was executed in that state."""
    return {at for at in range(len(codes)) if state >> EXECUTED + at & 1}


def counts_in(codes: Codes, state: int) -> dict[tuple[int, object], int]:
    """The counts in that state, as the reference keeps them."""
    found = {}
    for at in range(len(codes)):
        counts = state >> COUNTS + 4 * at & 15
        found |= {(at, model.H): counts & 3, (at, model.W): counts >> 2}
    return {key: count for key, count in found.items() if count}


def told_apart(counts: history.Counts) -> dict[object, int]:
    """Counts as far as a state tells them apart."""
    return {key: min(count, 3) for key, count in counts.items()}


def test_the_tables_of_runs_are_the_references() -> None:
    """In every state that is ever reached, on every lineage of up to three routines, each run is refused by the tables
    iff a rule function of the reference refuses it, and makes of the counts what the reference's history does."""
    asked = 0
    for codes in ACCEPTED:
        root, along = model.of_lineage(lineage_of(codes)), tables.moves(codes)
        for state in explorer.reachable(codes).states:
            root.executed, root.counts = executed_in(codes, state), counts_in(codes, state)
            for number, move in enumerate(along):
                refused = bool(root.run_faults(number, len(codes) - 1))
                assert move.refused(state) is refused, (codes, state, number)
                after = DOUBLED if refused else move.after(state)
                if after != DOUBLED:
                    assert executed_in(codes, after) == root.executed | {number}
                    counts = history.counted(root.entry(number), root.counts, lambda node: node)
                    assert counts_in(codes, after) == told_apart(counts), (codes, state, number)
                asked += 1
    assert asked > 80_000


def test_an_outside_write_ends_the_counts_of_its_buffer() -> None:
    """In every state that is ever reached, on every lineage of up to two routines, as the reference has it."""
    for codes in (codes for codes in ACCEPTED if len(codes) < 3):
        for state in explorer.reachable(codes).states:
            for at, gradient in enumerate(model.GRADIENTS):
                after = tables.extern(state, at)
                assert counts_in(codes, after) == dict(history.reset(counts_in(codes, state), gradient)), (codes, state)
                assert executed_in(codes, after) == executed_in(codes, state)


@pytest.mark.parametrize(("length", "events"), [(1, 5), (2, 3)])
def test_the_encoded_states_are_the_models(length: int, events: int) -> None:
    """Along every history the encoding keeps exactly the kinds of tokens the bags hold, and sees each doubling."""
    for codes in explorer.lineages(length, 2):
        for root, state, words in walking.walk(codes, events):
            once = all(map(model.once, root.bags.values()))
            assert (state == DOUBLED) is not once, (codes, words)
            assert state == DOUBLED or walking.kinds(root) == state & 7, (codes, words)


def test_a_dropped_rule_refuses_nothing() -> None:
    """Without a clause, the runs that the tables still refuse are those that another clause refuses."""
    for codes, dropped in itertools.product(explorer.lineages(2, 1), ("req", "dep", "cnt")):
        root = model.of_lineage(lineage_of(codes))
        for state in explorer.reachable(codes, {dropped}).states:
            root.executed, root.counts = executed_in(codes, state), counts_in(codes, state)
            for number, move in enumerate(tables.moves(codes, frozenset({dropped}))):
                assert move.refused(state) is bool(set(root.run_faults(number, 1)) - {dropped}), (codes, state, dropped)


def test_delivery_is_judged_as_the_bags_are() -> None:
    """Exactly the contributions of a cycle: the encoding's verdict is the bags', on accepted lineages of two."""
    for codes in explorer.lineages(2, 1):
        for root, state, words in walking.walk(codes, 2):
            if state == DOUBLED:
                continue
            after = root.copy()
            started = after.events
            for number in (0, 1):
                after.run(number)
            new = {
                gradient: [token for token in bag.elements() if token[1] >= started]
                for gradient, bag in after.bags.items()
            }
            exact = {
                g: sorted(new[g]) == sorted(after.bags[g].elements()) == sorted(meant(codes, started, g)) for g in new
            }
            assert explorer.delivered(codes, (0, 1), state & 7) == (exact[model.H], exact[model.W]), (codes, words)


def meant(codes: Codes, started: int, gradient: object) -> list[model.Token]:
    """The tokens that a cycle in compile order should leave in the gradient."""
    into_h = [(n, started + n, "H") for n, code in enumerate(codes) if code & encoding.AH]
    into_w = [(n, started + n, "W") for n, code in enumerate(codes) if code & encoding.AW]
    return into_h if gradient is model.H else into_h + into_w


def test_routines_are_written_and_read() -> None:
    """A routine's text is read back, and its code decoded, as the routine."""
    for code in TWICE:
        routine = encoding.decode(code)
        assert model.routines(str(routine)) == (routine,)
        assert encoding.encode(routine) == code
