"""Accepted and wrong: each hypothesis has a history that needs it, in the model and as a trace for both halves."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterfoil_oracles.histories import clauses, model, named
from counterfoil_oracles.histories.encoding import lineage_of
from counterfoil_oracles.histories.named import NAMED, TRACES, Named
from counterfoil_spec.commands import Refused, encode_trace

TESTS = Path(__file__).parent.parent
ROOM = TESTS / "traces" / "gradients"
PAGE = TESTS.parent / "docs" / "gradients.md"


@pytest.mark.parametrize("each", NAMED, ids=lambda each: each.name)
def test_it_is_accepted_and_wrong(each: Named) -> None:
    """No rule refuses any step of it, and the sum at the end is the one told, not the one meant."""
    script = each.script()
    assert not [step for step in script.steps if isinstance(step.outcome, Refused)]
    assert script.value(each.read) == each.holds != each.meant


def test_a_rollback_that_forgot_would_count_twice() -> None:
    """What C5 prevents: one routine's increment is in the buffer twice since its reset; as C5 has it, it is refused."""
    forgetful = named.rollback_that_forgets()
    assert not model.accounted(forgetful.history)
    assert sum(forgetful.history.bags[model.W].values()) == 2
    *_, run, _ = named.FORGOTTEN.script().steps
    assert isinstance(run.outcome, Refused) and run.outcome.rule == "gradients/without-reset"


@pytest.mark.parametrize("each", TRACES, ids=lambda each: each.name)
def test_its_trace_is_written_down(each: Named) -> None:
    """The file that both halves are run on is the history the model predicts."""
    assert (ROOM / each.file).read_bytes() == encode_trace(each.trace())


def test_no_trace_is_left_over() -> None:
    """Every file of the room is one of the named histories."""
    assert {path.name for path in ROOM.iterdir()} == {each.file for each in TRACES}


@pytest.mark.parametrize("each", TRACES, ids=lambda each: each.name)
def test_users_are_told(each: Named) -> None:
    """docs/gradients.md names it, and shows its routines."""
    (line,) = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {each.name} |")] or [
        PAGE.read_text()
    ]
    assert each.name in line
    assert all(f"{routine}" in line for routine in model.routines(each.lineage))


def test_the_witnesses_are_told() -> None:
    """docs/gradients.md shows the shortest witness of each needed clause."""
    page = PAGE.read_text()
    for clause in clauses.NEEDED:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {clause} |")]
        found = clauses.verdict((clause,), 3).witnesses
        assert any(" ".join(map(str, lineage_of(witness.codes))) in row for witness in found)
