"""Known differences cannot go stale: a changed, a vanished or a new one fails the run."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import counterfoil_reference
from counterfoil_oracles import cli
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.targets import fakes, inprocess, known
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.known import Known
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.reports.text import render
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A check of a fake that differs by one rule."""
    return checked(tmp_path_factory.mktemp("kept"))


def checked(keep: Path, expected: dict[tuple[str, str | None], frozenset[str] | None] | None = None) -> Report:
    def opened() -> inprocess.Direct:
        return inprocess.Direct(fakes.reach_forgiven())

    selection = Selection(seconds=600, steps=3000)
    campaign = Campaign(counterfoil_reference, opened, selection, Profile(), Mapper(), keep, expected)
    return campaign.run(shipped())


def test_what_is_known_does_not_fail(report: Report) -> None:
    """The entries written from a report let the same report pass."""
    assert not known.judge(report, known.updated(report, []), whole=True).fails


def test_what_is_new_fails(report: Report) -> None:
    """A finding without an entry is new."""
    verdicts = known.judge(report, [], whole=True)
    assert verdicts.fails
    assert [found.finding.rule for found in verdicts.new] == ["arrays/past-the-end"]


def test_an_entry_never_met_fails_a_whole_check(report: Report) -> None:
    """It is stale; a partial check says nothing of it."""
    entries = [*known.updated(report, []), Known("kernel add: accepted", "door/overlapping", "x", "y")]
    assert known.judge(report, entries, whole=True).stale == entries[-1:]
    assert not known.judge(report, entries, whole=False).fails


@pytest.mark.parametrize(("chapter", "stale"), [("door", 1), ("claims", 0)])
def test_an_entry_never_met_fails_a_check_of_its_chapter(report: Report, chapter: str, stale: int) -> None:
    """A check of another chapter does not look for it."""
    entry = Known("kernel add: accepted", "door/overlapping", "x", "y")
    selection = Selection(frozenset({chapter}))
    assert len(known.judge(report, [entry], whole=True, selection=selection).stale) == stale


def test_an_entry_of_the_same_call_that_parts_otherwise_is_changed(report: Report) -> None:
    """Neither a new difference nor one that was never met: what was known is another now."""
    [entry] = known.updated(report, [])
    other = replace(entry, case=f"{entry.case.partition(': ')[0]}: other-rule", outcome="refused by another rule")
    verdicts = known.judge(report, [other], whole=True)
    assert [each for each, _ in verdicts.changed] == [other]
    assert (verdicts.new, verdicts.stale) == ([], [])


def test_other_operands_are_another_difference(report: Report) -> None:
    """What was met with operands that the entry does not list is told, and fails."""
    [entry] = known.updated(report, [])
    assert entry.operands is not None and len(entry.operands) > 1
    less = replace(entry, operands=entry.operands[1:])
    verdicts = known.judge(report, [less], whole=True)
    assert verdicts.fails and [each for each, _ in verdicts.wider] == [less]
    assert f"MET WITH OTHER OPERANDS {entry.case} ({entry.rule}): {entry.operands[0]}" in render(report, verdicts)


def test_the_trace_of_a_difference_has_the_operands_nobody_knew(tmp_path: Path) -> None:
    """A check that is told what is known keeps the program of the first that is not."""
    first = checked(tmp_path)
    [(key, found)] = first.found.items()
    again = checked(tmp_path, {key: frozenset({found.finding.operands})})
    assert again.found[key].finding.operands in first.operands[key] - {found.finding.operands}


def test_operands_no_longer_met_fail_a_check_that_repeats(report: Report) -> None:
    """Bounded by steps it does the same work on every machine; bounded by a clock it does not."""
    [entry] = known.updated(report, [])
    more = replace(entry, operands=(*(entry.operands or ()), "float8"))
    for repeats, stale in ((True, [replace(entry, operands=("float8",))]), (False, [])):
        bounded = replace(report, is_repeatable=repeats)
        assert known.judge(bounded, [more], whole=True).stale == stale


def test_an_entry_that_fails_otherwise_fails(report: Report) -> None:
    """The outcome is part of what is known."""
    [entry] = known.updated(report, [])
    other = Known(entry.case, entry.rule, "refused what is accepted", entry.reason)
    assert [each for each, _ in known.judge(report, [other], whole=True).changed] == [other]


def test_updating_keeps_reasons(report: Report) -> None:
    """What somebody explained stays explained."""
    [entry] = known.updated(report, [])
    explained = Known(entry.case, entry.rule, entry.outcome, "views may reach further here")
    assert known.updated(report, [explained]) == [explained]


LOST = Known("kernel add: accepted", "door/overlapping", "x", "somebody wrote this")


@pytest.mark.parametrize(
    ("selection", "drops", "kept"),
    [(Selection(), True, False), (Selection(), False, True), (Selection(frozenset({"claims"})), True, True)],
    ids=["whole", "ended by a clock", "of another chapter"],
)
def test_a_reason_is_left_out_only_where_it_was_looked_for(
    report: Report, selection: Selection, drops: bool, kept: bool
) -> None:
    """By a check that went through all its steps."""
    assert (LOST in known.updated(report, [LOST], selection, drops)) is kept


def test_a_broken_check_rewrites_nothing(tmp_path: Path) -> None:
    """However little it met before it broke."""
    known.write(tmp_path / "known.toml", [LOST], "hostile")
    before = (tmp_path / "known.toml").read_bytes()
    words = ["check", "--known", str(tmp_path / "known.toml"), "--update-known", "--keep", str(tmp_path / "kept")]
    hostile = Path(__file__).with_name("hostile.py")
    assert cli.main([*words, "--reply-seconds", "60", "--", sys.executable, str(hostile), "dies"]) == 3
    assert (tmp_path / "known.toml").read_bytes() == before


def test_words_of_a_reason_stay_what_they_are(tmp_path: Path) -> None:
    """Whatever somebody writes there can be read again."""
    entry = replace(LOST, reason='a "quoted" \\ \x7f and 😀\nin two lines')
    known.write(tmp_path / "known.toml", [entry], "fake")
    assert known.read(tmp_path / "known.toml") == [entry]


def test_a_file_is_read_as_it_was_written(report: Report, tmp_path: Path) -> None:
    """Writing and reading agree, and the file is TOML."""
    entries = known.updated(report, [])
    known.write(tmp_path / "known.toml", entries, "fake")
    assert known.read(tmp_path / "known.toml") == entries
    assert tomllib.loads((tmp_path / "known.toml").read_text())["known"]


ENTRY = "[[known]]\ncase = 'x'\noutcome = 'y'\nreason = 'z'\n"


@pytest.mark.parametrize(
    "text",
    ["not toml [", "[[known]]\ncase = 'x'", "[[known]]\n" * 2, f"{ENTRY}operands = [1]", f"{ENTRY}color = 'red'"],
)
def test_a_file_that_is_none_breaks_the_harness(tmp_path: Path, text: str) -> None:
    """It is never read as a file without entries."""
    (tmp_path / "known.toml").write_text(text)
    with pytest.raises(HarnessError):
        known.read(tmp_path / "known.toml")
