"""The driver: runs commands (operations on the surface as data) on one half and says what came of each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self

from counterfoil_oracles.actions import ANSWERS, MAKES, MAY_MAKE
from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.environment import Environment, HarnessError
from counterfoil_spec.commands import Command, Fault, Outcome, Refused, Returned, Trace
from counterfoil_spec.refusals import Refusal

_MADE: Final = Returned(None)
_MADE_SOMETHING: Final = Returned(True)
_MADE_NOTHING: Final = Returned(False)


class Driver:
    """One half with an environment of names; ``execute`` runs one command of ``counterfoil_spec.commands``.

    Files live in a private directory, and refusals show their paths relative to it. ``close`` (or the end of a
    ``with`` block) undoes what the commands left behind, as ``Environment.close`` says.
    """

    def __init__(self, half: Any) -> None:
        self.environment = Environment(half)

    @property
    def half(self) -> Any:
        """The half the commands run on."""
        return self.environment.half

    @property
    def names(self) -> dict[str, Any]:
        """The objects made so far, by name."""
        return self.environment.names

    def execute(self, command: Command) -> Outcome:
        """The outcome of one command; what it makes is bound to ``command.bind``.

        A ``Refusal`` becomes ``Refused``, anything else raised a ``Fault``. HarnessError for an unknown command.
        """
        answer = ANSWERS.get(command.do)
        make = MAKES.get(command.do)
        try:
            if answer is not None:
                return Returned(answer(self.environment, command.args))
            if make is not None:
                return self._bound(command, make(self.environment, command.args))
        except Refusal as refusal:
            return Refused(refusal.rule, self._relative(refusal.subjects))
        except Exception as error:
            return Fault(f"{type(error).__name__}: {error}")
        raise HarnessError(f"no driver knows the command {command.do!r}")

    def run(self, commands: Iterable[Command]) -> list[Outcome]:
        """The outcome of each command, in order."""
        return [self.execute(command) for command in commands]

    def close(self) -> None:
        """Undo what the commands left behind."""
        self.environment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _bound(self, command: Command, made: Any) -> Outcome:
        if made is None:
            if command.do in MAY_MAKE:
                return _MADE_NOTHING
            raise TypeError(f"{command.do} made nothing")
        if command.bind is not None:
            self.environment.bind(command.bind, made)
        return _MADE_SOMETHING if command.do in MAY_MAKE else _MADE

    def _relative(self, subjects: dict[str, Any]) -> dict[str, Any]:
        directory = self.environment.directory
        if directory is None:
            return subjects
        return {
            name: value.replace(directory + os.sep, "") if isinstance(value, str) else value
            for name, value in subjects.items()
        }


def run_trace(half: Any, trace: Trace) -> list[Outcome]:
    """The outcomes of a trace's commands on a half, in a fresh environment."""
    with between_programs(), Driver(half) as driver:
        return driver.run(step.command for step in trace.steps)
