"""What is compared of contexts after each step: facts that neither wait nor claim nor compute anything."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from counterfoil_oracles.actions.contexts import context_facts, node_facts
from counterfoil_oracles.cuda.progress import is_written, why_lost
from counterfoil_oracles.environment import Environment
from counterfoil_oracles.observe import Observation, role
from counterfoil_spec.refusals import Lost

EVENTS: Final = ("pools_allocated", "pools_freed", "units_created", "units_released", "peak_pool_bytes")
"""Counters of the census that say what happened, not what is."""


WAITED_FOR: Final = 3
"""One step in so many, CUDA devices are waited for; between, work piles up, and bytes it writes are not looked at."""

IN_TURN: Final = 5
"""One in so many nodes is looked at although a context knows nothing of it."""


class ContextObserver:
    """The contexts and nodes of one environment by name, and what they show now.

    A value's bindings never change, so the buffers it binds are looked for once. The bytes of an asynchronous device's
    buffers are not looked at: its work is under way. Those of a CUDA device are where no work that writes them is known
    to be pending, as they are then; now and then the device is waited for. Of a node that a context neither binds nor
    placed there is little to see: such nodes are looked at in turn.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._inspection: Any = env.half.inspection
        self._contexts: dict[str, Any] = {}
        self._nodes: dict[str, Any] = {}
        self._bound: dict[str, dict[str, Any]] = {}
        self._adding: dict[str, Any] = {}
        self.turn = 0

    @property
    def contexts(self) -> list[str]:
        """The names of the contexts watched, oldest first."""
        return list(self._contexts)

    def learn(self, name: str, thing: Any) -> None:
        """Watch a context, or a node in every context, from now on."""
        match role(thing):
            case "context":
                self._contexts[name] = thing
                self._bound.pop(name, None)
                self._learn_routine(name)
            case "node":
                self._nodes[name] = thing
            case "tensor":
                self._nodes[name] = thing.value
                if thing.grad is not None:
                    self._nodes[f"{name}.grad"] = thing.grad

    def forget(self, name: str) -> None:
        """Watch an object no longer."""
        self._contexts.pop(name, None)
        self._nodes.pop(name, None)
        self._nodes.pop(f"{name}.grad", None)
        self._bound.pop(name, None)
        self._adding.pop(name, None)

    def _learn_routine(self, name: str) -> None:
        """Watch the counts of the routine a compile made with the context, if it has any."""
        self._adding.pop(name, None)
        routine = self._env.names.get(f"{name}.routine")
        if routine is not None and self._inspection.run_counts(routine):
            self._adding[name] = routine

    def look(self, names: Iterable[str]) -> Observation:
        """What the contexts of those names show, the allocation census, and the run counts of every routine watched."""
        if not self._contexts:
            return {}
        seen: Observation = {f"census: {name}": count for name, count in self._env.holdings.census().items()}
        for name, routine in self._adding.items():
            counts = self._inspection.run_counts(routine)
            seen[f"runs counted of {name}"] = {node.label: count for node, count in counts.items()}
        for name in names:
            if name in self._contexts:
                self._look_at(name, seen)
        return seen

    def _look_at(self, name: str, seen: Observation) -> None:
        context = self._contexts[name]
        seen[name] = context_facts(context)
        bound, placements = self._buffers(name, context), context.placements
        for at, (node_name, node) in enumerate(self._nodes.items()):
            if node_name in bound or node in placements or (at - self.turn) % IN_TURN == 0:
                seen[f"{node_name} in {name}"] = node_facts(context, node)
        memory_bytes = self._inspection.memory_bytes
        for node_name, buffer in bound.items():
            dead = buffer.dead
            seen[f"buffer of {node_name} in {name}"] = (dead, buffer.claims, buffer.access)
            if dead is None and self._is_done(context, buffer):
                seen[f"bytes of {node_name} in {name}"] = memory_bytes(buffer)

    def _is_done(self, context: Any, buffer: Any) -> bool:
        """Whether no work that writes a context's buffer is known to be left, a CUDA device waited for in its turn."""
        if context.backend_name != "cuda":
            return bool(context.backend_name == "cc")
        device = buffer.device
        if why_lost(device) is not None:
            return False
        if not self.turn % WAITED_FOR:
            with suppress(Lost):
                device.advance(device.submitted - device.reached)
        return why_lost(device) is None and not is_written(buffer)

    def _buffers(self, name: str, context: Any) -> dict[str, Any]:
        found = self._bound.get(name)
        if found is None:
            arrays = [(node_name, self._inspection.array(context, node)) for node_name, node in self._nodes.items()]
            found = {node_name: array.buffer for node_name, array in arrays if array is not None}
            self._bound[name] = found
        return found


def comparable(seen: Observation, other: Observation) -> Observation:
    """What was seen but for bytes that the other one did not look at."""
    return {what: found for what, found in seen.items() if what in other or not what.startswith("bytes of ")}


def lasting(seen: Observation) -> Observation:
    """What a question or a refusal may not change: all that was seen but the census of past events."""
    return {what: found for what, found in seen.items() if what.removeprefix("census: ") not in EVENTS}
