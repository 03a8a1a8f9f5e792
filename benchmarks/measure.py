"""Timing several ways to do one thing, in turn, so that a noisy machine disturbs all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call: the median over rounds, and the spread (interquartile range over median)."""

    seconds: float
    spread: float


@dataclass(slots=True)
class Row:
    """One line of the table.

    ``ours`` and each of ``peers`` do the same work; ``probe`` is the hardware's limit for the same bytes and kind of
    access. ``bar`` bounds ours / best peer, but never below 1.15 x probe; ``None`` where there is none to reach. Where
    it is set ``against`` one peer, that peer stands for the best; without it there is no bar.
    """

    name: str
    ours: Work
    peers: Mapping[str, Work]
    bar: float | None
    probe: Work | None = None
    note: str = ""
    against: str | None = None
    timings: dict[str, Timing] = field(default_factory=dict)

    def measure(self, rounds: int) -> None:
        """Time everything in turn, ``rounds`` times."""
        works = {"ours": self.ours, **self.peers, **({"probe": self.probe} if self.probe else {})}
        self.timings = in_turn(works, rounds)

    @property
    def best_peer(self) -> str | None:
        """The name of the peer that the bar is set against, else of the fastest."""
        if self.against in self.peers:
            return self.against
        return min(self.peers, key=lambda name: self.timings[name].seconds, default=None)

    @property
    def ratio(self) -> float | None:
        """ours / best peer."""
        best = self.best_peer
        return None if best is None else self.timings["ours"].seconds / self.timings[best].seconds

    @property
    def limit(self) -> float | None:
        """The bar as a ratio to the best peer, raised to 1.15 x probe where that is higher."""
        best = self.best_peer
        if self.bar is None or best is None or self.against not in (None, best):
            return None
        if self.probe is None:
            return self.bar
        return max(self.bar, 1.15 * self.timings["probe"].seconds / self.timings[best].seconds)


def in_turn(works: Mapping[str, Work], rounds: int) -> dict[str, Timing]:
    """Seconds per call of each work: each round runs each once, looped for about 5 ms."""
    loops = {name: _loops(work) for name, work in works.items()}
    samples: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            samples[name].append(_once(work, loops[name]))
    return {name: _timing(values) for name, values in samples.items()}


def _loops(work: Work) -> int:
    work()
    count = 1
    while (took := _once(work, count) * count) < 0.005:
        count = max(2 * count, int(count * 0.005 / max(took, 1e-7)) // 2)
    return count


def _once(work: Work, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count


def _timing(samples: list[float]) -> Timing:
    middle = statistics.median(samples)
    low, _, high = statistics.quantiles(samples, n=4)
    return Timing(middle, (high - low) / middle)
