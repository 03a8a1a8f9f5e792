"""The search for a defect, in a process of its own: programs of a machine until the halves part.

    python -m counterfoil_oracles.mutants.hunt --machine NAME --steps N [--device cuda] [--trace FILE] SEED...

prints a JSON object for each seed. Nothing here knows which defect the imported halves hold.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.check import MACHINES, PROGRAM_STEPS
from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.cuda import offer
from counterfoil_oracles.machines.arrays import random_program
from counterfoil_oracles.machines.contexts.machine import context_program
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.program import Diverged
from counterfoil_oracles.shrink import shrink
from counterfoil_oracles.subjects import half
from counterfoil_spec.commands import Header, Step, Trace, encode_trace

REFERENCE: Final = "counterfoil_reference"
SUBJECT: Final = "counterfoil"

SHRINKING: Final = 10.0
"""Seconds of search for a shorter program that parts the halves too."""

_PROGRAMS: Final[dict[str, tuple[Callable[..., object], type[Histogram]]]] = {
    "arrays": (random_program, Histogram), "contexts": (context_program, Tally),
}  # fmt: skip


@dataclass(frozen=True)
class Hunt:
    """What a search from one seed came to: its steps and seconds, and where the halves parted (None: nowhere)."""

    seed: int
    steps: int
    seconds: float
    what: str | None


def hunt(machine: str, reference: Any, subject: Any, seed: int, steps: int) -> tuple[Hunt, Diverged | None]:
    """Run programs drawn from seed, seed + 1, ... until the halves part or ``steps`` commands have run."""
    draw, counts = _PROGRAMS[machine]
    histogram = counts()
    started = time.monotonic()
    what, parted = None, None
    for program in itertools.count(seed):
        try:
            draw(reference, subject, program, PROGRAM_STEPS, histogram)
        except Diverged as found:
            parted = found
            what = f"{found.divergence.command.do}: {found.divergence.difference}"
        if what is not None or histogram.steps >= steps:
            break
    return Hunt(seed, histogram.steps, time.monotonic() - started, what), parted


def shortened(reference: Any, subject: Any, parted: Diverged) -> Trace:
    """A short program that parts the halves in the same way, without outcomes."""
    commands = [step.command for step in parted.trace.steps]
    short = shrink(reference, subject, commands, parted.divergence, SHRINKING)
    return Trace(Header(), [Step(command=command) for command in short])


def main(argv: Sequence[str]) -> int:
    """Hunt from each seed and print what came of it, a line each; keep the shortest program found where asked to."""
    parser = argparse.ArgumentParser(prog="hunt")
    parser.add_argument("--machine", choices=MACHINES, required=True, help="which machine")
    parser.add_argument("--device", choices=("cuda",), help="use CUDA devices too")
    parser.add_argument("--steps", type=int, required=True, help="most commands from one seed")
    parser.add_argument("--trace", type=Path, help="where to write the shrunk program that parted the halves first")
    parser.add_argument("seeds", type=int, nargs="+")
    options = parser.parse_args(argv)
    reference, subject = half(REFERENCE), half(SUBJECT)
    if options.device == "cuda":
        offer.use_of(subject)
    settle_imports()
    shortest: Diverged | None = None
    for seed in options.seeds:
        came, parted = hunt(options.machine, reference, subject, seed, options.steps)
        print(json.dumps(asdict(came)), flush=True)
        if parted is not None and (shortest is None or len(parted.trace.steps) < len(shortest.trace.steps)):
            shortest = parted
    if options.trace is not None and shortest is not None:
        options.trace.write_bytes(encode_trace(shortened(reference, subject, shortest)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
