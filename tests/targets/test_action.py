"""The composite action and its example ask for what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from counterfoil_oracles import cli

ROOT = Path(__file__).resolve().parents[2]
ACTION = (ROOT / ".github" / "actions" / "counterfoil" / "action.yml").read_text()
EXAMPLE = (ROOT / "examples" / "ci" / "counterfoil.yml").read_text()


def inputs() -> set[str]:
    table = ACTION[ACTION.index("inputs:") : ACTION.index("outputs:")]
    return set(re.findall(r"^  ([a-z-]+):$", table, re.MULTILINE))


def test_every_option_of_the_action_is_one_of_check(capsys: pytest.CaptureFixture[str]) -> None:
    """What it passes on is in the help."""
    with pytest.raises(SystemExit):
        cli.main(["check", "x:y", "--help"])
    help = capsys.readouterr().out
    options = set(re.findall(r"(?<=[( ])(--[a-z-]+) ", ACTION[ACTION.index("arguments=(") : ACTION.index("code=0")]))
    assert len(options) >= 7 and all(option in help for option in options)


def test_every_input_is_used_and_no_other() -> None:
    """Each input that is declared is read, and each that is read is declared."""
    assert set(re.findall(r"inputs\.([a-z-]+)", ACTION)) == inputs()


def test_no_input_is_pasted_into_a_script() -> None:
    """Inputs reach scripts through the environment alone, so that none is run as one."""
    scripts = re.findall(r"run: \|\n((?:        .*\n)+)|run: (.+)\n", ACTION)
    assert scripts and not any("${{" in text for pair in scripts for text in pair)


def test_the_example_gives_inputs_that_exist() -> None:
    """What stands under its `with` is declared."""
    block = EXAMPLE[EXAMPLE.index("actions/counterfoil@") :]
    assert set(re.findall(r"^          ([a-z-]+):", block, re.MULTILINE)) <= inputs()
