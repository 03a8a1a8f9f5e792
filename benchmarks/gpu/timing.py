"""Timing work of a device: every work ends with a wait for it, and each round times ours, the peers and the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.gpu.peers import Failed, Peers
from benchmarks.measure import Timing, Work, in_turn


@dataclass(slots=True)
class Row:
    """One line: ours and each of ``peers`` do the same work and wait for it.

    ``nbytes``: bytes read and written, for a bandwidth, None where none is meant. ``probe`` bounds it: ours is to take
    at most ``bar`` times the probe's time.
    """

    name: str
    ours: Work
    peers: Peers = field(default_factory=dict)
    nbytes: int | None = None
    flops: int | None = None
    probe: Work | None = None
    bar: float | None = None

    def measured(self, rounds: int) -> dict[str, Any]:
        """The row as the report holds it; seconds are medians, spreads interquartile ranges over them."""
        able = {name: peer for name, peer in self.peers.items() if not isinstance(peer, Failed)}
        timings = in_turn({"ours": self.ours, **able, **({"probe": self.probe} if self.probe else {})}, rounds)
        return {
            "name": self.name,
            "ours": _seconds(timings["ours"]),
            "peers": {name: _seconds(timings[name]) for name in able},
            "peers_failed": {name: peer.why for name, peer in self.peers.items() if isinstance(peer, Failed)},
            "probe": _seconds(timings["probe"]) if self.probe else None,
            "bar": self.bar,
            "bytes": self.nbytes,
            "flops": self.flops,
        }


def _seconds(timing: Timing) -> dict[str, float]:
    return {"seconds": timing.seconds, "spread": timing.spread}
