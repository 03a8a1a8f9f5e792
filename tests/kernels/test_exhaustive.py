"""Every code of the narrow dtypes, and a fixed slice of all float32, through every cast."""

from __future__ import annotations

import numpy as np
import pytest

from counterfoil._native import ffi, lib
from counterfoil_oracles import cores, exhaustive
from counterfoil_reference.kernels.operations import cast_core
from counterfoil_spec.dtypes import Dtype

NARROW = [dtype for dtype in Dtype.all if dtype.bits <= 16]


@pytest.mark.long
def test_a_slice_of_float32_is_stored_right_along_every_path() -> None:
    """Every 4096th run of codes and every code near a step: vector, tail and scalar code give the exact bits."""
    tally = exhaustive.check_slice([cores.installed(), *cores.versions(["scalar"])])
    assert tally.wrong == []
    assert tally.compared > 4 * len(NARROW) * (1 << 20)


@pytest.mark.parametrize("source", NARROW, ids=str)
def test_every_code_to_every_dtype(source: Dtype) -> None:
    """All codes of a dtype of 16 bits or less, cast to each of the 21 dtypes, are the reference's casts."""
    codes = range(1 << source.bits)
    loose = np.array(codes, np.uint16 if source.bits == 16 else np.uint8)
    for target in Dtype.all:
        width = max(target.bits // 8, 1)
        found = np.zeros((len(codes), width), np.uint8)
        lib.cf_convert(source.code, target.code, _at(loose), _at(found), len(codes))
        cast = cast_core(source, target)
        expected = b"".join(cast(code).to_bytes(width, "little") for code in codes)
        assert found.tobytes() == expected, _first_difference(source, target, found.tobytes(), expected, width)


def _at(values: np.ndarray) -> object:
    return ffi.cast("void *", values.ctypes.data)


def _first_difference(source: Dtype, target: Dtype, found: bytes, expected: bytes, width: int) -> str:
    pairs = zip(found, expected, strict=True)
    code = next((place // width for place, (a, b) in enumerate(pairs) if a != b), 0)
    ours, right = found[code * width :][:width], expected[code * width :][:width]
    return f"{source} {code:#x} to {target}: {ours[::-1].hex()}, not {right[::-1].hex()}"
