"""The driver from a test: its modes and counts where it is the emulated one, and programs in processes of their own."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from typing import Any

EMULATED = bool(os.environ.get("COUNTERFOIL_EMULATED"))
"""Whether the driver is the emulated one (docs/emulated-driver.md)."""

MODES = ("eager", "lazy", "shuffled") if EMULATED else ("gpu",)
"""When the driver does what it is given: at once, when somebody waits, or in any order that it may."""


def configure(words: str) -> None:
    """Set the emulated driver's settings in this process."""
    if EMULATED:
        assert _driver().emucuda_configure(words.encode()) == 0


def calls(name: str) -> int:
    """How often an entry point of the emulated driver was called."""
    count = _driver().emucuda_calls
    count.restype = ctypes.c_ulonglong
    return int(count(name.encode()))


def live_objects() -> int:
    """Streams, events, modules and graphs of the emulated driver's that live."""
    count = _driver().emucuda_live_objects
    count.restype = ctypes.c_ulonglong
    return int(count())


def live_allocations() -> int:
    """Allocations and registrations of the emulated driver's that live."""
    count = _driver().emucuda_live_allocations
    count.restype = ctypes.c_ulonglong
    return int(count())


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def devices() -> int:
    """How many CUDA devices there are; 0 also without a driver."""
    from counterfoil.cuda import probe
    from counterfoil_spec.refusals import BackendUnavailable

    try:
        return probe.devices()
    except BackendUnavailable:
        return 0


def told(program: str, **settings: str) -> Any:
    """What a program in a process of its own tells last; AssertionError if it fails, or says anything on stderr.

    The program starts with ``cf``, ``d`` (the first device), ``tell`` and ``lost(call)``, the words of the memory/lost
    that a call raises. Settings are the emulated driver's.
    """
    words = " ".join(f"{key}={value}" for key, value in {"devices": "2", **settings}.items())
    environment = os.environ | {"EMUCUDA": words, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", _START + program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


_START = """
import json
import counterfoil as cf
from counterfoil import inspection
from tests.cuda_arrays.emulated import configure
def tell(*things):
    print(json.dumps(things))
def lost(call, *arguments):
    try:
        call(*arguments)
    except cf.Lost as refusal:
        return f"{refusal.subjects['device']}: {refusal.subjects['why']}"
d = cf.cuda(0)
"""
