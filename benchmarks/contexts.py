"""``python -m benchmarks.contexts``: programs beside every peer that is installed, as one table; fails no build.

A run with all its checks and a training step, on one thread and on two, everybody in turn in one process; the first
step of a fresh process, with empty and with warm caches on disk; what processes grow by while they train.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from benchmarks.memory import STEPS, WARM_UP
from benchmarks.networks import BY_HAND, PEERS
from benchmarks.pinning import loads
from benchmarks.showing import mebibytes, shown

COMPILERS = ("jax", "torch.compile")
"""Peers that have something to compile."""

Medians = Mapping[str, Mapping[str, float]]
"""Seconds by who and by part."""

HEAD = ("row", "threads", "ours", *PEERS, "bar", "verdict")


def main(arguments: list[str]) -> int:
    """Print the table as Markdown; exit code 0 whatever the figures say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contexts", description=__doc__.split(";")[0])
    parser.add_argument("--rounds", type=int, default=15, help="times each step is measured (default 15)")
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes for each first step (default 3)")
    options = parser.parse_args(arguments)
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {loads()}\n")
    print(_line(HEAD))
    print(_line(["---"] * len(HEAD)))
    for threads in (1, 2):
        for row in _answer("steps", str(threads), str(options.rounds)):
            print(_step(row, threads), flush=True)
    for line in _latencies(options.repeats):
        print(line, flush=True)
    print(_growth())
    print(f"\nat the end: {loads()}")
    return 0


def _answer(module: str, *arguments: str, **environment: str) -> Any:
    """What a module of ours prints as JSON in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _installed(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name == BY_HAND or find_spec(name.partition(".")[0]) is not None]


def _line(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(values: Mapping[str, float], absent: Mapping[str, str] | None = None) -> list[str]:
    """A cell for each peer: ours / peer, and the peer's time; what is said of one that has none."""
    found = []
    for name in PEERS:
        missing = (absent or {}).get(name, "not installed")
        found.append(f"**{values['ours'] / values[name]:.2f}** ({shown(values[name])})" if name in values else missing)
    return found


def _step(row: Mapping[str, Any], threads: int) -> str:
    values = {name: seconds for name, (seconds, _) in row["times"].items()}
    ours, spread = row["times"]["ours"]
    bar = "" if row["bar"] is None else f"{row['bar']:.2f} x {row['against'] or 'the best'}"
    reached = None if row["bar"] is None else row["ratio"] <= row["bar"]
    return _line([row["name"], str(threads), f"{shown(ours)} ± {spread:.0%}", *_cells(values), bar, _verdict(reached)])


def _verdict(reached: bool | None) -> str:
    return {True: "reached", False: "missed", None: ""}[reached]


def _latencies(repeats: int) -> Iterator[str]:
    """Rows on first steps; ours has its compile told apart."""
    cold, warm = _first_steps(repeats)
    absent = {BY_HAND: "nothing to compile", "torch": "nothing to compile"}
    half = cold["ours"]["total"] <= 0.5 * cold["jax"]["total"] if "jax" in cold else None
    yield _latency("first step, empty caches", cold, absent, "total", "0.50 x jax", half)
    yield _latency("first step, disk caches warm", warm, absent, "total", "", None)
    quick = warm["ours"]["compile"] <= 0.03
    untold = dict.fromkeys(PEERS, "")
    yield _latency("its `compile`, empty cache", {"ours": cold["ours"]}, untold, "compile", "", None)
    yield _latency("its `compile`, disk cache warm", {"ours": warm["ours"]}, untold, "compile", "30 ms", quick)


def _first_steps(repeats: int) -> tuple[Medians, Medians]:
    """Everybody in turn, each time in a fresh process with an empty cache and in another with what that left there."""
    names = ["ours", *_installed(COMPILERS)]
    cold: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    warm: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(repeats):
        for name in names:
            with tempfile.TemporaryDirectory() as cache:
                for samples in (cold, warm):
                    samples[name].append(_answer("compile_once", name, **_caches(cache)))
    return _medians(cold), _medians(warm)


def _caches(folder: str) -> dict[str, str]:
    """Where everybody keeps what was compiled, jax of everything however quick it was."""
    return {
        "COUNTERFOIL_CACHE": f"{folder}/ours",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/torch",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _medians(samples: Mapping[str, list[dict[str, float]]]) -> Medians:
    return {
        name: {part: statistics.median(each[part] for each in found) for part in found[0]}
        for name, found in samples.items()
    }


def _latency(
    title: str,
    values: Medians,
    absent: Mapping[str, str],
    part: str,
    bar: str,
    reached: bool | None,
) -> str:
    times = {name: found[part] for name, found in values.items()}
    return _line([title, "1", shown(times["ours"]), *_cells(times, absent), bar, _verdict(reached)])


def _growth() -> str:
    """Sizes instead of ratios: what is divided by may be nothing."""
    grown: dict[str, float] = {name: _answer("memory", name) for name in ("ours", *_installed(PEERS))}
    cells: Callable[[str], str] = lambda name: mebibytes(grown[name]) if name in grown else "not installed"  # noqa: E731
    title = f"growth over {STEPS} training steps after {WARM_UP}"
    reached = _verdict(grown["ours"] <= 2**20)
    return _line([title, "1", cells("ours"), *map(cells, PEERS), "1 MiB", reached])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
