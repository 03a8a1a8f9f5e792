"""What the context machine knows of what it has made, so that it can draw commands that mean something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from counterfoil_oracles.driver import Driver
from counterfoil_oracles.machines.choices import Chooser, chance, pick
from counterfoil_oracles.machines.world import Plan, World, ref
from counterfoil_spec.commands import Command, Outcome, Refused, Returned
from counterfoil_spec.refusals import Refusal

Data = dict[str, Any]

MOST_CONTEXTS = 24
"""Contexts a program keeps names of; older ones are forgotten, never released by that."""


class ContextWorld(World):
    """A world with contexts, their routines and the nodes of one universe."""

    def __init__(self, driver: Driver, chooser: Chooser) -> None:
        super().__init__(driver, chooser)
        self.contexts: list[str] = []
        self.roots: dict[str, str] = {}
        self.parents: dict[str, str] = {}
        self.routines: dict[str, str] = {}
        self.comps: list[str] = []
        self.labels: dict[str, str] = {}
        self.fragments: dict[tuple[str, str], str] = {}
        self.reuses: dict[str, tuple[str, str]] = {}
        self.histories: list[str] = []
        self.told: Counter[str] = Counter()
        self.interlude: Callable[[], Plan[None]] = _nothing
        self.host = ""
        self.dtype_name = "float32"
        self.asynchronous = False
        self.computing = False

    # --- drawing -----------------------------------------------------------------------------------------------------

    def is_live(self, context: str) -> bool:
        """Whether operations on the context pass the door: nothing of it was released."""
        try:
            self.named(context).sync()
        except Refusal as refusal:
            return not refusal.rule.startswith("release/")
        return True

    def context(self) -> str:
        """A context: mostly a live one, and of those mostly a late one; sometimes a released one."""
        c = self.chooser
        live = [name for name in self.contexts if self.is_live(name)]
        if not live or chance(c, 6):
            return pick(c, self.contexts)
        return pick(c, live[-4:] if chance(c, 70) else live)

    def routine(self) -> str:
        """A routine's name."""
        return pick(self.chooser, [f"{name}.routine" for name in self.routines])

    def runnable(self) -> tuple[str, str] | None:
        """A context and a routine that would run from it, or None where the tries found none."""
        c, routines = self.chooser, list(self.routines)
        for _ in range(8):
            made = pick(c, routines[-8:] if chance(c, 70) else routines)
            context = made if chance(c, 60) else self.context()
            if self.would_run(context, f"{made}.routine"):
                return context, f"{made}.routine"
        return None

    def would_run(self, context: str, routine: str) -> bool:
        """Whether the checks that come before the reset refusal pass."""
        try:
            self.named(context).check_runnable(self.named(routine))
        except Refusal:
            return False
        return True

    def bound(self, context: str, nodes: Iterable[str]) -> list[str]:
        """The nodes, by label, that a context binds."""
        return [label for label in nodes if label in self.labels and self.holds(context, label)]

    def holds(self, context: str, label: str) -> bool:
        """Whether a context binds the node of that label."""
        found: bool = self.named(context).mem(self.named(self.labels[label]))
        return found

    def node(self, label: str) -> Data:
        """A reference to the node of that label, which has been made."""
        return ref(self.labels[label])

    def made_labels(self) -> list[str]:
        """The labels of the nodes made so far."""
        return list(self.labels)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, command: Command, outcome: Outcome) -> None:
        """Take note of a command that has run, if it returned."""
        super().learn(command, outcome)
        name = command.bind
        if name is None or not isinstance(outcome, Returned) or name not in self.driver.names:
            return
        match self.roles[name]:
            case "context":
                self._learn_context(name, command)
            case "node":
                self.labels[str(command.args["label"])] = name
            case "word" if command.do in ("comp", "comp.sequence"):
                self.comps.append(name)
            case "word" if command.do == "fragment":
                self.fragments[command.args["label"], command.args["kind"]] = name
            case "word" if command.do == "save_history":
                self.histories.append(name)

    def _learn_context(self, name: str, command: Command) -> None:
        self.contexts.append(name)
        if "context" in command.args:
            origin: str = command.args["context"]["ref"]
            self.parents[name] = origin
            self.roots[name] = self.roots.get(origin, origin)
        else:
            self.roots[name] = name
        if command.do == "compile":
            self.routines[name] = command.args["comp"]["ref"]

    def surplus(self) -> list[str]:
        """Names of contexts that are more than a program keeps, oldest first, roots excepted."""
        count = len(self.contexts) - MOST_CONTEXTS
        return [name for name in self.contexts if self.roots[name] != name][: max(count, 0)]

    def _forget(self, name: str) -> None:
        super()._forget(name)
        if name in self.contexts:
            self.contexts.remove(name)
            self.routines.pop(name, None)


def accepted(outcome: Outcome) -> bool:
    """Whether a command returned."""
    return isinstance(outcome, Returned)


def refused_by(outcome: Outcome, rule: str) -> bool:
    """Whether a command was refused by that rule."""
    return isinstance(outcome, Refused) and outcome.rule == rule


def _nothing() -> Plan[None]:
    yield from ()


ContextPlan = Callable[[ContextWorld], Plan[None]]
"""A plan of the context machine."""
