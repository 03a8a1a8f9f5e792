"""Figures in words."""

from __future__ import annotations


def shown(seconds: float) -> str:
    """A time, in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def mebibytes(nbytes: float) -> str:
    """A size."""
    return f"{nbytes / 2**20:.2f} MiB"
