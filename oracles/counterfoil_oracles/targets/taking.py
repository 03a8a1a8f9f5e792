"""Where the rules leave room (N1 to N3): a target's bits, if they lie in it, become the reference's (N5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterfoil_oracles.numeric import places


def take_over(half: Any, ours: Any, accepts: Sequence[Any], codes: Sequence[int]) -> str | None:
    """Check the codes of an array's elements in C order, and store them in it; the first wrong one in words, or None.

    ``accepts`` has the room of each element, None where the stored bits alone are right.
    """
    dtype = ours.dtype
    held = int.from_bytes(half.inspection.memory_bytes(ours.buffer), "little")
    mask = (1 << dtype.bits) - 1
    for (index, position), accept, code in zip(places(ours.layout), accepts, codes, strict=True):
        at = position * dtype.bits
        right = held >> at & mask
        fits = code == right if accept is None else accept.accepts(dtype, code)
        if not fits:
            room = "" if accept is None else f": outside {accept}"
            return f"element {list(index)} is {dtype.name} code {code:#x}, not {right:#x}{room}"
        held ^= (code ^ right) << at
    half.inspection.poke(ours.buffer, held.to_bytes(ours.buffer.nbytes, "little"))
    return None
