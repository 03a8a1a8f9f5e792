"""``counterfoil coverage``: collect coverage from programs and from traces, and print what is not covered."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.coverage import NEVER_PASSED, OUT_OF_REACH, Coverage, law_holes, planned
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.machines.arrays import random_program
from counterfoil_oracles.machines.contexts.machine import context_program
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.program import Diverged
from counterfoil_spec.commands import decode_trace, matches

TRACES: Final = Path("tests") / "traces"
LAWS: Final = Path("tests") / "laws.toml"
PROGRAM_STEPS: Final = 120


def of_programs(
    reference: Any, subject: Any, coverage: Coverage, seconds: float, seed: int = 0
) -> tuple[Histogram, list[str]]:
    """Coverage of what the array machine's programs run alike on both halves; the counts, and where they parted."""
    histogram = Histogram()
    return histogram, _covered(random_program, reference, subject, coverage, seconds, seed, histogram)


def of_context_programs(
    reference: Any, subject: Any, coverage: Coverage, seconds: float, seed: int = 0
) -> tuple[Tally, list[str]]:
    """The same of the context machine's programs."""
    tally = Tally()
    return tally, _covered(context_program, reference, subject, coverage, seconds, seed, tally)


def _covered(
    program: Callable[..., int],
    reference: Any,
    subject: Any,
    coverage: Coverage,
    seconds: float,
    seed: int,
    counts: Histogram,
) -> list[str]:
    parted, deadline = [], time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            program(reference, subject, seed, PROGRAM_STEPS, counts, coverage)
        except Diverged as found:
            parted.append(f"program {seed}: {found}")
        seed += 1
    return parted


def of_traces(half: Any, coverage: Coverage, directory: Path) -> list[str]:
    """Coverage of the traces in a directory on one half; a step counts if it ended as recorded. The others."""
    unlike = []
    for path in sorted(directory.rglob("*.jsonl")):
        coverage.begin()
        with Driver(half) as driver:
            for at, step in enumerate(decode_trace(path.read_bytes()).steps):
                outcome = driver.execute(step.command)
                if step.outcome is None or matches(step.outcome, outcome):
                    coverage.observe(step.command, outcome)
                else:
                    unlike.append(f"{path} step {at + 1}")
    return unlike


def main(reference: Any, subject: Any, seconds: float) -> int:
    """Print the coverage of both halves and of the laws; 1 if anything is not covered."""
    together = Coverage()
    histogram, holes = of_programs(reference, subject, together, seconds / 2)
    tally, parted = of_context_programs(reference, subject, together, seconds / 2)
    holes += parted
    print("\n".join([*histogram.lines(), *tally.lines()]))
    for name, half in (("reference", reference), ("subject", subject)):
        coverage = together.copy()
        holes += [f"{name}: {path} is not as recorded" for path in of_traces(half, coverage, TRACES)]
        holes += [f"{name}: {hole}" for hole in coverage.holes()]
        print(f"{name}: {len(coverage.triggered)} rules triggered, {len(+coverage.passed)} passed")
    if LAWS.is_file():
        holes += law_holes(LAWS, Path())
    print(*(f"planned: {rule.id}: {rule.statement}" for rule in planned()), sep="\n")
    print(*(f"not asked to pass: {rule}: {why}" for rule, why in NEVER_PASSED.items()), sep="\n")
    print(*(f"out of reach: {rule}: {why}" for rule, why in OUT_OF_REACH.items()), sep="\n")
    print(*holes, sep="\n")
    return 1 if holes else 0
