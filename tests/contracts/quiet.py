"""Refusals without their texts: rendering a symbolic number enumerates its digits, and no contract is about words."""

from __future__ import annotations

from types import ModuleType


class Refused(Exception):
    """A refusal, by its rule alone."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def refuse(rule: str, **subjects: object) -> Refused:
    """Stands in for the registry's ``refuse``."""
    return Refused(rule)


def quieten(module: ModuleType) -> None:
    """Make a module of the reference refuse without words."""
    vars(module)["refuse"] = refuse
