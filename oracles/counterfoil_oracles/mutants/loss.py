"""Defects of loss: what a lost device leaves usable, and how its loss is told."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

LOSS: Final = (
    Defect(
        "loss/first-reason",
        "fast/counterfoil/timeline.py",
        "    if timeline.why is not None:\n        return\n    timeline.why = why",
        "    timeline.why = why",
        "a second loss of a device replaces the reason of the first",
    ),
    Defect(
        "loss/dropped-work",
        "fast/counterfoil/timeline.py",
        "        for order in submission.touched:\n            order.mark_lost()",
        "        for order in list(submission.touched)[:0]:\n            order.mark_lost()",
        "memory of another device forgets that work on it was dropped",
    ),
    Defect(
        "loss/reads",
        "fast/native/memory.c",
        "return cf_memory_lost(memory) & (writing ? LOST_WRITE : LOST_READ);",
        "return cf_memory_lost(memory) & (writing ? LOST_WRITE : LOST_READ | LOST_WRITE);",
        "memory whose dropped work only read it cannot be read any more",
    ),
    Defect(
        "loss/owner",
        "fast/native/memory.c",
        "    if (memory->device != buffer->device && cf_device_lost(memory->device)) return true;",
        "    if (memory->device == buffer->device && cf_device_lost(memory->device)) return true;",
        "a lost device's memory stays usable through a borrow on another device",
    ),
    Defect(
        "loss/allocation",
        "fast/counterfoil/buffers.py",
        "    if device.timeline.why is not None:\n        raise device.timeline.lost()\n",
        "",
        "a lost device still gives memory",
    ),
    Defect(
        "loss/advance",
        "fast/counterfoil/timeline.py",
        "            if self.why is not None:\n                raise self.lost()\n            target =",
        "            target =",
        "a lost device can be advanced",
    ),
    Defect(
        "loss/failed-work",
        "fast/counterfoil/timeline.py",
        "        failure, why = exception, words(exception)",
        "        failure, why = exception, str(exception)",
        "the reason of a loss does not say which exception the work raised",
    ),
)
