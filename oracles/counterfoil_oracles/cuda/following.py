"""Following: the reference's modelled CUDA devices come as far as the subject's, whose progress is their own affair.

Before and after each command the subject's devices are asked how far they are, and the reference performs that much.
After a command the subject must have come at least as far as the reference, which performs no more than a wait needs:
so a wait that is missing shows. Bytes that pending work may write, and bytes of lost memory, are not compared.

What contexts do beside their runs is no submission of the reference's: once there is a context on a CUDA device, the
reference performs everything at once. What of it the subject had not done by the time its device is lost is taken for
lost in the reference too: a root whose run was under way is poisoned in both halves or in neither.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from counterfoil_oracles.cuda.progress import is_written, known, why_lost
from counterfoil_oracles.cuda.setting import Setting, devices_of, is_cuda
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.numeric import take_over
from counterfoil_oracles.observe import Observation
from counterfoil_spec.commands import Command, Outcome, Returned
from counterfoil_spec.dtypes import Kind
from counterfoil_spec.kernels import KERNELS, Family
from counterfoil_spec.refusals import Lost

SUBJECT_FIRST: Final = frozenset({"device.lose", "device.state", "buffer.borrow", "array.borrow"})
"""Commands whose outcome depends on how far the subject is, or on its addresses: it goes first, and is followed."""

ALLOCATES: Final = frozenset({"buffer", "empty", "array.to_device", "array.copy"})
"""Commands that make memory of a device."""

_KEPT: Final = 4096
"""Most kernel calls whose operands are kept until they are performed."""

_TRIES: Final = 20
"""Looks at a subject whose devices come further all the time."""

_EXACT: Final = (Family.FILL, Family.IOTA, Family.COPY)


@dataclass
class _Run:
    """A run that the reference has performed: the subject's device and submission, None until the subject made it, and
    what to call where it is dropped."""

    device: Any
    dropped: Callable[[], None]
    number: int | None = None


class Following:
    """The CUDA devices of both halves side by side."""

    def __init__(self, reference: Driver, subject: Driver) -> None:
        self._drivers = (reference, subject)
        self._calls: deque[tuple[Any, Any]] = deque(maxlen=_KEPT)
        self._runs: list[_Run] = []
        self.counted = True

    @property
    def _devices(self) -> list[tuple[Any, Any]]:
        ours, theirs = (devices_of(driver.half) for driver in self._drivers)
        return list(zip(ours, theirs, strict=True))

    # --- before a command --------------------------------------------------------------------------------------------

    def catch_up(self, reached: list[int] | None = None, losing: bool = False) -> str | None:
        """Let the reference perform what the subject has reached, and lose what it lost; what is wrong, in words.

        ``reached``: how far the devices were, None for now. ``losing``: the subject was just told to lose a device, and
        the reference is next.
        """
        if not self.counted:
            return None
        reference = self._drivers[0].half
        for (ours, theirs), come in zip(self._devices, reached or self._reached(), strict=True):
            lost = None if losing else why_lost(theirs)
            with reference.intervals.watching() as records, suppress(Lost):
                if ours.lost is None and come > ours.reached:
                    ours.advance(come - ours.reached)
                if ours.lost is None and lost is not None:
                    ours.advance(ours.submitted - ours.reached)
            wrong = self._settled(records)
            records.clear()
            if wrong is None and lost is not None and ours.lost is None:
                wrong = f"{theirs.name} was lost: {lost}"
            if wrong is not None:
                return wrong
        return None

    def perform(self, command: Command) -> None:
        """After the reference carried a command out: all of its work, where submissions are not counted."""
        if command.do == "context" and self._is_on_cuda(command):
            self.counted = False
        for ours, theirs in [] if self.counted else self._devices:
            if ours.lost is not None:
                self._lose(theirs)
            self._runs += [_Run(theirs, each.dropped) for each in ours.pending if each.dropped is not None]
            with suppress(Lost):
                ours.advance(ours.submitted - ours.reached)

    def _lose(self, device: Any) -> None:
        """Tell the runs of a lost device that the subject had not done, and forget all of them."""
        mine = [run for run in self._runs if run.device is device]
        self._runs = [run for run in self._runs if run.device is not device]
        for run in mine:
            if run.number is None or run.number > known(device):
                run.dropped()

    def _is_on_cuda(self, command: Command) -> bool:
        made = self._drivers[0].names.get(command.bind or "")
        return made is not None and made.backend_name == "cuda"

    def subject_goes_first(self, command: Command) -> bool:
        """Whether the subject carries the command out before the reference."""
        named = self._named(command.args.get("device"))
        device = named if named is not None else getattr(self._named(command.args.get("array")), "device", None)
        if device is None or not hasattr(device, "submitted") or not is_cuda(device):
            return False
        if command.do in ALLOCATES:  # within a budget: the work that the driver has got is waited for before a refusal
            return device.budget is not None
        return command.do in SUBJECT_FIRST

    def borrowed(self, command: Command, outcome: Outcome) -> None:
        """Let the reference's device map what the subject's mapped: pages are a matter of addresses."""
        device = self._named(command.args.get("device"))
        if command.do.endswith("borrow") and isinstance(outcome, Returned):
            mapped, reference = bool(outcome.value), self._drivers[0].half
            device.borrows = lambda memory: mapped or reference.inspection.whole_pages(memory)

    # --- after a command ---------------------------------------------------------------------------------------------

    def after(self, command: Command, outcome: Outcome) -> str | None:
        """What is wrong after a command, in words: the subject behind the reference, or its results."""
        if not self.counted:
            return self._after_uncounted(command, outcome)
        if command.do == "kernel" and isinstance(outcome, Returned) and outcome.value == "DONE":
            name = command.args["dst"]["ref"]
            ours, theirs = (driver.names[name] for driver in self._drivers)
            self._calls.append((ours, theirs))
            wrong = self._behind()
            if wrong is None and self._leaves_room(command):
                self.finish()
            if wrong is not None:
                return wrong
        else:
            wrong = self._behind()
            if wrong is not None:
                return wrong
        return self.catch_up()

    def _after_uncounted(self, command: Command, outcome: Outcome) -> str | None:
        """The same where submissions are not counted: a sync that does not wait."""
        for run in self._runs:
            if run.number is None:
                run.number = run.device.submitted
        self._runs = [run for run in self._runs if known(run.device) < (run.number or 0)]
        context = self._drivers[1].names.get(command.args["context"]["ref"]) if command.do == "sync" else None
        if context is None or context.backend_name != "cuda" or not isinstance(outcome, Returned):
            return None
        _, theirs = self._devices[context.device.ordinal]
        if known(theirs) < theirs.submitted:
            return f"sync left {theirs.name} at {known(theirs)} of {theirs.submitted}"
        return None

    def steady(self, look: Callable[[], Observation]) -> tuple[Observation, list[int]]:
        """What a look at the subject shows while its devices come no further, and how far they are: what is live
        depends on it."""
        for _ in range(_TRIES):
            reached = self._reached()
            seen = look()
            if reached == self._reached():
                break
        return seen, reached

    def _reached(self) -> list[int]:
        return [theirs.reached for _, theirs in self._devices]

    def finish(self) -> None:
        """Let every device of the subject that is not lost do all it has."""
        for _, theirs in self._devices:
            if why_lost(theirs) is None and theirs.reached < theirs.submitted:
                theirs.advance(theirs.submitted - theirs.reached)

    def unsettled(self, buffer: Any, subject: Any) -> bool:
        """Whether the bytes of a buffer of the reference, and the subject's beside it, are not to be compared now."""
        memory = buffer.memory
        if memory.device.lost is not None:
            return is_cuda(memory.device)
        if not self.counted:
            return is_written(subject)
        return any(timeline.reached < number for timeline, number in memory.stamps.uses.items() if is_cuda(timeline))

    def _behind(self) -> str | None:
        for ours, theirs in self._devices if self.counted else ():
            if ours.lost is None and theirs.reached < ours.reached:
                return f"{theirs.name} has reached {theirs.reached}, and a wait needed {ours.reached}"
        return None

    def _leaves_room(self, command: Command) -> bool:
        """Whether a kernel's results may differ within bounds: then they are taken over before anything reads them."""
        kernel = KERNELS[command.args["name"]]
        if kernel.family in _EXACT or not any(ours.pending for ours, _ in self._devices):
            return False
        dst = self._drivers[0].names[command.args["dst"]["ref"]]
        return kernel.family is Family.MAP or dst.dtype.kind in (Kind.FLOAT, Kind.COMPLEX)

    def _settled(self, records: list[Any]) -> str | None:
        """Check and take over what performed kernels leave room for."""
        inspections = tuple(driver.half.inspection for driver in self._drivers)
        for record in records:
            call = next((call for call in self._calls if call[0] is record.dst), None)
            if call is None or all(accept is None for accept in record.accepts):
                continue
            wrong = take_over(record, *call, *inspections)
            if wrong is not None:
                return wrong
        self._forget()
        return None

    def _forget(self) -> None:
        """Let go of operands whose memory has nothing to do any more."""
        self._calls = deque((call for call in self._calls if self._is_under_way(call[0].buffer.memory)), maxlen=_KEPT)

    def _is_under_way(self, memory: Any) -> bool:
        return any(t.reached < n for t, n in memory.stamps.uses.items() if is_cuda(t) and t.lost is None)

    def _named(self, data: Any) -> Any:
        return self._drivers[0].names.get(data["ref"]) if isinstance(data, dict) and "ref" in data else None


def following(reference: Driver, subject: Driver) -> Following | None:
    """The devices to follow, None where programs use none."""
    return Following(reference, subject) if Setting.devices else None
