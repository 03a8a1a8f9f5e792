"""A composite action of GitHub run here: as much of it as ours uses, and a refusal of anything else.

Steps with `run` are run by the shell that they name, with their environment and GitHub's files; steps with `uses` are
noted with what they would be given. `if` and `${{ }}` are evaluated: text, names of inputs and outputs, `==`, `&&`,
`||`, `always()`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHELLS = {"bash": ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"]}
"""How GitHub starts the shells it knows by name."""

_INSERTED = re.compile(r"\$\{\{(.*?)\}\}")
_TOKEN = re.compile(r"\s*(?:'(?P<text>(?:[^']|'')*)'|(?P<name>[\w.-]+(?:\(\))?)|(?P<sign>==|&&|\|\|))")


class NotDone(Exception):
    """Something of GitHub's that is not done here."""


@dataclass
class Ran:
    """What came of an action: whether it passed, its outputs, the steps run by name, and what `uses` were given."""

    passed: bool = True
    outputs: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: str = ""
    log: str = ""


class Expressions:
    """The values that names have, and what expressions over them are worth. ``steps``: those that may have outputs."""

    def __init__(self, names: Mapping[str, str], steps: Collection[str] = ()) -> None:
        self.names = dict(names)
        self._steps = steps

    def inserted(self, text: object) -> str:
        """A text of the file with the values of its expressions in their places."""
        return _INSERTED.sub(lambda found: self.value(found[1]), str(text))

    def value(self, words: str) -> str:
        """What an expression is worth; NotDone for one that is not understood."""
        tokens, at = [], 0
        while words[at:].strip():
            found = _TOKEN.match(words, at)
            if found is None:
                raise NotDone(f"an expression like {words}")
            tokens.append(found)
            at = found.end()
        value = self._either(tokens)
        if tokens:
            raise NotDone(f"an expression like {words}")
        return value

    def holds(self, condition: str | None, passed: bool) -> bool:
        """Whether a step runs: one that does not ask for it runs only while all before it passed."""
        if condition is None:
            return passed
        return (passed or "always()" in condition) and self.value(condition) not in ("", "false")

    def _either(self, tokens: list[re.Match[str]]) -> str:
        value = self._both(tokens)
        while self._is_next(tokens, "||"):
            other = self._both(tokens)
            value = value if value not in ("", "false") else other
        return value

    def _both(self, tokens: list[re.Match[str]]) -> str:
        value = self._compared(tokens)
        while self._is_next(tokens, "&&"):
            other = self._compared(tokens)
            value = other if value not in ("", "false") else value
        return value

    def _compared(self, tokens: list[re.Match[str]]) -> str:
        value = self._single(tokens)
        if self._is_next(tokens, "=="):
            return "true" if value.casefold() == self._single(tokens).casefold() else "false"
        return value

    def _single(self, tokens: list[re.Match[str]]) -> str:
        if not tokens or tokens[0]["sign"]:
            raise NotDone("an expression that breaks off")
        token = tokens.pop(0)
        if token["text"] is not None:
            return str(token["text"]).replace("''", "'")
        if token["name"] == "always()":
            return "true"
        is_output = any(token["name"].startswith(f"steps.{step}.outputs.") for step in self._steps)
        if token["name"] not in self.names and not is_output:
            raise NotDone(f"the name {token['name']}")
        return self.names.get(token["name"], "")

    @staticmethod
    def _is_next(tokens: list[re.Match[str]], sign: str) -> bool:
        if tokens and tokens[0]["sign"] == sign:
            tokens.pop(0)
            return True
        return False


def run(action: dict[str, Any], place: Path, given: Mapping[str, str], room: Path, env: Mapping[str, str]) -> Ran:
    """Run an action that lies at ``place``, in a workspace, with files of GitHub's beside it."""
    declared: dict[str, Any] = action["inputs"]
    if given.keys() - declared.keys():
        raise NotDone(f"inputs that are not declared: {sorted(given.keys() - declared.keys())}")
    values = {name: str(about.get("default", "")) for name, about in declared.items()} | dict(given)
    steps = [step["id"] for step in action["runs"]["steps"] if "id" in step]
    expressions = Expressions({f"inputs.{name}": value for name, value in values.items()}, steps)
    ran = Ran()
    (room / "workspace").mkdir()
    for step in action["runs"]["steps"]:
        if not expressions.holds(step.get("if"), ran.passed):
            continue
        ran.steps.append(step["name"])
        if "uses" in step:
            ran.used[step["uses"]] = {name: expressions.inserted(value) for name, value in step["with"].items()}
        else:
            _run_step(step, expressions, ran, room, {**env, "GITHUB_ACTION_PATH": str(place)})
    for name, about in action["outputs"].items():
        ran.outputs[name] = expressions.inserted(about["value"])
    return ran


def _run_step(step: dict[str, Any], expressions: Expressions, ran: Ran, room: Path, env: dict[str, str]) -> None:
    own = {name: expressions.inserted(value) for name, value in step.get("env", {}).items()}
    files = {f"GITHUB_{name}": room / name.lower() for name in ("OUTPUT", "STEP_SUMMARY", "ENV", "PATH")}
    for path in files.values():
        path.write_text("")
    (room / "temp").mkdir(exist_ok=True)
    script = room / "temp" / "step.sh"
    script.write_text(expressions.inserted(step["run"]))
    words = [*SHELLS[step["shell"]], str(script)]
    known = {**env, **own, **{name: str(path) for name, path in files.items()}, "RUNNER_TEMP": str(room / "temp")}
    done = subprocess.run(words, cwd=room / "workspace", env=known, capture_output=True, text=True, timeout=120)
    ran.log += done.stdout + done.stderr
    ran.summary += files["GITHUB_STEP_SUMMARY"].read_text()
    ran.passed = ran.passed and done.returncode == 0
    if files["GITHUB_ENV"].read_text() or files["GITHUB_PATH"].read_text():
        raise NotDone("an environment or a path that a step leaves to the next")
    for line in files["GITHUB_OUTPUT"].read_text().splitlines():
        name, sign, value = line.partition("=")
        if not sign or "<<" in name:
            raise NotDone(f"an output like {line}")
        expressions.names[f"steps.{step['id']}.outputs.{name}"] = value


def environment(tools: Path, commands: Mapping[str, str]) -> dict[str, str]:
    """This process's environment, without what only GitHub or a test run would set, and with some commands first."""
    tools.mkdir()
    for name, script in commands.items():
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)
    ours = ("GITHUB_", "RUNNER_", "PYTEST_", "COUNTERFOIL_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PATH": f"{tools}{os.pathsep}{kept['PATH']}"}
