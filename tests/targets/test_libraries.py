"""Array libraries as targets: what is known of them holds, and what is told of them can be seen."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from counterfoil_oracles.targets import known
from counterfoil_oracles.targets.libraries import table
from counterfoil_oracles.targets.libraries.table import Divergence, divergences, is_here, known_file
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


@pytest.mark.parametrize("library", PRESENT)
def test_the_known_differences_are_all_there_is(library: str, tmp_path: Path) -> None:
    """The check that wrote the file meets nothing else, run after run."""
    target = f"counterfoil_oracles.targets.libraries.{library}_:target"
    arguments = ["--in-process", "--time", "600", "--steps", STEPS[library], "--known", str(known_file(library))]
    command = [sys.executable, "-m", "counterfoil_oracles.cli", "check", target, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("each", SEEN, ids=lambda each: f"{each.library}-{each.rule}-{each.kind}")
def test_a_divergence_shows(each: Divergence) -> None:
    """The program of each divergence prints what the page of findings says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert each.run() == each.shows


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
    """docs/findings.md is what the command writes."""
    assert FINDINGS.read_text() == table.rendered()
