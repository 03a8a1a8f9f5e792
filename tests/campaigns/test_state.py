"""What outlives a driver: the journal, the plan read from it, and the failing traces."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from counterfoil_oracles.campaigns.planning import Plan
from counterfoil_oracles.campaigns.stores import Failures, FileJournal, MemoryJournal
from counterfoil_oracles.campaigns.units import Result, size_of
from counterfoil_oracles.environment import HarnessError

CASE = ("kernel add: accepted", "door/overlapping")
STREAMS = ("arrays", "contexts")


@given(st.lists(st.sampled_from(["hand out", "answer", "break", "restart"]), max_size=60))
def test_every_program_runs_once_however_often_the_driver_starts(moves: list[str]) -> None:
    """Whatever happens in between, a plan driven to its end has each program of each stream answered exactly once."""
    journal, answered = MemoryJournal(), []
    plan, out = Plan(journal, STREAMS, 5, 40, with_vectors=True), []

    def answer(broken: str | None = None) -> None:
        unit = out.pop(0)
        plan.settle(unit.number, Result(programs=unit.programs, seconds=0.9 * unit.programs, broken=broken))
        if broken is None:
            answered.extend((unit.stream, seed) for seed in range(unit.first, unit.first + unit.programs))

    for move in [*moves, "restart"]:
        if move == "restart":
            plan, out = Plan(journal, STREAMS, 5, 40, with_vectors=True), []
        elif move == "hand out":
            unit = plan.next()
            out += [] if unit is None else [unit]
        elif out:
            answer("it hung" if move == "break" else None)
    while (unit := plan.next()) is not None or out:
        out += [] if unit is None else [unit]
        answer()
    assert sorted(answered) == [(stream, seed) for stream in STREAMS for seed in range(5, 45)]


def test_vectors_come_once_with_the_first_unit_of_a_stream() -> None:
    """Also after a restart that found the unit unanswered: then with the same unit."""
    journal = MemoryJournal()
    first = Plan(journal, ["all"], 0, 100, with_vectors=True).next()
    plan = Plan(journal, ["all"], 0, 100, with_vectors=True)
    again, second = plan.next(), plan.next()
    assert first is not None and second is not None
    assert again == first and first.vectors and not second.vectors


def test_a_line_cut_short_was_never_written(tmp_path: Path) -> None:
    """The journal drops it, and goes on after the last whole line."""
    path = tmp_path / "campaign.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b"')
    journal = FileJournal(path)
    journal.append(b'{"c": 3}')
    assert list(journal.lines()) == [b'{"a": 1}', b'{"c": 3}']
    journal.close()


def test_a_campaign_has_one_driver_at_a_time(tmp_path: Path) -> None:
    """A second one is told so, and the first one's end lets it in."""
    first = FileJournal(tmp_path / "campaign.jsonl")
    with pytest.raises(HarnessError, match="another driver"):
        FileJournal(tmp_path / "campaign.jsonl")
    first.close()
    FileJournal(tmp_path / "campaign.jsonl").close()


@given(st.lists(st.binary(), min_size=1))
def test_the_shortest_trace_of_a_case_is_kept_alone(traces: list[bytes]) -> None:
    """Whatever the order, one trace is left: the fewest commands, then the fewest bytes."""
    failures = Failures(InMemoryExampleDatabase(), "target")
    for trace in traces:
        failures.keep(CASE, trace)
    assert failures.known() == [(CASE, min(traces, key=size_of))]


def test_a_healed_trace_leaves_nothing_behind() -> None:
    """Neither the trace nor its case, and no other target's."""
    examples = InMemoryExampleDatabase()
    mine, other = Failures(examples, "mine"), Failures(examples, "other")
    for failures in (mine, other):
        failures.keep(CASE, b"trace\n")
    mine.heal(CASE, b"trace\n")
    assert mine.known() == [] and other.known() == [(CASE, b"trace\n")]
