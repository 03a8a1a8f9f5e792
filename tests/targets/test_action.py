"""The composite action does what it says, run step by step as GitHub runs it; the workflows are well formed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.targets import composite

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".github" / "actions" / "counterfoil"
TEXT = (PLACE / "action.yml").read_text()
ACTION: dict[str, Any] = yaml.safe_load(TEXT)
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "examples" / "ci" / "counterfoil.yml"]

# pip is asked whether it would install that, and installs nothing; it is not asked for "nothing".
PYTHON = f"""#!/bin/sh
if [ "$1 $2 $3" = "-m pip install" ]; then shift 3
    echo "pip is asked for $2"
    if [ "$2" = nothing ]; then exit; fi
    exec "{sys.executable}" -m pip install --dry-run --no-deps --no-build-isolation "$2"
fi
exec "{sys.executable}" "$@"
"""
COUNTERFOIL = f'#!/bin/sh\nexec "{sys.executable}" -m counterfoil_oracles.cli "$@"\n'
# A name with a space in it, as the protocol's program is split by a shell's rules.
SERVE = "python -m counterfoil_oracles.targets.serve 'counterfoil_oracles.targets.fakes:{}'"


def ran(room: Path, **given: str) -> composite.Ran:
    """The action with some inputs."""
    commands = {"python": PYTHON, "counterfoil": COUNTERFOIL}
    inputs = {name.replace("_", "-"): value for name, value in given.items()}
    return composite.run(ACTION, PLACE, inputs, room, composite.environment(room / "tools", commands))


@pytest.fixture(scope="module")
def conforming(tmp_path_factory: pytest.TempPathFactory) -> tuple[composite.Ran, Path]:
    """The action on a target that conforms, all else by default; and where it ran."""
    room = tmp_path_factory.mktemp("conforming")
    return ran(room, target="counterfoil_oracles.targets.ours:fast", steps="60"), room / "workspace"


@pytest.fixture(scope="module")
def defective(tmp_path_factory: pytest.TempPathFactory) -> tuple[composite.Ran, Path]:
    """The action on a program with one defect; and where it ran."""
    room = tmp_path_factory.mktemp("defective")
    program = SERVE.format("reach_forgiven")
    kept = {"upload_sarif": "true", "artifact": "mine", "format": "json"}
    done = ran(room, program=program, steps="60", install="nothing", **kept)
    return done, room / "workspace"


def test_it_passes_where_the_target_conforms(conforming: tuple[composite.Ran, Path]) -> None:
    """With exit code 0 as its output, and a report without results."""
    done, workspace = conforming
    assert done.passed and done.outputs == {"code": "0"}, done.log
    assert done.steps == ["Install", "Check", "Keep the failures", "Verdict"]
    assert json.loads((workspace / "counterfoil.sarif").read_text())["runs"][0]["results"] == []
    assert not (workspace / "counterfoil-failures").exists()


def test_it_installs_the_counterfoil_around_it(conforming: tuple[composite.Ran, Path]) -> None:
    """The repository that the action is in, with the extra that checks; pip knows it for counterfoil."""
    done, _ = conforming
    assert f"pip is asked for {ROOT}[check]\n" in done.log
    assert re.search(r"^Would install counterfoil-\d", done.log, re.MULTILINE)


def test_it_fails_where_the_target_diverges(defective: tuple[composite.Ran, Path]) -> None:
    """At its last step, with exit code 1 as its output, when the failures are kept already."""
    done, workspace = defective
    assert not done.passed and done.outputs == {"code": "1"}, done.log
    assert done.steps == ["Install", "Check", "Keep the failures", "Code scanning", "Verdict"]
    kept = {path.suffix for path in (workspace / "counterfoil-failures").iterdir()}
    assert ".jsonl" in kept and len(kept) == 2


def test_what_it_found_is_in_the_report_the_summary_and_the_log(defective: tuple[composite.Ran, Path]) -> None:
    """By the rule's id, which is the alert's in code scanning."""
    done, workspace = defective
    [run] = json.loads((workspace / "counterfoil.sarif").read_text())["runs"]
    assert {result["ruleId"] for result in run["results"]} == {"arrays/past-the-end"}
    assert "arrays/past-the-end" in done.summary
    assert '"arrays/past-the-end"' in done.log


def test_what_is_kept_is_where_the_check_left_it(defective: tuple[composite.Ran, Path]) -> None:
    """The paths given to other actions exist, and the artifact has the name that was given."""
    done, workspace = defective
    [artifact, scanning] = done.used.values()
    assert artifact["name"] == "mine"
    assert all((workspace / path).exists() for path in [*artifact["path"].split(), scanning["sarif_file"]])


def test_what_is_given_to_install_is_what_pip_is_asked_for(defective: tuple[composite.Ran, Path]) -> None:
    """In place of the repository."""
    assert "pip is asked for nothing\n" in defective[0].log


@pytest.mark.parametrize("given", [{}, {"target": "counterfoil_oracles.targets.ours:fast", "program": "true"}])
def test_a_target_and_a_program_are_one_of_two(given: dict[str, str], tmp_path: Path) -> None:
    """Neither, or both, is a usage error: exit code 2."""
    done = ran(tmp_path, install="nothing", **given)
    assert not done.passed and done.outputs == {"code": "2"}


def test_nothing_is_checked_where_nothing_was_installed(tmp_path: Path) -> None:
    """The steps that always run do so; the others do not, and the action fails."""
    done = ran(tmp_path, target="counterfoil_oracles.targets.ours:fast", install=str(tmp_path / "none"))
    assert not done.passed and done.steps == ["Install", "Keep the failures"]


def test_every_input_is_used_and_no_other() -> None:
    """Each input that is declared is read, and each that is read is declared."""
    assert set(re.findall(r"inputs\.([a-z-]+)", TEXT)) == ACTION["inputs"].keys()


def test_no_input_is_pasted_into_a_script() -> None:
    """Inputs reach scripts through the environment alone, so that none is run as one."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert len(scripts) == 3 and not any("${{" in script for script in scripts)


def test_the_action_has_what_github_asks_of_one() -> None:
    """A name, a description of it and of each input and output, and a shell for each script."""
    assert set(ACTION) == {"name", "description", "inputs", "outputs", "runs"}
    assert ACTION["runs"].keys() == {"using", "steps"} and ACTION["runs"]["using"] == "composite"
    assert all(about.keys() == {"description", "default"} for about in ACTION["inputs"].values())
    assert all(about.keys() == {"description", "value"} for about in ACTION["outputs"].values())
    for step in ACTION["runs"]["steps"]:
        is_well_formed(step)
        assert ("run" in step) == ("shell" in step)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_workflows_have_what_github_asks_of_them(path: Path) -> None:
    """Events, rights, and jobs with a machine, a bound in time and steps."""
    workflow: dict[Any, Any] = yaml.safe_load(path.read_text())
    assert workflow.keys() == {"name", True, "permissions", "jobs"}  # YAML reads the key `on` so
    assert workflow[True].keys() <= {"push", "pull_request", "schedule"}
    for job in workflow["jobs"].values():
        assert job.keys() - {"strategy", "env"} == {"runs-on", "timeout-minutes", "steps"}
        for step in job["steps"]:
            is_well_formed(step)


def is_well_formed(step: dict[str, Any]) -> None:
    """It runs a script, or uses an action at a version: GitHub's own by a tag, this one from the commit checked out."""
    assert step.keys() <= {"name", "id", "if", "shell", "env", "run", "uses", "with"}
    assert ("run" in step) != ("uses" in step)
    own = r"\./\.github/actions/counterfoil|counterfoil/counterfoil/\.github/actions/counterfoil@\S+"
    assert "uses" not in step or re.fullmatch(rf"(actions|github)/[\w/-]+@v\d+|{own}", step["uses"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_workflows_give_the_action_inputs_that_exist(path: Path) -> None:
    """What stands under its `with` is declared, and what it is worth can be told."""
    steps = [step for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"]]
    given = [step["with"] for step in steps if "actions/counterfoil" in step.get("uses", "")]
    assert len(given) == 1 and given[0].keys() <= ACTION["inputs"].keys()
    for event, seconds in (("schedule", "900"), ("push", "60")) if "examples" in path.parts else ():
        assert composite.Expressions({"github.event_name": event}).inserted(given[0]["time"]) == seconds


@pytest.mark.parametrize("words", ["inputs.none", "failure()", "inputs.a ==", "inputs.a != 'b'", "'open"])
def test_what_the_runner_does_not_know_it_refuses(words: str) -> None:
    """Rather than guess."""
    with pytest.raises(composite.NotDone):
        composite.Expressions({"inputs.a": "b"}).value(words)
