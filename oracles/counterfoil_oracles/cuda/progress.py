"""How far work is in either half, as its own books say: nothing here waits, or asks a driver."""

from __future__ import annotations

from typing import Any


def why_lost(device: Any) -> str | None:
    """Why a device of either half was lost, None where it was not."""
    found: str | None = device.timeline.why if hasattr(device, "timeline") else device.lost
    return found


def known(device: Any) -> int:
    """The last submission that a device of either half is known to have done."""
    done: int = device.timeline.reached if hasattr(device, "timeline") else device.reached
    return done


def is_written(buffer: Any) -> bool:
    """Whether work is pending that a half knows to write a buffer's memory."""
    memory = buffer.memory
    stamps = memory.stamps if hasattr(memory, "stamps") else memory.order
    point = None if stamps is None else stamps.last_write
    return point is not None and point[0].reached < point[1]
