"""Builds of the C core for one CPU each, beside the installed one: the code paths whose bits are compared."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from counterfoil_oracles.environment import HarnessError
from counterfoil_spec.dtypes import Dtype

Bytes = np.ndarray[Any, np.dtype[Any]]

_CHECKOUT: Final = Path(__file__).resolve().parents[2]

VERSIONS: Final = {
    "v3": "-DCF_ONE_CPU -march=x86-64-v3",
    "baseline": "-DCF_ONE_CPU",
    "scalar": "-DCF_ONE_CPU -fno-tree-vectorize -fno-tree-slp-vectorize",
}
"""Flags of each version; the installed core runs the one for this CPU."""


class Core:
    """One build of the core: its ``ffi`` and ``lib``, and a device for memory."""

    def __init__(self, name: str, module: Any) -> None:
        self.name, self.ffi, self.lib = name, module.ffi, module.lib
        self.device = self.lib.cf_device_create(self.ffi.NULL)

    def array(
        self, dtype: Dtype, memory: Bytes, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0
    ) -> Any:
        """The core's array over an ndarray's bytes, which must outlive it; contiguous without ``strides``."""
        ffi, lib = self.ffi, self.lib
        base = ffi.cast("void *", memory.ctypes.data)
        owner = ffi.gc(lib.cf_memory_adopt(base, memory.nbytes, self.device, ffi.NULL, 0), lib.cf_memory_destroy)
        buffer, layout, array = ffi.new("cf_buffer *"), ffi.new("cf_layout *"), ffi.new("cf_array *")
        lib.cf_buffer_make(buffer, owner, 0, memory.nbytes, self.device, 1)
        if strides is None:
            made = lib.cf_layout_contiguous(layout, len(shape), shape, ffi.NULL)
        else:
            made = lib.cf_layout_make(layout, len(shape), shape, strides, offset, ffi.NULL)
        assert made == lib.cf_array_make(array, dtype.code, layout, buffer) == lib.CF_FINE
        return ffi.gc(array, lambda _, kept=(owner, buffer): None)


def installed() -> Core:
    """The core that counterfoil runs."""
    from counterfoil import _native

    return Core("installed", _native)


def versions(names: Sequence[str] = tuple(VERSIONS)) -> list[Core]:
    """The named versions that this CPU runs, built in the checkout; HarnessError where there is none."""
    return [_built(name) for name in names if name != "v3" or _runs_v3()]


def _runs_v3() -> bool:
    if platform.machine() != "x86_64":
        return False
    flags = Path("/proc/cpuinfo").read_text().split()
    return {"avx2", "fma", "bmi2", "f16c"} <= set(flags)


def _built(name: str) -> Core:
    builder = _CHECKOUT / "fast" / "build_native.py"
    if not builder.is_file():
        raise HarnessError("comparing code paths builds the C core again: it needs a checkout with fast/native")
    output = _CHECKOUT / "build" / "versions" / name
    environment = {**os.environ, "COUNTERFOIL_CFLAGS": VERSIONS[name]}
    command = [sys.executable, str(builder), "--output", str(output)]
    built = subprocess.run(command, capture_output=True, text=True, env=environment)
    if built.returncode:
        raise HarnessError(f"the {name} version of the core does not build:\n{built.stdout}{built.stderr}")
    return Core(name, _loaded(Path(built.stdout.strip())))


def _loaded(path: Path) -> Any:
    loader = importlib.machinery.ExtensionFileLoader("counterfoil._native", str(path))
    spec = importlib.util.spec_from_file_location("counterfoil._native", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
