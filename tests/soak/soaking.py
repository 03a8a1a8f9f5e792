"""What is left over while steps repeat: pools, bytes, records, modules, objects, and resident memory.

python -m tests.soak.soaking [STEPS]      10 000 steps of whole programs, and as many runs of one routine
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.soak import stepping

import counterfoil as cf
from counterfoil.compile import module

WARM_UP = 100
MOST_GROWTH = 2**20
"""Bytes of resident memory that may come on top after the warm-up."""


@dataclass(frozen=True)
class Left:
    """What is there between two steps."""

    working_pools: int
    working_bytes: int
    constant_pools: int
    constant_bytes: int
    live_bytes: int
    units: int
    modules: int
    records: int
    objects: int


def left(records: Callable[[], int]) -> Left:
    """What is there now, garbage collected: twice, for a dictionary that the first time emptied is one of the
    collector's objects until the second."""
    gc.collect()
    gc.collect()
    census = cf.inspection.census()
    kinds = ("working_pools", "working_bytes", "constant_pools", "constant_bytes")
    return Left(
        *(census[kind] for kind in kinds),
        cf.inspection.live_bytes(cf.host()),
        census["units_created"] - census["units_released"],
        len(module.loaded),
        records(),
        len(gc.get_objects()),
    )


def resident() -> int:
    """Bytes of resident memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def differences(work: Callable[[int], None], records: Callable[[], int], steps: int) -> list[str]:
    """In words, what there is more or less of after the last step than after step WARM_UP; empty if there is nothing.
    How much memory grew goes to stderr."""
    for number in range(WARM_UP):
        work(number)
    held = left(records)  # so that as many measures are alive when each is taken
    before, grown = left(records), resident()
    del held
    for number in range(WARM_UP, steps):
        work(number)
    after, grown = left(records), resident() - grown
    found = [
        f"{name}: {value} at step {WARM_UP}, {getattr(after, name)} at step {steps}"
        for name, value in vars(before).items()
        if getattr(after, name) != value
    ]
    growth = f"resident memory grew by {grown / 2**20:.2f} MiB from step {WARM_UP} to step {steps}"
    print(growth, file=sys.stderr)
    return [*found, growth] if grown > MOST_GROWTH else found


def programs(steps: int) -> list[str]:
    """Differences over whole programs, each of its own roots."""
    for number in range(len(stepping.PROGRAMS) * len(stepping.EXTENTS)):
        stepping.step(number)
    return differences(stepping.step, lambda: 0, steps)


def runs(steps: int) -> list[str]:
    """Differences over runs of one routine, with uploads and reads in between."""
    x, w = cf.tensor.data("x", (4, 3)), cf.tensor.param("w", (3,))
    loss = cf.tensor.sum((x @ w) * (x @ w))
    step = cf.sequence(cf.tensor.grad_update(loss), cf.tensor.sgd_update(loss, 0.01))
    start = cf.Context.cpu().set_values(x.value, [0.5] * 12).set_values(w.value, [1.0] * 3)
    context, routine = start.compile(step, name="step")
    context = context.run(routine)

    def work(number: int) -> None:
        context.run(routine)
        if number % 16 == 0:
            context.set_values(x.value, [0.25] * 12).run(routine).get_values(loss.value)

    found = differences(work, lambda: context.ledger_records, steps)
    context.release()
    start.release()
    return found


def main() -> int:
    """Both soaks; 1 where something is left over."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    found = [f"programs: {each}" for each in programs(steps)] + [f"runs: {each}" for each in runs(steps)]
    print("\n".join(found) or f"nothing is left over after {steps} steps of programs and {steps} runs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
