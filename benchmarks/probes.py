"""Hardware probes (probe.c), compiled when a benchmark runs."""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Work

Bytes = npt.NDArray[np.uint8]


def aligned(nbytes: int) -> Bytes:
    """Written memory at a multiple of 64 bytes."""
    raw = np.ones(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def stream_copy(nbytes: int) -> Work:
    """Reads and writes ``nbytes`` bytes, writing past the caches."""
    to, source = aligned(nbytes), aligned(nbytes)
    return _call("probe_stream_copy", to, source, nbytes)


def stream_add(nbytes: int) -> Work:
    """Reads twice and writes once ``nbytes`` bytes."""
    to, x, y = aligned(nbytes), aligned(nbytes), aligned(nbytes)
    return _call("probe_stream_add", to, x, y, nbytes)


def stream_convert(to_bytes: int, from_bytes: int) -> Work:
    """Reads ``from_bytes`` and writes ``to_bytes``."""
    return _call("probe_stream_convert", aligned(to_bytes), aligned(from_bytes), to_bytes, from_bytes)


def read(nbytes: int) -> Work:
    """Reads ``nbytes`` bytes."""
    return _call("probe_read", aligned(nbytes), nbytes)


def _call(name: str, *arguments: Bytes | int) -> Work:
    function = getattr(_library(), name)
    kept = [argument for argument in arguments if not isinstance(argument, int)]
    values = [
        ctypes.c_int64(argument) if isinstance(argument, int) else ctypes.c_void_p(argument.ctypes.data)
        for argument in arguments
    ]

    def work() -> object:
        return function(*values), kept

    return work


@functools.cache
def _library() -> ctypes.CDLL:
    source = Path(__file__).with_name("probe.c")
    target = Path(tempfile.mkdtemp(prefix="counterfoil-probe-")) / "probe.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-O3", "-shared", "-fPIC", str(source), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))
