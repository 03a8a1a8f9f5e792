"""The explorer's encoding says what the reference's rule functions and the model's bags say."""

from __future__ import annotations

import itertools

import pytest

from counterfoil_oracles.histories import encoding, explorer, model, walking
from counterfoil_oracles.histories.encoding import DOUBLED, Codes, lineage_of

ONCE = encoding.alphabet(1)
TWICE = encoding.alphabet(2)


def every(length: int) -> list[Codes]:
    """Every lineage of that length, accepted or not."""
    return list(itertools.product(ONCE, repeat=length))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_encoded_compile_refuses_as_the_reference_does(length: int) -> None:
    """Clause by clause, on every lineage of up to three routines, whether what comes before compiles or not."""
    for codes in every(length):
        *before, last = codes
        path = model.entries(lineage_of(tuple(before)))
        assert set(model.compile_faults(encoding.decode(last), path)) == encoding.compile_faults(last, before), codes


def test_the_encoded_dependencies_are_the_frontiers() -> None:
    """Each routine depends on those the reference's frontier names, on every lineage of up to three routines."""
    for codes in itertools.chain(every(1), every(2), every(3)[::7]):
        root = model.of_lineage(lineage_of(codes))
        found = encoding.dependencies(codes)
        assert [sum(1 << at for at in each) for each in root.dependencies] == list(found), codes


@pytest.mark.parametrize(("length", "events"), [(1, 5), (2, 3)])
def test_the_encoded_states_are_the_models(length: int, events: int) -> None:
    """Along every history the encoding keeps exactly the kinds of tokens the bags hold, and sees each doubling."""
    for codes in explorer.lineages(length, 2):
        for root, state, words in walking.walk(codes, events):
            once = all(map(model.once, root.bags.values()))
            assert (state == DOUBLED) is not once, (codes, words)
            assert state == DOUBLED or walking.kinds(root) == state & 7, (codes, words)


@pytest.mark.parametrize("length", [1, 2])
def test_the_encoded_runs_are_refused_as_the_reference_does(length: int) -> None:
    """After every short history the events the encoding goes on with are those no rule function refuses."""
    for codes in explorer.lineages(length, 2):
        along = encoding.moves(codes) if encoding.required(codes) else explorer._runnable(codes)
        for root, state, words in walking.walk(codes, 2):
            if state == DOUBLED:
                continue
            accepted = {word for word, _ in explorer.successors(along, state, ())} - {"H", "W"}
            runnable = {n for n in range(length) if not root.run_faults(n, length - 1)}
            assert accepted == runnable, (codes, words)


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
