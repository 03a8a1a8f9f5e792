"""Token bags beside a driver of the reference: every accepted command of a trace or a machine, told to the root's bags.

    follower = Follower(driver)
    outcome = driver.execute(command)
    wrong = follower.follow(command, outcome)

The reference alone says which location a routine binds; where the machine holds both halves equal, what is found of one
is found of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.actions.arguments import named
from counterfoil_oracles.actions.programs import node_of
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.histories.bags import Bags, Compiled, Event, Ran, Restored, RolledBack, Written
from counterfoil_spec.commands import Command, Outcome, Returned

Told = list[tuple[Any, Event]]
"""The events of one command, each with the ledger of its root."""


class Follower:
    """The bags of every root of one driver."""

    def __init__(self, driver: Driver) -> None:
        self._environment = driver.environment
        self._roots: dict[int, tuple[Any, Bags]] = {}
        self._ledgers: dict[str, Any] = {}

    def follow(self, command: Command, outcome: Outcome) -> list[str]:
        """Tell the bags what an accepted command did; what is wrong with it."""
        tell = _TELLERS.get(command.do)
        if tell is None or not isinstance(outcome, Returned):
            return []
        wrong: list[str] = []
        for ledger, event in tell(self, command):
            wrong += self._roots.setdefault(id(ledger), (ledger, Bags()))[1].follow(event)
        return wrong

    def _named(self, command: Command, key: str) -> Any:
        return named(self._environment, command.args[key])

    def _made(self, command: Command) -> Any:
        """The value the command returned, None where its trace did not name it."""
        return None if command.bind is None else self._environment.names[command.bind]

    def _compiled(self, command: Command) -> Told:
        made = self._made(command)
        if made is None:
            return []
        path = tuple(entry.routine_id for entry in made.lineage)
        return [(made.ledger, Compiled(path[-1], path, self._named(command, "comp")))]

    def _ran(self, command: Command) -> Told:
        routine = self._named(command, "routine")
        timing = bool(command.args.get("timing", False))
        path = tuple(entry.routine_id for entry in self._named(command, "context").lineage)
        return [(routine.ledger, Ran(routine.routine_id, routine.locations, timing, path))]

    def _written(self, command: Command) -> Told:
        context = self._named(command, "context")
        node = node_of(self._environment, command.args["node"])
        bound = self._made(command) or context
        if command.do == "copy_from":
            source = self._named(command, "source").buffers.get(node)
            if command.args.get("into_merge_buffer") or source is context.buffers.get(node):
                return []
        return [(context.ledger, Written(bound.buffers[node]))] if node in bound.buffers else []

    def _rolled_back(self, command: Command) -> Told:
        routine = self._named(command, "routine")
        known = hasattr(routine, "routine_id")
        number = routine.routine_id if known else routine
        return [(self._named(command, "context").ledger, RolledBack(number))]

    def _saved(self, command: Command) -> Told:
        if command.bind is not None:
            self._ledgers[command.bind] = self._named(command, "context").ledger
        return []

    def _restored(self, command: Command) -> Told:
        return [(self._ledgers[command.args["history"]["ref"]], Restored())]


_TELLERS: Final[dict[str, Callable[[Follower, Command], Told]]] = {
    "compile": Follower._compiled,
    "run": Follower._ran,
    **dict.fromkeys(("set_values", "set_value", "from_host", "copy_from"), Follower._written),
    "rollback": Follower._rolled_back,
    "save_history": Follower._saved,
    "restore_history": Follower._restored,
}
