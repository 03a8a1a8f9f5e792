"""What a run of the context machine has met: how much was accepted, which stories were told to their end, which seams
failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from counterfoil_oracles.actions.contexts import seams_of
from counterfoil_oracles.holdings import SEAMS, injected
from counterfoil_oracles.machines.contexts.plans.stories import STORIES
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_spec.commands import Command, Fault, Outcome, Refused, Returned

LEAST_RUNS: Final = 0.40
LEAST_COMPILES: Final = 0.60


@dataclass
class Tally(Histogram):
    """Counts over any number of programs of the context machine."""

    accepted: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    _injected: list[str] = field(default_factory=list)

    def count(self, command: Command, outcome: Outcome, met: list[str]) -> None:
        """Count a step."""
        self.commands[command.do] += 1
        if isinstance(outcome, Refused):
            self.rules[outcome.rule] += 1
        self.accepted[command.do] += isinstance(outcome, Returned)
        if command.do == "inject":
            self._injected = seams_of(command.args) if command.args["pass"] else []
        elif isinstance(outcome, Fault):
            self.failed.update(seam for seam in self._injected if self._is_of(outcome, seam))

    def _is_of(self, fault: Fault, seam: str) -> bool:
        """Whether that is the failure injected at the seam."""
        return fault.error.endswith(injected(seam if len(self._injected) > 1 else None))

    def ratio(self, do: str) -> float:
        """The share of the commands of that kind that were accepted."""
        return self.accepted[do] / (self.commands[do] or 1)

    def shortfalls(self) -> list[str]:
        """What is too rare for the run to mean much, in words; empty when nothing is."""
        low = [
            f"{do}: {self.ratio(do):.0%} of {self.commands[do]} accepted, under {least:.0%}"
            for do, least in (("run", LEAST_RUNS), ("compile", LEAST_COMPILES))
            if self.ratio(do) < least
        ]
        untold = [f"never told: {name}" for name in STORIES if not self.told[name]]
        return low + untold + [f"never failed: {seam}" for seam in SEAMS if not self.failed[seam]]

    def lines(self) -> list[str]:
        """The counts as text."""
        shares = [f"{do} {self.accepted[do]} of {self.commands[do]} ({self.ratio(do):.0%})" for do in _SHARES]
        return [
            f"{self.steps} commands, {len(self.rules)} rules hit",
            "accepted: " + ", ".join(shares),
            "told: " + ", ".join(f"{name} {self.told[name]}" for name in STORIES),
            "failed: " + ", ".join(f"{seam} {self.failed[seam]}" for seam in SEAMS),
        ]


_SHARES: Final = ("compile", "run", "set_values", "copy_from", "to_host", "get_values", "rollback", "context.release")
