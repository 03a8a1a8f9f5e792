"""What is compared besides outcomes: facts of every live object that neither wait nor claim anything."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from counterfoil_oracles.actions.buffers import state
from counterfoil_oracles.actions.layouts import facts
from counterfoil_oracles.cuda.setting import is_cuda
from counterfoil_oracles.environment import OpenClaims
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.nodes import Node

Observation = dict[str, object]


def made(thing: Any) -> Observation:
    """The facts of an object as it is made: what never changes afterwards."""
    match role(thing):
        case "array":
            return {"dtype": thing.dtype.name, **facts(thing.layout), **state(thing.buffer)}
        case "buffer":
            return state(thing)
        case "layout":
            return facts(thing)
        case "device":
            return {"name": thing.name, "budget": thing.budget}
    return {}


def role(thing: Any) -> str:
    """What an object is, by what it offers: array, buffer, layout, device, claims, dtype, node, tensor, context, or
    another word of programs."""
    if isinstance(thing, OpenClaims):
        return "claims"
    if isinstance(thing, Dtype):
        return "dtype"
    if hasattr(thing, "layout"):
        return "array"
    if hasattr(thing, "overlaps"):
        return "buffer"
    if hasattr(thing, "strides"):
        return "layout"
    if isinstance(thing, Node):
        return "node"
    if hasattr(thing, "ledger_records"):
        return "context"
    if hasattr(thing, "grad") and hasattr(thing, "value"):
        return "tensor"
    return "device" if hasattr(thing, "submitted") else "word"


class Observer:
    """The names of one environment by role, and what they show now; arrays by their buffers, unless told not to."""

    def __init__(self, half: Any, arrays: bool = True) -> None:
        self.inspection: Any = half.inspection
        self.arrays = arrays
        self.buffers: dict[str, tuple[Any, str, str]] = {}
        self.devices: dict[str, Any] = {}
        self.live_before: dict[int, int] = {}

    def learn(self, name: str, thing: Any) -> None:
        """Watch an object from now on, an array by its buffer."""
        match role(thing):
            case "array" if self.arrays:
                self.buffers[name] = (thing.buffer, f"state of {name}", f"bytes of {name}")
            case "buffer":
                self.buffers[name] = (thing, f"state of {name}", f"bytes of {name}")
            case "device":
                self.devices[name] = thing
                self.live_before.setdefault(id(thing), self.inspection.live_bytes(thing))

    def forget(self, name: str) -> None:
        """Watch an object no longer."""
        self.buffers.pop(name, None)
        self.devices.pop(name, None)

    def look(self, unsettled: Collection[str] = (), counted: bool = True) -> Observation:
        """What every watched object shows now: states of buffers, bytes of live ones, counts of devices.

        Bytes of the ``unsettled`` buffers are left out, and how far CUDA devices are: that is their own affair. So is
        how much they have to do, unless it is ``counted``.
        """
        seen: Observation = {}
        memory_bytes = self.inspection.memory_bytes
        for name, (buffer, its_state, its_bytes) in self.buffers.items():
            dead = buffer.dead
            seen[its_state] = (dead, buffer.claims, buffer.access)
            if dead is None and name not in unsettled:
                seen[its_bytes] = memory_bytes(buffer)
        live_bytes = self.inspection.live_bytes
        for name, device in self.devices.items():
            live = live_bytes(device) - self.live_before[id(device)]
            work = (device.submitted, device.reached)
            if is_cuda(device):
                work = (device.submitted if counted else 0, 0)
            seen[f"device {name}"] = (*work, live, device.budget)
        return seen
