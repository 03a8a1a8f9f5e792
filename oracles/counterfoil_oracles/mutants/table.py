"""The table of planted defects: who was found, how soon, and the canary beside them."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from counterfoil_oracles.mutants.campaign import SEEDS, Result, Search, canary, hunt_all
from counterfoil_oracles.mutants.catalogue import CATALOGUES, GROUPS
from counterfoil_oracles.mutants.defect import Defect
from counterfoil_oracles.mutants.planting import Ground

FOUND: Final = 0
DIVERGES: Final = 1
USAGE: Final = 2
SURVIVED: Final = 3


STEPS: Final = {"arrays": 200_000, "contexts": 20_000, "cuda-arrays": 20_000, "cuda-contexts": 20_000}
"""Most commands of each machine to find a defect from one seed."""

TRACES: Final = Path(".counterfoil") / "defects"
"""Where the traces of context defects are kept."""


def main(argv: Sequence[str]) -> int:
    """Hunt the defects named (groups or ids; none: all) and print a line for each, then what the canary says.

    0 if each was found from each seed and the canary finds nothing; 1 if the halves part without a defect; 3 if a
    defect survived, crashed or hung; 2 for a name that is no defect's.
    """
    options = _parser().parse_args(argv)
    ids = {defect.id for defects in CATALOGUES.values() for defect in defects}
    unknown = set(options.names) - ids - set(GROUPS)
    if unknown:
        print(f"counterfoil: no defect is called {', '.join(sorted(unknown))}", *GROUPS, sep="\n  ", file=sys.stderr)
        return USAGE
    codes = [FOUND]
    with tempfile.TemporaryDirectory(prefix="counterfoil-mutants-") as room:
        ground = Ground(Path(room))
        for (catalogue, mode), chosen in _chosen(options.names).items():
            steps = STEPS[catalogue] if options.steps is None else options.steps
            kept = options.traces.absolute() if catalogue == "contexts" else None
            search = Search(catalogue.removeprefix("cuda-"), SEEDS[: options.seeds], steps, options.jobs, kept, mode)
            codes.append(campaign(ground, chosen, search))
    return DIVERGES if DIVERGES in codes else max(codes)


def _chosen(names: Sequence[str]) -> dict[tuple[str, str | None], list[Defect]]:
    """The defects of those ids and groups, by catalogue and mode; without names all that need no CUDA driver."""
    chosen: dict[tuple[str, str | None], list[Defect]] = {}
    for catalogue, defects in CATALOGUES.items():
        for defect in defects:
            if {defect.id, defect.group} & set(names) or (not names and defect.mode is None):
                chosen.setdefault((catalogue, defect.mode), []).append(defect)
    return chosen


def campaign(ground: Ground, defects: Sequence[Defect], search: Search) -> int:
    """Hunt, print as results come, and answer the exit code of ``main``."""
    started = time.monotonic()
    results = []
    for result in hunt_all(ground, defects, search):
        results.append(result)
        print("\n".join(lines(result)), flush=True)
    songs = canary(ground, results, search)
    print("\n".join(summary(results, songs, time.monotonic() - started)), flush=True)
    if not all(song.clean for song in songs):
        return DIVERGES
    return FOUND if all(result.found for result in results) else SURVIVED


def lines(result: Result) -> list[str]:
    """What came of one defect: how soon it was found from each seed; more where it was not."""
    assert result.defect is not None
    hunts = "   ".join(f"{hunt.steps:6d} steps {hunt.seconds:5.1f} s" for hunt in result.hunts)
    text = f"{'found   ' if result.found else 'SURVIVED'}  {result.defect.id:<34}{hunts}"
    if result.found:
        return [text]
    return [text, f"          {result.defect.breaks}", *([f"          {result.trouble}"] if result.trouble else [])]


def summary(results: Sequence[Result], songs: Sequence[Result], seconds: float) -> list[str]:
    """The last lines: how many of each group were found, and what the canary did in the same number of steps."""
    found = []
    for group, words in GROUPS.items():
        own = [result for result in results if result.defect is not None and result.defect.group == group]
        if own:
            found.append(f"{words} {sum(result.found for result in own)} of {len(own)}")
    steps = sum(hunt.steps for song in songs for hunt in song.hunts)
    parted = [hunt.what for song in songs for hunt in song.hunts if hunt.what is not None]
    parted += [song.trouble for song in songs if song.trouble is not None]
    return [
        f"{sum(result.found for result in results)} of {len(results)} defects found in {seconds / 60:.1f} minutes",
        "; ".join(found),
        f"without a defect, {steps} steps from the same seeds: {'; '.join(parted) or 'no divergence'}",
    ]


def _parser() -> argparse.ArgumentParser:
    description = "Planted defects, and how long the machines take to find each."
    parser = argparse.ArgumentParser(prog="counterfoil mutants", description=description)
    parser.add_argument("names", nargs="*", help=f"groups ({', '.join(GROUPS)}) or ids; default: all without CUDA")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help=f"from how many seeds (default: {len(SEEDS)})")
    most = " or ".join(map(str, STEPS.values()))
    parser.add_argument("--steps", type=int, help=f"most commands from one seed (default: {most}, by the machine)")
    parser.add_argument("--traces", type=Path, default=TRACES, help=f"where traces are kept (default: {TRACES})")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
