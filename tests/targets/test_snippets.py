"""A snippet beside each failure shows it again, and needs nothing of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import counterfoil_reference
from counterfoil_oracles.targets import inprocess, snippets
from counterfoil_oracles.targets.campaign import Campaign, Found, Report, Selection
from counterfoil_oracles.targets.libraries import numpy_
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.scripts.script import identifier, literal
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile, Ran, Started

SERVE = [sys.executable, "-m", "counterfoil_oracles.targets.serve"]
FAKE = "counterfoil_oracles.targets.fakes:overlap_unseen"


def checked(target: object, keep: Path, steps: int, name: str | None, program: list[str]) -> Report:
    selection = Selection(seconds=60, steps=steps)
    opened = inprocess.Direct(target)  # type: ignore[arg-type]
    campaign = Campaign(counterfoil_reference, lambda: opened, selection, Profile(), Mapper(), keep)
    report = campaign.run(shipped())
    snippets.add_snippets(report, name, program)
    return report


@pytest.fixture(scope="module")
def numpy_report(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    """What a short check of NumPy finds."""
    keep = tmp_path_factory.mktemp("numpy")
    target = "counterfoil_oracles.targets.libraries.numpy_:target"
    return list(checked(numpy_.target(), keep, 1200, target, []).found.values())


def scripts(found: list[Found]) -> list[Path]:
    return [each.snippet for each in found if each.snippet is not None and each.snippet.suffix == ".py"]


def test_every_failure_has_a_snippet_beside_its_trace(numpy_report: list[Found]) -> None:
    """Same place, same name."""
    assert numpy_report
    for found in numpy_report:
        assert found.path is not None and found.snippet is not None
        assert found.snippet.with_suffix("") == found.path.with_suffix("") and found.snippet.exists()


def test_most_failures_of_numpy_are_scripts(numpy_report: list[Found]) -> None:
    """Of numpy alone: what they import is its own."""
    texts = [path.read_text() for path in scripts(numpy_report)]
    assert len(texts) > len(numpy_report) // 2
    assert not any("counterfoil" in line for text in texts for line in text.splitlines() if "import" in line)


def test_scripts_of_numpy_show_what_was_found(numpy_report: list[Found], tmp_path: Path) -> None:
    """Run away from the project, without its packages, each ends with 1 and says why."""
    code = "import sys, runpy; sys.modules['counterfoil_oracles'] = sys.modules['counterfoil_spec'] = None; "
    for path in scripts(numpy_report)[:4]:
        run = [sys.executable, "-c", f"{code}runpy.run_path({str(path)!r}, run_name='__main__')"]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, path.read_text() + done.stderr
        assert done.stdout


def test_a_program_gets_the_lines_it_was_asked(tmp_path: Path) -> None:
    """Piped into the program, they are answered with the outcome that was found."""
    from counterfoil_oracles.targets import fakes

    report = checked(fakes.overlap_unseen(), tmp_path, 2200, None, [*SERVE, FAKE])
    [found, *_] = report.found.values()
    assert found.snippet is not None and found.snippet.suffix == ".sh"
    lines = subprocess.run(["sh", str(found.snippet)], capture_output=True, timeout=60).stdout.splitlines()
    assert msgspec.json.decode(lines[0], type=Started).name == "overlap_unseen"
    assert msgspec.json.decode(lines[1], type=Ran).outcomes[-1] == found.finding.seen


@pytest.mark.parametrize(("name", "text"), [("x", "x"), ("gpu 0", "gpu_0"), ("x.routine", "x_routine"), ("in", "in_")])
def test_names_of_traces_are_made_names_of_python(name: str, text: str) -> None:
    """Whatever a trace calls a thing, the script can."""
    assert identifier(name) == text
    assert text.isidentifier()


@pytest.mark.parametrize(
    "value", [0, -0.0, 1.5, float("inf"), float("-inf"), 2**70, [1, [2.5]], True, "text", None, complex(-0.0, 2)]
)
def test_arguments_are_written_as_python_reads_them(value: object) -> None:
    """Reading the text gives the value."""
    from counterfoil_spec.commands import encode_number

    assert repr(eval(literal(encode_number(value)))) == repr(value)
