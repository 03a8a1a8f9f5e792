"""`counterfoil check TARGET`: exit codes, formats, known differences, and what is printed where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import counterfoil_reference
from counterfoil_oracles.targets import fakes, inprocess, known
from counterfoil_oracles.targets.campaign import Campaign, Selection
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.reports import FORMATS
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile

HOSTILE = Path(__file__).with_name("hostile.py")
FAKES = "counterfoil_oracles.targets.fakes"
SOUND = "counterfoil_oracles.targets.ours:fast"


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
    return {form: render(report, known.judge(report, [], whole=True)) for form, render in FORMATS.items()}


def test_the_format_asked_for_is_printed(tmp_path: Path) -> None:
    """On standard output, and nothing else."""
    printed = check(tmp_path, SOUND, "--steps", "100", "--format", "json").stdout
    assert json.loads(printed)["target"]["name"] == "counterfoil"


def test_text_names_rule_program_and_the_line_that_repeats_it(reports: dict[str, str]) -> None:
    """What a person needs is on the screen."""
    assert "rule door/overlapping" in reports["text"]
    assert "reproduce: counterfoil replay" in reports["text"]


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
