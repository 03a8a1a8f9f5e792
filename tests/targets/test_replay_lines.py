"""The line that is printed to replay a failure is one command, and pasted as it stands it meets that failure."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.shims import put_first

import counterfoil_reference
from counterfoil_oracles.targets import fakes, fixtures, inprocess, known
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.conformance import Conformance, Divergence, by_rule, opening
from counterfoil_oracles.targets.expecting import vector
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import Named, named
from counterfoil_oracles.targets.reports import FORMATS
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile

HOSTILE = Path(__file__).with_name("hostile.py")
FAKE = "counterfoil_oracles.targets.fakes:reach_forgiven"
SERVE = ["python", "-m", "counterfoil_oracles.targets.serve"]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose name a shell would split; `counterfoil` and `python` are those of this interpreter."""
    room = tmp_path / "a room; and $HOME"
    room.mkdir()
    put_first(tmp_path / "tools", monkeypatch)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return room


def run(room: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=room, capture_output=True, text=True, timeout=120)


def pasted(room: Path, line: str) -> subprocess.CompletedProcess[str]:
    return run(room, ["sh", "-c", line])


def ways(room: Path) -> dict[str, list[str]]:
    """Arguments that name a target, with what its replay needs too."""
    (room / "my profile.json").write_text('{"max_rank": 8}')
    (room / "it's words.toml").write_text('[[map]]\npattern = "never said"\nrule = "door/overlapping"\n')
    files = ["--profile", "my profile.json", "--map", "it's words.toml"]
    bounds = ["--reply-seconds", "7.5", "--memory-gib", "2.5", "--validate-implementation"]
    return {
        "factory": [FAKE], "in process": [FAKE, "--in-process"], "files": [*files, FAKE, "--keep", "kept * here"],
        "bounds": [*bounds, "--keep", str(room / "kept"), "--", *SERVE, FAKE],
    }  # fmt: skip


@pytest.mark.parametrize(
    "way", ["in process", *(pytest.param(way, marks=pytest.mark.long) for way in ("factory", "files", "bounds"))]
)
def test_the_line_that_check_prints_meets_the_failure_again(way: str, room: Path) -> None:
    """In a shell, in the same folder, whatever characters names hold; asked as the check asked."""
    arguments = ways(room)[way]
    done = run(room, ["counterfoil", "check", "--steps", "300", "--format", "json", *arguments])
    [found] = json.loads(done.stdout)["findings"]
    again = pasted(room, found["replay"])
    assert again.returncode == 1 and again.stdout.startswith("FAILED"), (found, again.stdout, again.stderr)
    assert f", {found['case']}: " in again.stdout
    given = set(arguments) - {"--keep", "kept * here", str(room / "kept"), FAKE}
    assert given <= set(shlex.split(found["replay"]))


def test_the_line_of_a_broken_harness_breaks_it_again(room: Path) -> None:
    """A target that dies is replayed as well as one that diverges."""
    program = ["--", "python", str(HOSTILE), "dies"]
    done = run(room, ["counterfoil", "check", *program])
    [line] = re.findall(r"^  reproduce: (.*)$", done.stdout, re.MULTILINE)
    again = pasted(room, line)
    assert (done.returncode, again.returncode) == (3, 3)
    assert "it ended with exit code 7" in again.stderr


def test_the_line_that_fixtures_print_meets_the_failure_again(room: Path) -> None:
    """Vectors are replayed on the reference and the target, as any trace is."""
    trace = by_rule()["arrays/past-the-end"][0]
    fixtures.write(room / "vectors", [vector("x", trace, counterfoil_reference)])
    done = run(room, ["counterfoil", "fixtures", "vectors", "--check", FAKE])
    [line, *_] = re.findall(r"^  reproduce: (.*)$", done.stdout, re.MULTILINE)
    assert pasted(room, line).stdout.startswith("FAILED")


def test_minimize_prints_the_line_of_what_it_wrote(report: Report, room: Path) -> None:
    """The smaller trace fails by that line."""
    [found] = report.found.values()
    program = ["--", *SERVE, FAKE]
    done = run(room, ["counterfoil", "minimize", str(found.path), "-o", "as small as can be.jsonl", *program])
    [line] = re.findall(r"^reproduce: (.*)$", done.stdout, re.MULTILINE)
    assert "as small as can be.jsonl" in line
    assert pasted(room, line).stdout.startswith("FAILED")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A finding of a target whose name needs quotes."""
    target = fakes.reach_forgiven()
    campaign = Campaign(
        counterfoil_reference, lambda: inprocess.Direct(target), Selection(seconds=60, differences=1), Profile(),
        Mapper(), tmp_path_factory.mktemp("kept"),
    )  # fmt: skip
    found = campaign.run(shipped())
    found.named = Named(None, ["./my impl", "--fast", "a'b"], ["--in-process"])
    found.broken, found.broken_by = "it died", Path("broken.jsonl")
    return found


READERS: dict[str, Callable[[str], Any]] = {
    "text": lambda text: re.findall(r"^  reproduce: (.*)$", text, re.MULTILINE),
    "json": lambda text: [json.loads(text)["findings"][0]["replay"], json.loads(text)["broken_replay"]],
    "junit": lambda text: [
        (each.text or "").splitlines()[-1].removeprefix("reproduce: ")
        for tag in ("failure", "error")
        for each in ElementTree.fromstring(text.encode()).iter(tag)
    ],
    "sarif": lambda text: [
        message.splitlines()[-1].removeprefix("reproduce: ")
        for run in json.loads(text)["runs"]
        for message in (
            run["results"][0]["message"]["text"],
            run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"],
        )
    ],
    "markdown": lambda text: re.findall(r"^```sh\n(.*)\n```$", text, re.MULTILINE),
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_the_whole_line(form: str, report: Report) -> None:
    """For the finding and for what broke the harness; readers of the format get it unchanged."""
    [found] = report.found.values()
    text = FORMATS[form](report, known.judge(report, [], whole=True))
    wanted = {
        f"counterfoil replay --in-process {shlex.quote(str(path))} -- './my impl' --fast 'a'\"'\"'b'"
        for path in (found.path, report.broken_by)
    }
    assert set(READERS[form](text)) == wanted


@pytest.mark.parametrize("form", ["text", "junit", "sarif"])
def test_a_known_difference_that_changed_has_its_line(form: str, report: Report) -> None:
    """It fails the run as a new one does."""
    [found] = report.found.values()
    entry = known.Known(found.finding.case, found.finding.rule, "failed", "")
    text = FORMATS[form](report, known.judge(report, [entry], whole=True))
    assert report.replay(found.path) in READERS[form](text)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (FAKE, ["--target", FAKE, "t.jsonl"]),
        (["./x", "two words"], ["t.jsonl", "--", "./x", "two words"]),
        (fakes.Fake, ["--target", "counterfoil_oracles.targets.fakes:Fake", "--in-process", "t.jsonl"]),
    ],
)
def test_targets_of_test_suites_are_named(target: Any, words: list[str]) -> None:
    """By what the command line calls them; a class or function by where it can be imported from."""
    found = named(target)
    assert found is not None and shlex.split(found.line(Path("t.jsonl"))) == ["counterfoil", "replay", *words]


def test_a_factory_that_no_import_finds_has_no_line(tmp_path: Path) -> None:
    """The text says where the trace is kept, and prints no line that would not run."""
    checks = Conformance(opening(lambda: fakes.reach_forgiven()), directory=tmp_path, named=named(lambda: None))
    with pytest.raises(Divergence) as raised:
        checks.check_rule("arrays/past-the-end")
    assert "reproduce:" not in str(raised.value) and f"kept in {tmp_path}" in str(raised.value)
