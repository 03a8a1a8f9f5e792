"""Every row of the measuring script runs: what is prepared for a few minutes on a GPU must not fail there first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.gpu import __main__ as script
from benchmarks.gpu import report


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The report of a run on extents 64 times smaller."""
    path = tmp_path_factory.mktemp("gpu") / "report.json"
    command = [sys.executable, "-m", "benchmarks.gpu", "--measure", "--rounds", "2", "--report", str(path)]
    subprocess.run(command, check=True, timeout=300, env={**os.environ, "COUNTERFOIL_GPU_SCALE": "64"})
    return json.loads(path.read_text())


def test_no_row_fails(found: Any) -> None:
    """Each section comes to its end."""
    assert [row["failed"] for row in found["rows"] if "failed" in row] == []


def test_every_section_has_rows(found: Any) -> None:
    """Launches, routes, layouts, casts, elementwise work, sums, products and the training step."""
    names = " ".join(row["name"] for row in found["rows"])
    for word in ("launch", "pinned", "transpose", "cast", "exp", "sum of rows", "matmul", "MLP"):
        assert word in names


def test_a_report_becomes_a_page(found: Any, tmp_path: Path) -> None:
    """A line for each row, and the device's name."""
    report.render(found, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert found["device"]["name"] in text
    assert all(f"| {row['name']} |" in text for row in found["rows"])


def test_a_report_keeps_the_part_that_is_not_asked_for(found: Any, tmp_path: Path) -> None:
    """Measuring leaves the checks of the same device where they are, and a report of another device goes."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps(found | {"checks": ["kept"]}))
    begun = script._begun(path, ["rows"])
    assert (begun["checks"], begun["rows"]) == (["kept"], [])
    path.write_text(json.dumps(found | {"checks": ["kept"], "device": {"name": "another"}}))
    assert script._begun(path, ["rows"])["checks"] == []
