"""Coverage: every refusal rule both triggered and passed in each half, every law held by a named test.

Passed means: a call that differs from a refused one only in the faulty operand (or in when it is made) was accepted,
and its effect compared.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from counterfoil_spec.answers import Answer
from counterfoil_spec.commands import Command, Outcome, Refused, Returned
from counterfoil_spec.rules import Rule, registry

NEVER_PASSED: Final[dict[str, str]] = {
    "memory/backend-unavailable": "cuda(n) is accepted only where there is such a device",
}
"""Rules whose accepted counterpart this machine cannot show, with the reason. They must still be triggered."""

OUT_OF_REACH: Final[dict[str, str]] = {
    "memory/ordinal": "without a CUDA driver no ordinal is looked at; programs over CUDA devices trigger it",
    "contexts/none-available": "the host always offers cc where there is a compiler, and the reference needs none",
    "observability/undecided": "a lineage decides every node that a stored definition reads; this guards against a bug",
}
"""Rules that no command can trigger on this machine, with the reason."""

TESTED_ALONE: Final = frozenset({"memory/ordinal", "contexts/none-available"})
"""Those of them that a test triggers where it has made the machine another one: it is named beside the laws'."""

_ANSWER_RULES: Final = {answer.name: answer.rule for answer in Answer if answer is not Answer.DONE}
_DOOR_RULES: Final = frozenset(answer.rule for answer in Answer if answer.refuses)


def planned() -> list[Rule]:
    """The rules that are stated and not enforced yet."""
    return [rule for rule in registry().values() if rule.status == "planned"]


def rule_of_outcome(command: Command, outcome: Outcome) -> str | None:
    """The rule that refused a call, by exception or by answer; None if it was accepted."""
    if isinstance(outcome, Refused):
        return outcome.rule
    if command.do in ("kernel", "door") and isinstance(outcome, Returned):
        return _ANSWER_RULES.get(outcome.value)
    return None


@dataclass
class Coverage:
    """What has been triggered and passed, over any number of programs."""

    triggered: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    _accepted: set[bytes] = field(default_factory=set)
    _refused: defaultdict[bytes, set[str]] = field(default_factory=lambda: defaultdict(set))

    def copy(self) -> Coverage:
        """The same counts, to be added to apart."""
        return Coverage(self.triggered.copy(), self.passed.copy())

    def begin(self) -> None:
        """Another program: its names mean other objects."""
        self._accepted.clear()
        self._refused.clear()

    def observe(self, command: Command, outcome: Outcome) -> None:
        """Take note of a compared step."""
        rule = rule_of_outcome(command, outcome)
        forms = list(_forms(command))
        if rule is not None:
            self.triggered[rule] += 1
            self.passed[rule] += any(form in self._accepted for form in forms)
            for form in forms:
                self._refused[form].add(rule)
        if (isinstance(outcome, Returned) and rule is None) or (command.do == "refused" and rule in _DOOR_RULES):
            self._accepted.update(forms)
            self.passed.update({rule for form in forms for rule in self._refused.pop(form, ())})

    def holes(self) -> list[str]:
        """The active refusal rules that are not covered, in words."""
        found = []
        for rule in registry().values():
            if rule.kind != "refusal" or rule.status != "active":
                continue
            if not self.triggered[rule.id] and rule.id in OUT_OF_REACH:
                continue
            if not self.triggered[rule.id]:
                found.append(f"{rule.id}: never triggered")
            elif not self.passed[rule.id] and rule.id not in NEVER_PASSED:
                found.append(f"{rule.id}: triggered {self.triggered[rule.id]} times, never passed")
        return found


def _forms(command: Command) -> Iterator[bytes]:
    """The call as it stands, and with each operand in turn left open."""
    args = command.args
    yield _form(command.do, args)
    for key, value in args.items():
        if command.do == "kernel" and key == "name":
            continue
        yield _form(command.do, {**args, key: "*"})
        if isinstance(value, list):
            for at in range(len(value)):
                yield _form(command.do, {**args, key: [*value[:at], "*", *value[at + 1 :]]})


def _form(do: str, args: dict[str, Any]) -> bytes:
    return msgspec.json.encode((do, args), order="sorted")


# --- laws ------------------------------------------------------------------------------------------------------------


def law_holes(table: Path, root: Path) -> list[str]:
    """The laws that no test named in ``table`` holds, and the tests named there that do not exist, in words.

    Refusals that only a test can trigger are asked for as laws are.
    """
    named: dict[str, list[str]] = tomllib.loads(table.read_text("utf-8"))
    laws = [rule.id for rule in registry().values() if rule.kind == "law" and rule.status == "active"]
    laws += sorted(TESTED_ALONE)
    found = [f"{law}: no test is named" for law in laws if not named.get(law)]
    found += [f"{law}: no such law" for law in named if law not in laws]
    for law, tests in named.items():
        found += [f"{law}: {test} does not exist" for test in tests if not _exists(root, test)]
    return found


def _exists(root: Path, test: str) -> bool:
    path, _, name = test.partition("::")
    file = root / path
    if not file.is_file():
        return False
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name for node in nodes)
