"""The driver: hands units to Dask, takes results as they come, gives up on units that kill their workers.

It keeps a bounded number of units with the scheduler. Results come in through a queue, so that the driver also moves
on when nothing comes: to show where it is, to stop in time, to notice that the scheduler is gone.
"""

from __future__ import annotations

import contextlib
import queue
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from counterfoil_oracles.campaigns.clusters import distributed
from counterfoil_oracles.campaigns.merging import Merged
from counterfoil_oracles.campaigns.planning import Plan
from counterfoil_oracles.campaigns.stores import Failures
from counterfoil_oracles.campaigns.units import UNIT_SECONDS, Checked, Result, Unit
from counterfoil_oracles.campaigns.working import work

REPLAYED_AT_ONCE: Final = 20
MOST_BROKEN: Final = 8
"""Broken units after which a campaign stops: the target, not chance, breaks them."""

_LOST_SECONDS: Final = 30.0
_TICK_SECONDS: Final = 0.2
_LOOK_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Limits:
    """How far a run goes: seconds (None: until the plan ends), and units with the scheduler for each worker."""

    seconds: float | None = None
    ahead: int = 3


@dataclass
class State:
    """What the live view shows."""

    workers: int
    queued: int
    merged: Merged


class Drive:
    """One run of a campaign."""

    def __init__(self, client: Any, checked: Checked, plan: Plan, failures: Failures, limits: Limits) -> None:
        self._client = client
        self._checked = checked
        self._plan = plan
        self._failures = failures
        self._limits = limits
        self._group = f"counterfoil-{uuid.uuid4().hex[:8]}"
        self._out: dict[Any, tuple[Unit, Any]] = {}
        self._answered: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._began = time.monotonic()
        self._workers, self._looked = 1, 0.0
        self._lost_since: float | None = None
        self._forgotten: list[str] = []
        self.merged = Merged()

    def run(self, show: Callable[[State], None] | None = None) -> Merged:
        """Replay what is known, then run the plan to its end or to the limit; the merged report."""
        for result in self._plan.done.values():
            self.merged.count(result)
        for unit in self._replays():
            self._submit(unit)
        try:
            self._settle_all(show, until=lambda: not self._out)
            self._settle_all(show, until=self._is_over)
        finally:
            self.merged.seconds = self._elapsed()
            self._leave()
        return self.merged

    def _leave(self) -> None:
        """Take back what is out; a scheduler that is gone has lost it already."""
        if self._client.status == "running":
            self._client.cancel([future for _, future in self._out.values()])
            self.merged.unsettled += [f"{name}: the scheduler forgot it" for name in self._forgotten]
        else:
            self.merged.broken.append("the scheduler is gone; the same command goes on where this one was")

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    # --- handing out -------------------------------------------------------------------------------------------------

    def _replays(self) -> list[Unit]:
        self._replayed = {trace: case for case, trace in self._failures.known()}
        traces = list(self._replayed)
        batches = [traces[at : at + REPLAYED_AT_ONCE] for at in range(0, len(traces), REPLAYED_AT_ONCE)]
        return [
            Unit(number=-1 - at, checked=self._checked, stream="all", replayed=tuple(batch))
            for at, batch in enumerate(batches)
        ]

    def _submit(self, unit: Unit) -> None:
        # A tuple as key puts all units in one group, which the scheduler queues instead of handing it out at once:
        # a unit that waits with a worker would be charged with the death of that worker.
        key = (self._group, unit.number)
        future = self._client.submit(work, msgspec.json.encode(unit), key=key, pure=False)
        self._out[key] = unit, future
        future.add_done_callback(lambda done: self._answered.put(done.key))

    def _fill(self) -> None:
        most = self._limits.ahead * self._workers if self._client.status == "running" else 0
        while len(self._out) < most and not self._is_late(len(self._out)):
            planned = self._plan.next()
            if planned is None:
                return
            self._submit(Unit(
                number=planned.number, checked=self._checked, stream=planned.stream, first=planned.first,
                programs=planned.programs, vectors=planned.vectors, known=tuple(self.merged.shown),
            ))  # fmt: skip

    def _is_late(self, ahead: int = 0) -> bool:
        """Whether a unit would begin after the limit, with so many before it."""
        seconds = self._limits.seconds
        begins = self._elapsed() + ahead // self._workers * UNIT_SECONDS
        return self._is_hopeless or (seconds is not None and begins >= seconds)

    @property
    def _is_hopeless(self) -> bool:
        return len(self.merged.broken) >= MOST_BROKEN

    def _is_over(self) -> bool:
        self._fill()
        return not self._out or self._is_hopeless or self._is_late(-2 * self._workers)

    # --- taking in ---------------------------------------------------------------------------------------------------

    def _settle_all(self, show: Callable[[State], None] | None, until: Callable[[], bool]) -> None:
        while not self._is_lost() and not until():
            self._look()
            with contextlib.suppress(queue.Empty):
                self._settle(self._answered.get(timeout=_TICK_SECONDS))
            self.merged.seconds = self._elapsed()
            if show is not None:
                show(State(self._workers, len(self._out), self.merged))

    def _settle(self, key: Any) -> None:
        unit, future = self._out.pop(key)
        if future.status == "finished":
            self._take(unit, msgspec.json.decode(future.result(), type=Result))
            return
        error = future.exception() if future.status == "error" else None
        if isinstance(error, distributed.KilledWorker):
            self.merged.unsettled.append(f"{unit.name}: its worker died, {error.allowed_failures + 1} times")
        elif future.status == "cancelled":
            self._forgotten.append(unit.name)
        else:
            self.merged.broken.append(f"{unit.name}: {type(error).__name__}: {error}")
        if not unit.replayed:
            self._plan.give_up(unit.number)

    def _take(self, unit: Unit, result: Result) -> None:
        for found in self.merged.add(result, unit.name):
            self._failures.keep(found.case, found.trace)
        if not unit.replayed:
            self._plan.settle(unit.number, result)
            return
        for trace in result.healed:
            self._failures.heal(self._replayed[trace], trace)
        for found in result.found:  # the same program may show another case now
            if found.case != self._replayed[found.trace]:
                self._failures.heal(self._replayed[found.trace], found.trace)

    def _look(self) -> None:
        """Count the workers, every now and then."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS and self._client.status == "running":
            self._looked = now
            self._workers = max(1, sum(self._client.nthreads().values()))

    def _is_lost(self) -> bool:
        if self._client.status == "running":
            self._lost_since = None
            return False
        self._lost_since = self._lost_since or time.monotonic()
        return self._client.status == "closed" or time.monotonic() - self._lost_since > _LOST_SECONDS
