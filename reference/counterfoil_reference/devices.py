"""Devices: a name, a timeline and a budget of live bytes (A9). The kinds of device stand in ``places`` and ``disk``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from counterfoil_reference.timeline import Timeline, is_reached, reach
from counterfoil_spec.arguments import integer, text, within
from counterfoil_spec.interface import MemoryKind
from counterfoil_spec.refusals import Refusal, refuse

if TYPE_CHECKING:
    from counterfoil_reference.buffers import Buffer
    from counterfoil_reference.memory import Memory

_MOST: Final = 2**63 - 1


class Device(Timeline):
    """What all devices share. Compared by identity.

    ``addressable``: the host addresses its memory, and it maps the host's. ``runs_work``: it has a timeline.
    ``computes``: it runs kernels on memory it addresses. ``live``: bytes of live memory it made.
    """

    __slots__ = ("_budget", "addressable", "live")
    runs_work: ClassVar[bool] = False
    is_host: ClassVar[bool] = False
    is_disk: ClassVar[bool] = False
    computes: ClassVar[bool] = False

    def __init__(self, name: str, addressable: bool) -> None:
        super().__init__(name)
        self.addressable = addressable
        self.live = 0
        self._budget: int | None = None

    @property
    def budget(self) -> int | None:
        """Most live bytes, or None. Lowering it below what is live frees nothing; refuses memory/negative-budget."""
        return self._budget

    @budget.setter
    def budget(self, nbytes: int | None) -> None:
        if nbytes is not None:
            nbytes = integer("budget", nbytes)
            if nbytes < 0:
                raise refuse("memory/negative-budget", budget=nbytes)
        self._budget = nbytes

    def advance(self, count: int) -> None:
        """Perform the next ``count`` pending submissions, or all there are, each after those it must follow.

        Refuses arguments/integer-range outside [0, 2^63 - 1], and memory/lost if the device is lost before it is done.
        """
        count = within("count", integer("count", count), 0, _MOST)
        target = (self, min(self.reached + count, self.submitted))
        if self.lost is None:
            reach(target)
        if self.lost is not None or not is_reached(target):
            raise self.loss()

    def lose(self, why: str) -> None:
        """Lose the device, its pending work dropped; a second loss keeps the first reason (memory/cannot-be-lost)."""
        why = text("why", why)
        if not self.runs_work:
            raise refuse("memory/cannot-be-lost", device=self.name)
        self.drop(why)

    def maps(self, memory: Memory) -> bool:
        """Whether other devices' memory can be borrowed by this one: an addressable device maps what the host maps."""
        theirs = memory.device
        return self.addressable and (theirs.addressable or (theirs.computes and memory.on_host))

    def buffer(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
        """Fresh memory of ``nbytes`` bytes; each kind of device says how."""
        raise NotImplementedError

    def makes(self, nbytes: int) -> None:
        """Refuse memory/makes-no-memory where the device has no memory of its own for that many bytes."""

    def room(self, nbytes: int) -> None:
        """Refuse memory/exhausted unless ``nbytes`` fit in the budget beside what is live; no bytes always do."""
        if nbytes > 0 and self._budget is not None and self.live + nbytes > self._budget:
            raise self.exhausted(nbytes)

    def exhausted(self, nbytes: int) -> Refusal:
        """The refusal memory/exhausted of that many bytes."""
        return refuse("memory/exhausted", device=self.name, nbytes=nbytes, used=self.live, budget=self._budget)

    def __repr__(self) -> str:
        return f"<device {self.name}>"
