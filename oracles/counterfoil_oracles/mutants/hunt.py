"""The search for a defect, in a process of its own: programs of the array machine until the halves part.

    python -m counterfoil_oracles.mutants.hunt --steps N SEED...

prints a JSON object for each seed. Nothing here knows which defect the imported halves hold.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from counterfoil_oracles.check import PROGRAM_STEPS
from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.machines.arrays import random_program
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.program import Diverged
from counterfoil_oracles.subjects import half

_REFERENCE: Final = "counterfoil_reference"
_SUBJECT: Final = "counterfoil"


@dataclass(frozen=True)
class Hunt:
    """What a search from one seed came to: its steps and seconds, and where the halves parted (None: nowhere)."""

    seed: int
    steps: int
    seconds: float
    what: str | None


def hunt(reference: Any, subject: Any, seed: int, steps: int) -> Hunt:
    """Run programs drawn from seed, seed + 1, ... until the halves part or ``steps`` commands have run."""
    histogram = Histogram()
    started = time.monotonic()
    what = None
    for program in itertools.count(seed):
        try:
            random_program(reference, subject, program, PROGRAM_STEPS, histogram)
        except Diverged as found:
            what = f"{found.divergence.command.do}: {found.divergence.difference}"
        if what is not None or histogram.steps >= steps:
            break
    return Hunt(seed, histogram.steps, time.monotonic() - started, what)


def main(argv: Sequence[str]) -> int:
    """Hunt from each seed and print what came of it, a line each."""
    parser = argparse.ArgumentParser(prog="hunt")
    parser.add_argument("--steps", type=int, required=True, help="most commands from one seed")
    parser.add_argument("seeds", type=int, nargs="+")
    options = parser.parse_args(argv)
    reference, subject = half(_REFERENCE), half(_SUBJECT)
    settle_imports()
    for seed in options.seeds:
        print(json.dumps(asdict(hunt(reference, subject, seed, options.steps))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
