"""`counterfoil check TARGET`: exit codes, formats, known differences, and what is printed where."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles import cli
from counterfoil_oracles.check import Progress
from counterfoil_oracles.check import Report as CheckOfHalves
from counterfoil_oracles.targets import fakes, inprocess, known, ours
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.reports import FORMATS
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Identity, Profile, Refusal, TargetOutcome, TargetStep

HOSTILE = Path(__file__).with_name("hostile.py")
FAKES = "counterfoil_oracles.targets.fakes"
SOUND = "counterfoil_oracles.targets.ours:fast"
LAW, LAWLESS = "kernels/rounded-once", "last_bit"


def check(room: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "counterfoil_oracles.cli", "check", *arguments]
    return subprocess.run(command, cwd=room, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([SOUND, "--steps", "300"], 0),
        ([f"{FAKES}:reach_forgiven", "--steps", "300"], 1),
        ([SOUND, "--rule", "no/such-rule"], 2),
        ([SOUND, "--update-known"], 2),
        (["counterfoil_oracles.targets.fakes:no_such_fake"], 3),
        (["--reply-seconds", "2", "--", sys.executable, str(HOSTILE), "dies"], 3),
        ([f"{FAKES}:lazy", "--steps", "10"], 4),
        (["counterfoil_oracles.targets.libraries.numpy_:target", "--chapter", "claims", "--steps", "20"], 5),
    ],
)
def test_the_exit_code_says_what_came_of_it(tmp_path: Path, arguments: list[str], code: int) -> None:
    """0 conforms, 1 divergence, 2 usage, 3 harness broken, 4 nothing ran, 5 a required part skipped."""
    done = check(tmp_path, *arguments)
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--keep", "file/below"], ["--sarif", "file/below/x.sarif"], ["--known", "file"], ["--map", "file"],
        ["--profile", "file"], ["--known", "file/below/known.toml", "--update-known"], ["--time", "0"],
        ["--time", "nan"], ["--steps", "0"], ["--reply-seconds", "-1"], ["--memory-gib", "inf"],
        ["--rule", "door/allocates-nothing"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_mistakes_of_usage_are_told_before_anything_runs(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2: a place that cannot be written to, a file that is none, a number that makes no sense, a law that no
    vector is about alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("no [ TOML")
    monkeypatch.setattr(Campaign, "run", None)
    try:
        code = cli.main(["check", SOUND, "--in-process", *arguments])
    except SystemExit as exit:
        code = int(str(exit.code))
    assert code == 2


def test_vectors_that_are_none_are_a_mistake_of_usage(tmp_path: Path) -> None:
    """A directory without an index, say."""
    assert cli.main(["fixtures", str(tmp_path), "--check", SOUND, "--in-process", "--keep", str(tmp_path)]) == 2


@pytest.mark.parametrize(("target", "code"), [(SOUND, 0), (f"{FAKES}:lazy", 4), (f"{FAKES}:{LAWLESS}", 1)])
def test_a_law_is_checked_by_its_vectors(
    target: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It refuses nothing itself: what ran a vector about it whole passes, and whatever parts there fails."""
    words = ["--in-process", "--steps", "1", "--keep", str(tmp_path)]
    assert cli.main(["check", target, "--rule", LAW, *words]) == code, capsys.readouterr().out


def test_what_was_required_and_skipped_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In words, where the exit code is 5."""
    numpy = "counterfoil_oracles.targets.libraries.numpy_:target"
    words = ["--in-process", "--steps", "20", "--chapter", "claims", "--keep", str(tmp_path)]
    assert cli.main(["check", numpy, *words]) == 5
    assert "nothing was met that it refuses or is about: claims\n" in capsys.readouterr().out


def test_a_clock_is_looked_at_before_each_command(tmp_path: Path) -> None:
    """A check whose time is up asks nothing more, in the middle of a program too."""

    class Slow(ours.HalfTarget):
        asked = 0

        def run(self, step: TargetStep) -> TargetOutcome:
            type(self).asked += 1
            time.sleep(0.5)
            return super().run(step)

    def opened() -> inprocess.Direct:
        return inprocess.Direct(Slow(counterfoil, "slow"))

    campaign = Campaign(counterfoil_reference, opened, Selection(seconds=0.4), Profile(), Mapper(), tmp_path)
    report = campaign.run()
    assert (Slow.asked, report.is_repeatable) == (1, False)


def test_progress_of_the_halves_check_is_for_terminals() -> None:
    """Nothing is written to a stream that is no terminal, however long it takes."""
    stream = io.StringIO()
    progress = Progress(stream)
    progress.show(CheckOfHalves(seconds=1000.0))
    progress.end()
    assert stream.getvalue() == ""


def test_nobody_reading_is_no_divergence(tmp_path: Path) -> None:
    """Exit code 141, and no traceback."""
    command = [sys.executable, "-m", "counterfoil_oracles.cli", "explain", "door/overlapping"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("form", FORMATS)
def test_no_line_of_a_report_is_a_command_of_a_ci_log(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the target calls itself and says: GitHub's commands begin a line, older ones stand anywhere in it."""
    words = "\n::error::pwned\r\n ::warning::x ##[error]x"

    class Hostile(fakes.Fake):
        def start(self) -> Identity:
            return msgspec.structs.replace(super().start(), name=words, version=words)

    def change(fake: fakes.Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        return Refusal(message=words) if isinstance(outcome, Refusal) else outcome

    selection = Selection(seconds=600, differences=1)
    campaign = Campaign(
        counterfoil_reference, lambda: inprocess.Direct(Hostile("x", change)), selection, Profile(), Mapper(), tmp_path
    )
    report = campaign.run(shipped())
    report.broken = words
    entry = known.Known(words, None, words, words)
    verdicts = replace(known.judge(report, [], whole=True), stale=[entry], dropped=[entry])
    [found] = report.found.values()
    assert found.path is not None
    assert cli.main(["explain", str(found.path)]) == 0
    printed = FORMATS[form](report, verdicts) + capsys.readouterr().out
    assert not [line for line in re.split(r"[\r\n]", printed) if line.lstrip().startswith("::") or "##[" in line]


def test_progress_is_for_terminals(tmp_path: Path) -> None:
    """Nothing is written to a standard error that is no terminal."""
    assert check(tmp_path, SOUND, "--steps", "300").stderr == ""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    selection = Selection(frozenset({"door"}), seconds=60, differences=1)
    target = fakes.overlap_unseen()
    campaign = Campaign(
        counterfoil_reference, lambda: inprocess.Direct(target), selection, Profile(), Mapper(),
        tmp_path_factory.mktemp("reports"),
    )  # fmt: skip
    report = campaign.run(shipped())
    report.named = Named("mine:target")
    return {form: render(report, known.judge(report, [], whole=True)) for form, render in FORMATS.items()}


def test_the_format_asked_for_is_printed(tmp_path: Path) -> None:
    """On standard output, and nothing else."""
    printed = check(tmp_path, SOUND, "--steps", "100", "--format", "json").stdout
    assert json.loads(printed)["target"]["name"] == "counterfoil"


def test_text_names_rule_program_and_the_line_that_repeats_it(reports: dict[str, str]) -> None:
    """What a person needs is on the screen."""
    assert "rule door/overlapping" in reports["text"]
    assert "reproduce: counterfoil replay --target mine:target " in reports["text"]


def test_json_is_versioned_and_holds_the_trace(reports: dict[str, str]) -> None:
    """A program finds the finding and its steps."""
    found = json.loads(reports["json"])
    assert found["schema"] == "counterfoil-report-1"
    assert found["findings"][0]["rule"] == "door/overlapping"
    assert found["findings"][0]["trace"][0]["schema"] == "counterfoil-trace-1"


def test_junit_counts_its_failures(reports: dict[str, str]) -> None:
    """The suite's count is that of its failed cases."""
    suite = ElementTree.fromstring(reports["junit"].encode())
    assert int(suite.get("failures", "0")) == len(suite.findall("testcase/failure")) > 0


def test_sarif_has_a_result_for_an_entry_never_met(tmp_path: Path) -> None:
    """It fails the run, at the file that lists it."""
    entry = known.Known("kernel add: accepted", "door/overlapping", "accepted what is refused", "old")
    report = Report(Identity(protocol=1, name="x", version="0", language="C"), known_file=Path("known.toml"))
    run = json.loads(FORMATS["sarif"](report, known.judge(report, [entry], whole=True)))["runs"][0]
    [result] = run["results"]
    assert (result["ruleId"], run["tool"]["driver"]["rules"][0]["id"]) == ("door/overlapping", "door/overlapping")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "known.toml"}


def test_sarif_results_point_to_described_rules(reports: dict[str, str]) -> None:
    """Each result's rule is described, under its stable id."""
    run = json.loads(reports["sarif"])["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert {rules[result["ruleIndex"]]["id"] for result in run["results"]} == {"door/overlapping"}


def test_markdown_has_a_row_for_each_difference(reports: dict[str, str]) -> None:
    """The summary table names the rule."""
    assert "| door/overlapping |" in reports["markdown"]


def test_a_step_summary_is_added_to_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CI systems that offer a summary get it."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    check(tmp_path, SOUND, "--steps", "100")
    assert (tmp_path / "summary.md").read_text().startswith("## counterfoil: counterfoil")


def test_validation_holds_messages_against_the_schema(tmp_path: Path) -> None:
    """A reply with an outcome the schema lacks breaks the harness, named as such."""
    arguments = ["--validate-implementation", "--", sys.executable, str(HOSTILE), "invents an outcome"]
    done = check(tmp_path, *arguments)
    assert done.returncode == 3
    assert "does not fit the schema" in done.stdout + done.stderr


def test_a_sound_target_passes_validation(tmp_path: Path) -> None:
    """Our own messages fit the published schema, both ways."""
    serve = [sys.executable, "-m", "counterfoil_oracles.targets.serve", SOUND]
    done = check(tmp_path, "--validate-implementation", "--steps", "600", "--", *serve)
    assert done.returncode == 0, done.stdout + done.stderr
