"""``python -m counterfoil_oracles.campaigns.measuring``: what campaigns cost, as JSON on standard output.

Steps a second on 1 and on 2 workers beside the same machine without Dask, the price of a unit that does nothing, and
how the driver and the scheduler bear thousands of units in the queue: as many as 1000 workers would be given.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from hypothesis.database import InMemoryExampleDatabase

from counterfoil_oracles.campaigns import clusters
from counterfoil_oracles.campaigns.driving import Drive, Limits
from counterfoil_oracles.campaigns.planning import Plan
from counterfoil_oracles.campaigns.stores import Failures, MemoryJournal
from counterfoil_oracles.campaigns.units import Checked, Result, Unit
from counterfoil_oracles.campaigns.working import work

SUBJECT: Final = Checked(subject="counterfoil")
_MEMORY: Final = "2GiB"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each rate (default 15)")
    parser.add_argument("--queued", type=int, default=4000, help="units in the queue (default 4000)")
    options = parser.parse_args(arguments)
    figures: dict[str, Any] = {"cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 1)}
    figures["steps_per_second_without_dask"] = _alone(options.seconds)
    for workers in (1, 2):
        figures[f"steps_per_second_on_{workers}_workers"] = _rate(workers, options.seconds)
    figures |= _queue(options.queued)
    figures["load_after"] = round(os.getloadavg()[0], 1)
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    return 0


def _alone(seconds: float) -> int:
    """The machine of arrays in this process, unit after unit."""
    steps, first, began = 0, 0, time.monotonic()
    while time.monotonic() - began < seconds:
        unit = Unit(number=0, checked=SUBJECT, stream="arrays", first=first, programs=50)
        steps += msgspec.json.decode(work(msgspec.json.encode(unit)), type=Result).steps
        first += 50
    return round(steps / (time.monotonic() - began))


def _rate(workers: int, seconds: float) -> int:
    """The same over workers, first imports and guesses included."""
    with clusters.connected(None, workers, _MEMORY, 0) as client:
        plan = Plan(MemoryJournal(), ["arrays"], 0, None, with_vectors=False)
        drive = Drive(client, SUBJECT, plan, Failures(InMemoryExampleDatabase(), ""), Limits(seconds))
        return round(drive.run().rate)


def _queue(count: int) -> dict[str, Any]:
    """Units that do nothing: one after the other, then so many at once, on 2 workers."""
    with clusters.connected(None, 2, _MEMORY, 0) as client:
        data = [msgspec.json.encode(Unit(number=at, checked=SUBJECT, stream="arrays")) for at in range(count)]
        for future in [client.submit(work, data[0], pure=False, workers=[each]) for each in client.nthreads()]:
            future.result()  # the imports
        began = time.monotonic()
        for at in range(100):
            client.submit(work, data[at], pure=False).result()
        turn = (time.monotonic() - began) / 100
        before, began = _resident(), time.monotonic()
        futures = [client.submit(work, each, key=("queued", at), pure=False) for at, each in enumerate(data)]
        handed_out, held = time.monotonic() - began, _resident()
        for future in futures:
            future.result()
        total = time.monotonic() - began
    return {
        "milliseconds_of_an_empty_unit_there_and_back": round(turn * 1000, 1),
        "queued_units": count,
        "seconds_to_hand_them_out": round(handed_out, 2),
        "milliseconds_for_each_queued_unit": round(total / count * 1000, 2),
        "mebibytes_of_driver_and_scheduler_before": before,
        "mebibytes_with_all_queued": held,
        "mebibytes_at_most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def _resident() -> int:
    """Mebibytes that this process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize() >> 20


if __name__ == "__main__":
    sys.exit(main())
