"""Array libraries as targets: what is known of them holds, and what is told of them can be seen."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import counterfoil_reference
from counterfoil_oracles.targets import inprocess, known, snippets
from counterfoil_oracles.targets.campaign import Campaign, Found, Selection
from counterfoil_oracles.targets.libraries import table
from counterfoil_oracles.targets.libraries.table import Divergence, divergences, is_here, known_file
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.pair import TargetPair
from counterfoil_oracles.targets.program import first_finding
from counterfoil_oracles.targets.scripts import SCRIPTS
from counterfoil_oracles.targets.scripts.script import written
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_oracles.targets.verdicts import Kind
from counterfoil_spec.commands import Command, Header, Step, Trace
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import registry

STEPS = {"numpy": "12000", "torch": "12000", "jax": "3000"}
"""What the files of known differences were written from, from seed 0."""

FINDINGS = Path(__file__).parents[2] / "docs" / "findings.md"


def is_as_written(library: str) -> bool:
    """Whether the library is here, in the version that its file of known differences names."""
    title = known_file(library).read_text().partition("\n")[0]
    return is_here(library) and f" {importlib.metadata.version(library).partition('+')[0]}:" in title


PRESENT = [library for library in table.LIBRARIES if is_as_written(library)]
SEEN = [each for each in divergences() if each.library in PRESENT]


@pytest.mark.skipif(os.environ.get("COUNTERFOIL_LIBRARIES") != "required", reason="make test-targets installs them")
@pytest.mark.parametrize("library", table.LIBRARIES)
def test_the_libraries_are_here_as_they_were_looked_at(library: str) -> None:
    """Where they are installed for these tests, another version does not turn the tests off unseen."""
    assert is_as_written(library)


@pytest.mark.long
@pytest.mark.parametrize("library", PRESENT)
def test_the_known_differences_are_all_there_is(library: str, tmp_path: Path) -> None:
    """The check that wrote the file meets nothing else, run after run."""
    target = f"counterfoil_oracles.targets.libraries.{library}_:target"
    arguments = ["--in-process", "--time", "600", "--steps", STEPS[library], "--known", str(known_file(library))]
    command = [sys.executable, "-m", "counterfoil_oracles.cli", "check", target, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("library", PRESENT)
def test_a_first_finding_over_the_protocol(library: str, tmp_path: Path) -> None:
    """In a process of its own, as anybody runs it."""
    target = f"counterfoil_oracles.targets.libraries.{library}_:target"
    command = [sys.executable, "-m", "counterfoil_oracles.cli", "check", target, "--failures", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize("each", SEEN, ids=lambda each: f"{each.library}-{each.rule}-{each.kind}")
def test_a_divergence_shows(each: Divergence) -> None:
    """The program of each divergence prints what the page of findings says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert each.run() == each.shows


@pytest.fixture(scope="module", params=PRESENT)
def scripts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Found]]:
    """What a short check of a library finds, with its snippets."""
    library = request.param
    target = f"counterfoil_oracles.targets.libraries.{library}_"
    opened = inprocess.Direct(importlib.import_module(target).target())
    keep, chosen = tmp_path_factory.mktemp(library), Selection(seconds=60, steps=1500, differences=12)
    report = Campaign(counterfoil_reference, lambda: opened, chosen, Profile(), Mapper(), keep).run(shipped())
    snippets.add_snippets(report, Named(f"{target}:target"))
    return library, list(report.found.values())


def test_failures_of_a_library_are_scripts_of_its_own_calls(scripts: tuple[str, list[Found]]) -> None:
    """Each imports the library, and nothing of ours."""
    library, found = scripts
    assert found
    for each in found:
        assert each.snippet is not None and each.snippet.suffix == ".py", each.finding.words
        text = each.snippet.read_text()
        assert f"import {library}" in text and "import counterfoil" not in text


def test_a_script_of_a_library_shows_its_failure_alone(scripts: tuple[str, list[Found]], tmp_path: Path) -> None:
    """In a process of its own it prints what was expected and what is, and ends with 1."""
    for each in scripts[1][:3]:
        done = subprocess.run(
            [sys.executable, str(each.snippet)], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 1 and done.stdout, done.stderr


@pytest.mark.skipif("jax" not in PRESENT, reason="JAX is not here")
def test_a_donation_of_jax_is_a_script() -> None:
    """An array without an element, donated twice: the rules allow it, the script shows that JAX does not."""
    from counterfoil_oracles.targets.libraries import jax_

    made = Command(do="from_values", args={"dtype": "int32", "shape": [0], "values": []}, bind="x")
    twice = Command(do="claims.enter", args={"read": [], "donate": [{"ref": "x"}, {"ref": "x"}]}, bind="c")
    once = Command(do="claims.enter", args={"read": [], "donate": [{"ref": "x"}]}, bind="c")
    consumed = Command(
        do="claims.consume", args={"claims": {"ref": "c"}, "buffer": {"ref": "x"}, "why": "taken"}, bind="b"
    )
    viewed = Command(do="array.move", args={"array": {"ref": "x"}, "move": {"reshape": [0, 1]}}, bind="y")
    for program, rule in (
        ((made, twice), "claims/overlapping-donation"),
        ((made, once, consumed, viewed), "memory/dead"),
    ):
        opened = inprocess.Direct(jax_.target())
        found = first_finding(TargetPair(counterfoil_reference, opened, Profile()), program)
        assert found is not None and (found[0].rule, found[0].kind) == (rule, Kind.REFUSED)
        trace = Trace(Header(), [Step(command=command) for command in program])
        script = written(SCRIPTS["jax"], trace, found[0])
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 1 and "donat" in script, done.stderr


@pytest.mark.parametrize("library", table.LIBRARIES)
def test_every_known_difference_has_its_reason(library: str) -> None:
    """Each entry is one of a divergence's, and gives it as the reason."""
    entries = known.read(known_file(library))
    assert table.explained(library, entries) == entries


def test_divergences_are_of_rules_and_kinds_that_exist() -> None:
    """No row of the table is about a rule nobody has."""
    assert {each.rule for each in divergences()} <= set(registry())
    assert {each.kind for each in divergences()} <= set(table.KINDS)


def test_the_page_of_findings_is_the_tables() -> None:
    """docs/findings.md is what the command writes, but for how long things took."""
    page = FINDINGS.read_text()
    assert table.timeless(page) == table.timeless(table.rendered(table.first_line({})))
    assert page.count(table.FIRST) == 1


def test_times_are_told_in_whole_seconds_and_of_what_was_there() -> None:
    """No figure is finer than it can be repeated; what was not measured says so."""
    line = table.first_line({"numpy": 3.4, "torch": 0.2})
    assert "NumPy 3 s, PyTorch 1 s, JAX not measured" in line
    assert line.startswith(table.FIRST) and "\n" not in line
    assert table.timeless(f"a\n{line}\nb\n") == "a\nb\n"


def test_the_time_to_a_finding_is_that_of_a_check() -> None:
    """NumPy, which is always here, is checked to its first finding; a check that finds nothing measures nothing."""
    assert table.seconds_to_first("numpy", runs=1) > 0
    with pytest.raises(ChildProcessError, match="no_such_:target"):
        table.seconds_to_first("no_such", runs=1)
