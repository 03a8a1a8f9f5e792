"""What the tests of the emulated driver share: kernels by their text, the emulator's functions, plain entry points."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

COMPILER = os.environ.get("COUNTERFOIL_CUDA_COMPILER", "build/emulated_driver/emu-nvcc")
NON_BLOCKING = 1  # the flag of streams that the legacy stream has nothing to do with
LIBRARY = ctypes.CDLL("libcuda.so.1")


class Emulator:
    """The functions that only the emulated driver has."""

    def __init__(self) -> None:
        LIBRARY.emucuda_last_fault.restype = ctypes.c_char_p
        for name in ("calls", "pending", "live_allocations", "live_objects"):
            getattr(LIBRARY, f"emucuda_{name}").restype = ctypes.c_uint64

    def configure(self, words: str) -> None:
        """Applies settings; they are understood."""
        assert LIBRARY.emucuda_configure(words.encode()) == 0

    def calls(self, name: str) -> int:
        """How often an entry point was called."""
        return int(LIBRARY.emucuda_calls(name.encode()))

    def pending(self) -> int:
        """How many operations are queued."""
        return int(LIBRARY.emucuda_pending())

    def live_allocations(self) -> int:
        """How many allocations and registrations live."""
        return int(LIBRARY.emucuda_live_allocations())

    def live_objects(self) -> int:
        """How many streams, events, modules and graphs live."""
        return int(LIBRARY.emucuda_live_objects())

    def last_fault(self) -> str:
        """What the last kernel that failed did."""
        return bytes(LIBRARY.emucuda_last_fault()).decode()


EMULATOR = Emulator()


class Device:
    """A context of its own on a device, current from here to `close`."""

    def __init__(self, ordinal: int) -> None:
        self.context = cuda.Device(ordinal).make_context()

    def close(self) -> None:
        """Ends the context and everything in it."""
        self.context.pop()
        self.context.detach()

    def kernel(self, text: str, name: str) -> Any:
        """A kernel of a source, loaded into the current context."""
        return cuda.module_from_buffer(cubin(text)).get_function(name)


@functools.cache
def cubin(text: str, *options: str) -> bytes:
    """A module made of a source by the stand-in compiler."""
    with tempfile.TemporaryDirectory() as directory:
        source, output = Path(directory, "source.cu"), Path(directory, "made.cubin")
        source.write_text(text)
        subprocess.run([COMPILER, "--cubin", "-arch=sm_90", *options, "-o", output, source], check=True)
        return output.read_bytes()


def call(name: str, *arguments: Any) -> int:
    """The result of an entry point called as C would; 0 is success."""
    return int(getattr(LIBRARY, name)(*arguments))


def to_device(values: np.ndarray[Any, Any]) -> Any:
    """A new allocation that holds the values."""
    allocation = cuda.mem_alloc(values.nbytes)
    cuda.memcpy_htod(allocation, values)
    cuda.Context.synchronize()
    return allocation


def to_host(allocation: Any, count: int, dtype: str) -> np.ndarray[Any, Any]:
    """What an allocation holds, after a wait for it."""
    values = np.empty(count, dtype)
    cuda.memcpy_dtoh(values, allocation)
    return values


def pinned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Page-locked memory that holds the values."""
    locked: np.ndarray[Any, Any] = cuda.pagelocked_empty(values.shape, values.dtype)
    locked[:] = values
    return locked


def run_python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in an interpreter of its own, over the same driver."""
    variables = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)
