"""Entry points of the driver that are called directly, by their names, with Python's lock given up.

They are what PyCUDA lacks, and copies: one from or to memory that is not page-locked may block until its stream gets
there, and other threads run meanwhile, among them those that the driver calls back.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any, Final

from counterfoil._native import ffi
from counterfoil.cuda import probe
from counterfoil.cuda.probe import DriverFailed

OUT_OF_MEMORY: Final = 2
RELAXED: Final = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED."""


class OutOfMemory(DriverFailed):
    """The driver has no room for an allocation."""


@functools.cache
def library() -> ctypes.CDLL:
    """The driver."""
    probe.require()  # loads it
    return ctypes.CDLL("libcuda.so.1")


def called(name: str, *arguments: Any) -> None:
    """Call an entry point; raises DriverFailed in the driver's words, OutOfMemory where it has no room."""
    code = getattr(library(), name)(*arguments)
    if code:
        said = ctypes.c_char_p()
        library().cuGetErrorString(code, ctypes.byref(said))
        failure = OutOfMemory if code == OUT_OF_MEMORY else DriverFailed
        raise failure(f"{name} failed: {(said.value or b'error').decode()} ({code})")


def region(data: Any) -> tuple[ctypes.c_void_p, ctypes.c_size_t]:
    """Where the bytes of an object's buffer lie, which the caller keeps, and how many they are."""
    buffer = ffi.from_buffer(data)
    return ctypes.c_void_p(int(ffi.cast("uintptr_t", buffer))), ctypes.c_size_t(len(buffer))


# --- captures of others ----------------------------------------------------------------------------------------------


class _Thread(threading.local):
    """How deep a thread is in, and the mode that it exchanges for its own, or its own meanwhile."""

    def __init__(self) -> None:
        self.depth = 0
        self.mode = ctypes.c_int()
        self.place = ctypes.byref(self.mode)


_thread: Final = _Thread()


@functools.cache
def _exchange() -> Callable[[Any], int]:
    """Exchanges the capture mode of this thread: at once, so that Python's lock is kept."""
    probe.require()
    return ctypes.PyDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode


def relax() -> None:
    """Until ``restore``: what this thread calls is no part of what other threads, or callers, capture meanwhile.

    By default a driver refuses a thread allocations, waits and questions while any thread captures a graph in the
    global mode, and spoils that graph.
    """
    here = _thread
    if not here.depth:
        here.mode.value = RELAXED
        _exchange()(here.place)
    here.depth += 1


def restore() -> None:
    """Undo ``relax``: the outermost one gives the thread its own mode back."""
    here = _thread
    here.depth -= 1
    if not here.depth:
        _exchange()(here.place)
