"""CrossHair looks for arguments with which the reference's small functions break their contracts."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CONTRACTS = ("layouts", "moves", "placement", "rounding")
SECONDS = 10
"""Processor time for one contract; the slowest takes about a third of it."""

CONFIRMED = "Confirmed over all paths."
NOT_CONFIRMED = "Not confirmed."

MAY_STAY_OPEN = {
    "placement": {"positions_are_those_of_the_indices", "compacted_axes_keep_signs_and_order"},
    "rounding": {"codes_are_ordered_as_their_values"},
}
"""Contracts whose paths a slow machine may not finish; none other may end without an answer."""


def functions(name: str) -> dict[str, tuple[int, int]]:
    """The first and the last line of each function of a module that begins with an assert, after its docstring."""
    tree = ast.parse((HERE / f"{name}.py").read_text())
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and len(node.body) > 1]
    return {
        node.name: (node.lineno, node.end_lineno or node.lineno)
        for node in found if isinstance(node.body[1], ast.Assert)
    }  # fmt: skip


def check(name: str) -> dict[str, str]:
    """What CrossHair says of each contract of a module."""
    command = [sys.executable, "-m", "crosshair", "check", "--analysis_kind", "asserts", "--report_all",
               "--per_condition_timeout", str(SECONDS), str(HERE / f"{name}.py")]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    lines = re.findall(rf"^.*/{name}\.py:(\d+): \w+: (.*)$", ran.stdout, re.MULTILINE)
    verdicts = {
        function: [words for line, words in lines if first <= int(line) <= last]
        for function, (first, last) in functions(name).items()
    }
    assert all(len(words) == 1 for words in verdicts.values()), ran.stdout + ran.stderr
    return {function: words[0] for function, words in verdicts.items()}


LONG = ("layouts", "placement")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in CONTRACTS]
)
def test_the_reference_keeps_its_contracts(name: str) -> None:
    """No contract has a counterexample, and each is confirmed on every path but those that may stay open."""
    verdicts = check(name)
    assert verdicts
    open_ones = {function for function, words in verdicts.items() if words == NOT_CONFIRMED}
    broken = {function: words for function, words in verdicts.items() if words not in (CONFIRMED, NOT_CONFIRMED)}
    assert broken == {}
    assert open_ones <= MAY_STAY_OPEN.get(name, set())


def test_a_wrong_twin_is_found() -> None:
    """Every contract that does not hold has a counterexample."""
    verdicts = check("twins")
    assert len(verdicts) == 7
    assert [function for function, words in verdicts.items() if "when calling" not in words] == []


def test_the_list_of_open_contracts_names_contracts() -> None:
    """What may stay open is there, and is little of what there is."""
    listed = {(name, function) for name, some in MAY_STAY_OPEN.items() for function in some}
    contracts = {(name, function) for name in CONTRACTS for function in functions(name)}
    assert listed <= contracts and len(listed) * 5 <= len(contracts)
