"""``counterfoil opinions``: put every topic's questions to its oracle and to both halves, and print the tallies."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Sequence
from typing import Final

from counterfoil_oracles.opinions import differences_, isl_, jax_, ml_dtypes_, mpmath_, numpy_
from counterfoil_oracles.opinions.opinion import MOST_UNKNOWN, Topic, put

TOPICS: Final[tuple[Topic, ...]] = (
    *numpy_.TOPICS,
    *isl_.TOPICS,
    *ml_dtypes_.TOPICS,
    *mpmath_.TOPICS,
    *differences_.TOPICS,
    *jax_.TOPICS,
)

HALVES: Final = ("counterfoil_reference", "counterfoil")

_DESCRIPTION: Final = "What numpy, isl, mpmath, exact differences and others say."

SEED: Final = 0
"""The seed of a CI run, for which the floors are stated."""


def main(argv: Sequence[str] | None = None) -> int:
    """Ask the topics named (all of them by default); 0 if none has a fault, else 1."""
    parser = argparse.ArgumentParser(prog="counterfoil opinions", description=_DESCRIPTION)
    parser.add_argument("oracle", nargs="*", help="oracles, or topics such as 'isl overlap' (default: all)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"the seed of the questions (default: {SEED})")
    options = parser.parse_args(argv)
    chosen = [topic for topic in TOPICS if not options.oracle or _named(topic, options.oracle)]
    if not chosen:
        parser.error(f"no topic is called {' or '.join(options.oracle)}")
    return run(chosen, options.seed)


def _named(topic: Topic, names: Sequence[str]) -> bool:
    return any(name in (topic.oracle, str(topic)) for name in names)


def run(topics: Sequence[Topic], seed: int) -> int:
    """Print a line for each topic, and what is wrong with it; 0 if nothing is, else 1."""
    halves = [importlib.import_module(name) for name in HALVES]
    print(f"{'topic':22}{'agree':>8}{'floor':>8}{'disagree':>10}{'unknown':>9}{'of it':>8}{'s':>7}  rules")
    faulty = False
    for topic in topics:
        started = time.perf_counter()
        tally = put(topic, halves, seed)
        print(
            f"{topic!s:22}{tally.agree:8}{topic.floor:8}{tally.disagree:10}{tally.unknown:9}"
            f"{tally.part_unknown:8.1%}{time.perf_counter() - started:7.1f}  {', '.join(topic.rules)}",
            flush=True,
        )
        faults = tally.faults(topic.floor)
        faulty = faulty or bool(faults)
        print("".join(f"    {line}\n" for line in (*faults, *tally.words)), end="")
    print("at least one topic has a fault" if faulty else f"no disagreement, at most {MOST_UNKNOWN:.0%} unknown")
    return int(faulty)
