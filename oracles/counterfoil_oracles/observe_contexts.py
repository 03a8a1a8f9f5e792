"""What is compared of contexts after each step: facts that neither wait nor claim nor compute anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from counterfoil_oracles.actions.contexts import context_facts, node_facts
from counterfoil_oracles.environment import Environment
from counterfoil_oracles.observe import Observation, role
from counterfoil_spec.refusals import Lost

EVENTS: Final = ("pools_allocated", "pools_freed", "units_created", "units_released", "peak_pool_bytes")
"""Counters of the census that say what happened, not what is."""


WAITED_FOR: Final = 3
"""One step in so many, CUDA devices are waited for and the bytes there looked at; between, work piles up."""

IN_TURN: Final = 5
"""One in so many nodes is looked at although a context knows nothing of it."""


class ContextObserver:
    """The contexts and nodes of one environment by name, and what they show now.

    A value's bindings never change, so the buffers it binds are looked for once. The bytes of an asynchronous device's
    buffers are not looked at: its work is under way; a CUDA device is waited for now and then. Of a node that a context
    neither binds nor placed there is little to see: such nodes are looked at in turn.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._inspection: Any = env.half.inspection
        self._contexts: dict[str, Any] = {}
        self._nodes: dict[str, Any] = {}
        self._bound: dict[str, dict[str, Any]] = {}
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

    def look(self, names: Iterable[str]) -> Observation:
        """What the contexts of those names show, and the allocation census."""
        if not self._contexts:
            return {}
        seen: Observation = {f"census: {name}": count for name, count in self._env.holdings.census().items()}
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
        """Whether nothing is left to do with a context's buffers, a CUDA device having been waited for in its turn."""
        if context.backend_name != "cuda" or self.turn % WAITED_FOR:
            return bool(context.backend_name == "cc")
        device = buffer.device
        try:
            device.advance(device.submitted - device.reached)
        except Lost:
            return False
        return True

    def _buffers(self, name: str, context: Any) -> dict[str, Any]:
        found = self._bound.get(name)
        if found is None:
            arrays = [(node_name, self._inspection.array(context, node)) for node_name, node in self._nodes.items()]
            found = {node_name: array.buffer for node_name, array in arrays if array is not None}
            self._bound[name] = found
        return found


def lasting(seen: Observation) -> Observation:
    """What a question or a refusal may not change: all that was seen but the census of past events."""
    return {what: found for what, found in seen.items() if what.removeprefix("census: ") not in EVENTS}
