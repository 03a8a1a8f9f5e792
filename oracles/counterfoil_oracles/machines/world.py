"""What the machine knows of the objects it has made, so that it can draw commands that mean something."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from counterfoil_oracles.driver import Driver
from counterfoil_oracles.machines.choices import Chooser
from counterfoil_oracles.observe import role
from counterfoil_spec.commands import Command, Outcome, Returned, references
from counterfoil_spec.dtypes import Dtype

_T = TypeVar("_T")

Plan = Generator[Command, Outcome, _T]
"""Commands to run next; each is answered with its outcome before the next is drawn."""


@dataclass(frozen=True)
class Place:
    """Where a buffer's bytes lie: which memory, the first byte, whether the host addresses it, on which device.

    ``maker``: the device that made the memory.
    """

    memory: int
    first: int
    addressed: bool
    device: str | None
    maker: str | None = None


class World:
    """The named objects, with what their commands said of them; facts that change are read from the reference."""

    def __init__(self, driver: Driver, chooser: Chooser) -> None:
        self.driver = driver
        self.chooser = chooser
        self.roles: dict[str, str] = {}
        self.places: dict[str, Place] = {}
        self.sizes: dict[int, int] = {}
        self.addressable: dict[str, bool] = {}
        self.lost: set[str] = set()
        self.holding: dict[str, list[str]] = {}
        self.files: list[str] = []
        self.where = "host"
        self._count = 0
        self._memories = 0

    def fresh(self, prefix: str) -> str:
        """A name not used before."""
        self._count += 1
        return f"{prefix}{self._count}"

    def named(self, name: str) -> Any:
        """The reference's object of that name."""
        return self.driver.names[name]

    def all(self, wanted: str) -> list[str]:
        """The names of that role, oldest first."""
        return [name for name, found in self.roles.items() if found == wanted]

    def arrays(self, admit: Callable[[str], bool] = lambda name: True) -> list[str]:
        """The names of the arrays that ``admit`` takes."""
        return [name for name, found in self.roles.items() if found == "array" and admit(name)]

    def buffers(self, admit: Callable[[str], bool] = lambda name: True) -> list[str]:
        """The names of the buffers that ``admit`` takes."""
        return [name for name, found in self.roles.items() if found == "buffer" and admit(name)]

    # --- facts -------------------------------------------------------------------------------------------------------

    def buffer(self, name: str) -> Any:
        """The reference's buffer of that name, or the buffer of its array of that name."""
        thing = self.named(name)
        return thing.buffer if self.roles[name] == "array" else thing

    def dtype(self, array: str) -> Dtype:
        """An array's dtype."""
        found: Dtype = self.named(array).dtype
        return found

    def shape(self, array: str) -> list[int]:
        """An array's shape."""
        return list(self.named(array).shape)

    def size(self, array: str) -> int:
        """How many elements an array has."""
        return math.prod(self.named(array).shape)

    def live(self, name: str) -> bool:
        """Whether a buffer, or an array's, is neither dead nor held exclusive nor of a lost device."""
        buffer = self.buffer(name)
        return buffer.dead is None and not buffer.claims[1] and self.places[name].device not in self.lost

    def usable(self, name: str) -> bool:
        """Whether a kernel that runs ``where`` the plan wants it, on the host or a CUDA device, can read a buffer."""
        place = self.places[name]
        reached = place.addressed if self.where == "host" else self.where in (place.device, place.maker)
        return reached and self.live(name)

    def cuda_devices(self) -> list[str]:
        """The names of the CUDA devices that are not lost."""
        return [name for name in ("cuda0", "cuda1") if name in self.roles and name not in self.lost]

    def near(self, device: str) -> bool:
        """Whether kernels that run ``where`` the plan wants them reach a device's memory of any kind."""
        return self.addressable[device] if self.where == "host" else device == self.where

    def pending(self, name: str) -> bool:
        """Whether the device of a buffer, or of an array's, has work to perform."""
        device = self.buffer(name).device
        return bool(device.submitted > device.reached)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, command: Command, outcome: Outcome) -> None:
        """Take note of a command that has run, if it returned."""
        if not isinstance(outcome, Returned):
            return
        if command.do == "drop":
            for entry in command.args["names"]:
                self._forget(entry["ref"])
        elif command.do == "device.lose":
            self.lost.add(command.args["device"]["ref"])
        elif command.do == "claims.exit":
            self.holding.pop(command.args["claims"]["ref"], None)
        name = command.bind
        if name is None or name not in self.driver.names:
            return
        self.roles[name] = role(self.driver.names[name])
        if self.roles[name] == "device":
            self.addressable[name] = command.do == "host" or bool(command.args.get("addressable", False))
        elif self.roles[name] in ("array", "buffer"):
            self.places[name] = place = self._place(command)
            self.sizes.setdefault(place.memory, self.buffer(name).nbytes)
        elif self.roles[name] == "claims":
            self.holding[name] = list(references(command.args["donate"]))

    def _forget(self, name: str) -> None:
        self.roles.pop(name, None)
        self.places.pop(name, None)
        self.holding.pop(name, None)

    def _place(self, command: Command) -> Place:
        args = command.args
        parent: Any = args.get("buffer") or args.get("array")
        if command.do in ("array.to_device", "array.copy"):
            device: Any = args["device"]["ref"] if "device" in args else self.places[parent["ref"]].device
            return self._new_place(device is None or self.addressable.get(device, False), device)
        if parent is not None:
            found = self.places[parent["ref"]]
            if command.do.endswith("borrow"):
                device = args["device"]["ref"]
                return replace(found, addressed=found.addressed or self.addressable.get(device, False), device=device)
            return replace(found, first=found.first + args.get("first", 0))
        if "device" in args:
            device = args["device"]["ref"]
            host_kind = args.get("kind", "device") != "device"
            return self._new_place(self.addressable.get(device, False) or host_kind, device)
        return self._new_place(not command.do.startswith("disk"), None)

    def _new_place(self, addressed: bool, device: str | None) -> Place:
        self._memories += 1
        return Place(self._memories, 0, addressed, device, device)


def ref(name: str) -> dict[str, str]:
    """A reference, as commands write it."""
    return {"ref": name}


def refs(names: list[str]) -> list[dict[str, str]]:
    """References, as commands write them."""
    return [ref(name) for name in names]


def do(what: str, /, **args: Any) -> Plan[Outcome]:
    """Run one command that binds nothing."""
    return (yield Command(do=what, args=args))


def make(world: World, prefix: str, what: str, /, **args: Any) -> Plan[str | None]:
    """Run one command that makes an object; its name, or None where it made nothing."""
    name = world.fresh(prefix)
    yield Command(do=what, args=args, bind=name)
    return name if name in world.roles else None
