"""The BLAS that ``matmul`` uses for float32 and float64: the ``blas`` extra's, else the one numpy ships with.

Only addresses are taken; the call is made in C, under the door. Without either, the C core's own product is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from counterfoil._native import ffi, lib


def adopt() -> str | None:
    """Hand the first BLAS found to the C core; its file name, or None if there is none. Called once, at import."""
    for path, suffix in _candidates():
        symbols = _symbols(path, suffix)
        if symbols is not None:
            single, precise = (ffi.cast("void *", address) for address in symbols)
            lib.cf_blas_use(single, precise, suffix.endswith("64_"))
            return path.name
    return None


def _candidates() -> Iterator[tuple[Path, str]]:
    """Libraries with the suffix of their symbols; ``64_`` means 64-bit integers."""
    for package, folder, suffix in (("scipy_openblas32", "lib", ""), ("numpy", "../numpy.libs", "64_")):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            for path in sorted((Path(spec.origin).parent / folder).glob("lib*openblas*.so")):
                yield path, suffix


def _symbols(path: Path, suffix: str) -> tuple[int, int] | None:
    try:
        library = ctypes.CDLL(str(path))
        routines = [getattr(library, f"scipy_cblas_{letter}gemm{suffix}") for letter in "sd"]
    except (OSError, AttributeError):
        return None
    addresses = [ctypes.cast(routine, ctypes.c_void_p).value for routine in routines]
    return (addresses[0], addresses[1]) if addresses[0] and addresses[1] else None
