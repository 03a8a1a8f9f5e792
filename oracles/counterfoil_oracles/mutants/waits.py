"""Defects of waiting: bytes touched before the work they must follow."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

WAITS: Final = (
    Defect(
        "waits/destination",
        "fast/native/door.c",
        "    for (int k = 0; k < count; k++) {\n        if (cf_buffer_wait(",
        "    for (int k = written; k < count; k++) {\n        if (cf_buffer_wait(",
        "kernels wait for what they read, not for what they write",
    ),
    Defect(
        "waits/readers",
        "fast/native/memory.c",
        "int32_t pending = writing ? cf_memory_pending_uses(memory) : cf_memory_pending_writes(memory);",
        "int32_t pending = cf_memory_pending_writes(memory);",
        "a write does not wait for pending work that only reads the memory",
    ),
    Defect(
        "waits/elements",
        "fast/native/access.c",
        "return cf_buffer_wait(array->buffer, writing) == 0 ? CF_DONE : leave(array, CF_LOST);",
        "return CF_DONE;",
        "reading elements does not wait for the work that writes them",
    ),
    Defect(
        "waits/copies",
        "fast/counterfoil/placement.py",
        "    for buffer, writing in named:\n        buffer.reach(writing)\n    move()",
        "    move()",
        "a copy on the host waits for nothing",
    ),
    Defect(
        "waits/other-devices",
        "fast/counterfoil/timeline.py",
        "            if other is not timeline and other.reached < number:",
        "            if other is timeline:",
        "work does not follow what other devices have to do with the same memory",
    ),
    Defect(
        "waits/exports",
        "fast/counterfoil/buffers.py",
        "            self.reach(self.access is Access.READ_WRITE)",
        "            self.require_found(self.access is Access.READ_WRITE)",
        "memory is handed out before the work that uses it is done",
    ),
    Defect(
        "waits/last-write",
        "fast/counterfoil/timeline.py",
        "        if writes:\n            self.last_write = point",
        "        if writes and self.last_write is None:\n            self.last_write = point",
        "a read follows the first write of the memory instead of the last",
    ),
)
