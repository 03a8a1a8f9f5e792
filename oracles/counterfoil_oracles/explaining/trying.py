"""Commands tried out after a program, each time on the reference as the program leaves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.explaining.situation import Repair, Situation, with_names
from counterfoil_spec.commands import Command, Outcome, Refused, Returned

_MOST_REPAIRS: Final = 8

Mend = Callable[[Situation], list[Repair]]


class Bench:
    """Replays a program on a fresh environment of the reference for each try. ``close`` ends the last one."""

    def __init__(self, reference: Any, program: Sequence[Command]) -> None:
        self._reference = reference
        self.program = list(program)
        self._driver: Driver | None = None

    def fresh(self) -> Driver:
        """The reference as the program leaves it; the one before is gone."""
        self.close()
        self._driver = Driver(self._reference)
        self._driver.run(self.program)
        return self._driver

    def unchanged(self) -> Driver:
        """The same, where nothing but refusals happened since: they change nothing."""
        return self._driver if self._driver is not None else self.fresh()

    def accepts(self, command: Command) -> bool:
        """Whether one command in place of the refused one is accepted."""
        outcome = self.unchanged().execute(command)
        if not isinstance(outcome, Refused):
            self.close()
        return is_accepted(command, outcome)

    def confirms(self, commands: Sequence[Command]) -> bool:
        """Whether commands are accepted one after the other, on a fresh replay with nothing tried before."""
        refused = self._first_refused(commands)
        self.close()
        return refused is None

    def mended(self, repair: Repair, command: Command, mend: Mend) -> list[Command] | None:
        """The steps of a repair and the command, with what their own refusals ask for put before them.

        None where one is refused and nothing mends it.
        """
        try:
            return self._mended([*repair.steps, with_names(command, repair.instead)], mend)
        finally:
            self.close()

    def _mended(self, pending: list[Command], mend: Mend) -> list[Command] | None:
        for _ in range(_MOST_REPAIRS):
            refused = self._first_refused(pending)
            if refused is None:
                return pending
            at, situation = refused
            found = next(iter(mend(situation)), None) if situation is not None else None
            if found is None or any(step in pending for step in found.steps):
                return None
            later = [with_names(step, found.instead) for step in pending[at:]]
            pending = [*pending[:at], *found.steps, *later]
        return None

    def _first_refused(self, steps: Sequence[Command]) -> tuple[int, Situation | None] | None:
        """Which step is not accepted, and the situation there where it is refused."""
        driver = self.fresh()
        for at, step in enumerate(steps):
            outcome = driver.execute(step)
            if not is_accepted(step, outcome):
                return at, situation_of(driver, [*self.program, *steps[:at]], step, outcome)
        return None

    def close(self) -> None:
        """Undo what the last try left behind."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None


def is_accepted(command: Command, outcome: Outcome) -> bool:
    """Whether a command did what it was asked."""
    return isinstance(outcome, Returned) and rule_of_outcome(command, outcome) is None


def situation_of(driver: Driver, ran: Sequence[Command], command: Command, outcome: Outcome) -> Situation | None:
    """The situation of a refused command; None where no rule refused it."""
    rule = rule_of_outcome(command, outcome)
    if rule is None:
        return None
    subjects = outcome.subjects if isinstance(outcome, Refused) and outcome.subjects is not None else {}
    return Situation(driver, ran, command, rule, subjects)
