"""Memory that ends where reading or writing is a crash: pages between two inaccessible ones."""

from __future__ import annotations

import ctypes
import enum
import mmap
from typing import Final

PAGE: Final = mmap.PAGESIZE
ROOM: Final = 64 * PAGE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Side(enum.Enum):
    """Where an operand lies: against the page before, the page after, or as little aligned as its dtype allows."""

    BEFORE = "before"
    AFTER = "after"
    CROOKED = "crooked"


class Guarded:
    """Bytes with an inaccessible page on either side, for one operand at a time."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._map = mmap.mmap(-1, room + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for page in (start, start + PAGE + room):
            if _libc.mprotect(page, PAGE, 0) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")
        self._first = start + PAGE

    def place(self, memory: bytes, alignment: int, side: Side) -> int:
        """Write an operand's memory against a side; the address of its first byte."""
        if side is Side.AFTER:
            address = self._first + self._room - len(memory)
        else:
            address = self._first + (alignment if side is Side.CROOKED else 0)
        ctypes.memmove(address, memory, len(memory))
        return address
