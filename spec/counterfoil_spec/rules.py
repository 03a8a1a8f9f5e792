"""The registry of rules: one TOML table per chapter, read once."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, Literal

CHAPTERS: Final = (
    "arguments", "dtypes", "layouts", "moves", "arrays", "memory", "claims", "door", "kernels",
    "programs", "contexts", "compile", "run", "gradients", "release", "transfers", "observability", "placement",
    "planning", "frontend",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    ``kind``: a *refusal* raises ``raises`` naming ``names``; a *law* is a statement that results must satisfy.
    ``message`` is a format string over the names. ``order`` is the place in A13's order outside the door (argument
    facts 10, dead 20, exclusive 21, read-only 22, reach 30, alignment 31, off host 32, repeated 40, overlap 50,
    resources 60, lost 70). ``seed`` cites lines of the array seed (``seed:123``), of the context seed
    (``context:37``) and decisions (``A3``). A *planned* rule is stated and not yet enforced.
    """

    id: str
    kind: Literal["refusal", "law"]
    statement: str
    why: str
    fix: str
    seed: tuple[str, ...]
    names: tuple[str, ...] = ()
    raises: str = ""
    message: str = ""
    order: int = 0
    status: Literal["active", "planned"] = "active"

    @property
    def chapter(self) -> str:
        """The chapter: the id's first part."""
        return self.id.split("/")[0]

    def render(self, subjects: Mapping[str, object]) -> str:
        """The refusal's text for those subjects."""
        return self.message.format_map({name: _worded(value) for name, value in subjects.items()})


def _worded(value: object) -> object:
    """A subject in a sentence: names joined by commas, ``[name, ...]`` as ``name (...)``; other values as they are."""
    if not isinstance(value, (list, tuple)) or not value or all(isinstance(entry, int) for entry in value):
        return value
    if all(isinstance(entry, str) for entry in value):
        return ", ".join(value)
    if all(isinstance(entry, (list, tuple)) and entry and isinstance(entry[0], str) for entry in value):
        return ", ".join(_detailed(entry) for entry in value)
    return value


def _detailed(entry: Sequence[object]) -> str:
    details = [str(_worded(detail)) for detail in entry[1:] if detail not in (None, [], ())]
    return f"{entry[0]} ({', '.join(details)})" if details else str(entry[0])


def rule_of(rule_id: str) -> Rule:
    """The rule of that id; KeyError if there is none."""
    return registry()[rule_id]


@functools.cache
def registry() -> Mapping[str, Rule]:
    """All rules by id, in the order of chapters and files."""
    return {rule.id: rule for chapter in CHAPTERS for rule in _chapter(chapter)}


@functools.cache
def operations() -> Mapping[str, tuple[str, ...]]:
    """The refusals of each operation of the surface, in the order in which they are looked for."""
    table = tomllib.loads((files(__package__) / "rules" / "operations.toml").read_text("utf-8"))
    return {name: tuple(ids) for name, ids in table.items()}


def _chapter(chapter: str) -> list[Rule]:
    table = tomllib.loads((files(__package__) / "rules" / f"{chapter}.toml").read_text("utf-8"))
    return [_rule(f"{chapter}/{name}", fields) for name, fields in table.items()]


def _rule(rule_id: str, fields: dict[str, object]) -> Rule:
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return Rule(id=rule_id, **lists)  # type: ignore[arg-type]
