"""Token bags carried beside the steps of a program: the gradient theorems, checked as the reference goes along.

The reference alone says which buffers a routine binds, those included that it reads of its own comp.
"""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.actions.programs import node_of
from counterfoil_oracles.environment import Environment
from counterfoil_oracles.histories.bags import Bags, Compiled, Event, Ran, Restored, RolledBack, Written
from counterfoil_oracles.histories.cycles import Bag
from counterfoil_spec.commands import Command, Outcome, Returned

_UPLOADS: Final = ("from_host", "set_values", "set_value")


class TokenWatch:
    """The bags of every root of one environment, and the lineage of every value by name."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._bags: dict[int, Bags] = {}
        self._paths: dict[str, tuple[int, ...]] = {}
        self._histories: dict[str, int] = {}
        self._by_hand: set[Any] = set()
        self._held: dict[str, Any] = {}

    def follow(self, command: Command, outcome: Outcome) -> list[str]:
        """What is wrong with the theorems after a step, in words; nothing after a step that was not accepted."""
        if not isinstance(outcome, Returned):
            return []
        self._before_learning(command)
        wrong = [text for root, event in self._events(command) for text in self._of(root).follow(event)]
        self._learn(command)
        return wrong

    def before(self, command: Command) -> None:
        """Note what a copy is about to find: whether both sides bind one buffer already."""
        self._held = {}
        if command.do == "copy_from":
            self._held = {key: self._location(command.args[key], command) for key in ("context", "source")}

    def _of(self, root: int) -> Bags:
        return self._bags.setdefault(root, Bags())

    def _before_learning(self, command: Command) -> None:
        if command.do == "save_history" and command.bind is not None:
            self._histories[command.bind] = self._root(command.args["context"])
        if command.do == "compile" and "prelowered" in command.args:
            self._by_hand.add(self._env.names[f"{command.bind}.routine"])

    def _learn(self, command: Command) -> None:
        if command.bind is not None and "context" in command.args and command.do != "compile":
            self._paths[command.bind] = self._paths.get(command.args["context"]["ref"], ())

    def _events(self, command: Command) -> list[tuple[int, Event]]:
        args = command.args
        match command.do:
            case "compile":
                return self._compiled(command)
            case "run":
                return self._ran(command)
            case "rollback" if isinstance(args["routine"], dict):
                return [(self._root(args["context"]), RolledBack(self._env.names[args["routine"]["ref"]].routine_id))]
            case "restore_history" if args["history"]["ref"] in self._histories:
                return [(self._histories[args["history"]["ref"]], Restored())]
            case "copy_from" if not args.get("into_merge_buffer"):
                adopted = self._held["source"] is not None and self._held["context"] == self._held["source"]
                return [] if adopted else self._written(command)
        return self._written(command) if command.do in _UPLOADS else []

    def _compiled(self, command: Command) -> list[tuple[int, Event]]:
        routine = self._env.names[f"{command.bind}.routine"]
        path = (*self._paths.get(command.args["context"]["ref"], ()), routine.routine_id)
        self._paths[command.bind or ""] = path
        if routine in self._by_hand:
            return []
        comp = self._env.names[command.args["comp"]["ref"]]
        return [(self._root(command.args["context"]), Compiled(routine.routine_id, path, comp))]

    def _ran(self, command: Command) -> list[tuple[int, Event]]:
        routine = self._env.names[command.args["routine"]["ref"]]
        root = self._env.holdings.root_of_routine(routine)
        buffers = {node: _place(location.array) for node, location in routine.locations.items()}
        if routine in self._by_hand:
            for node in routine.outputs:
                self._of(root).buffers.setdefault(buffers[node], Bag()).void = True
            return []
        path = self._paths.get(command.args["context"]["ref"], ())
        return [(root, Ran(routine.routine_id, buffers, bool(command.args.get("timing")), path))]

    def _written(self, command: Command) -> list[tuple[int, Event]]:
        location = self._location({"ref": command.bind} if command.bind else command.args["context"], command)
        return [] if location is None else [(self._root(command.args["context"]), Written(location))]

    def _location(self, context: Any, command: Command) -> Any:
        found = self._env.names.get(context["ref"])
        node = node_of(self._env, command.args["node"])
        array = None if found is None else self._env.half.inspection.array(found, node)
        return None if array is None else _place(array)

    def _root(self, context: Any) -> int:
        return self._env.holdings.root_of(self._env.names[context["ref"]])


def _place(array: Any) -> Any:
    """The reference's memory under an array, and where in it: while it is held, no other is taken for it."""
    return array.buffer.memory, array.buffer.first
