"""The emulated driver from a test: its modes, and programs in processes of their own with failures injected.

On a real GPU there is one mode, and nothing is injected.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from typing import Any

EMULATED = bool(os.environ.get("COUNTERFOIL_EMULATED"))
"""Whether the driver is the emulated one."""

MODES = ("eager", "lazy", "shuffled") if EMULATED else ("gpu",)
"""When the driver does what it is given: at once, when somebody waits, or in any order that it may."""


def configure(words: str) -> None:
    """Set the emulated driver's settings in this process."""
    if EMULATED:
        ctypes.CDLL("libcuda.so.1").emucuda_configure(words.encode())


def live_objects() -> int:
    """Streams, events, modules and graphs that the emulated driver has; 0 on a real GPU, which tells nobody."""
    return int(ctypes.CDLL("libcuda.so.1").emucuda_live_objects()) if EMULATED else 0


def told(program: str, **settings: str) -> Any:
    """What a program in a process of its own says last, as JSON; AssertionError if it fails.

    The program starts with ``cf`` and ``tell``; settings are the emulated driver's.
    """
    start = "import json\nimport counterfoil as cf\nfrom tests.contexts.scenario import *\n"
    start += "def tell(thing):\n    print(json.dumps(thing))\n"
    words = " ".join(f"{key}={value}" for key, value in {"devices": "2", **settings}.items())
    environment = os.environ | {"EMUCUDA": words, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", start + program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
