"""All 441 casts on the codes where they go wrong: powers of two and their neighbours, ties, ends, special values."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.kernels.values import pool, special_codes

from counterfoil._native import ffi, lib
from counterfoil_reference.kernels.operations import cast_core
from counterfoil_reference.numbers import FORMATS, ONE, Number, encode, join_complex
from counterfoil_spec.dtypes import Dtype, Kind


def telling_codes(dtype: Dtype) -> list[int]:
    """Special codes, arbitrary ones, and those at and beside each power of two and the middle above it."""
    codes = {*special_codes(dtype), *pool(dtype)}
    top = 1 << dtype.bits
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        near = [(1 << k) + by for k in range(dtype.bits) for by in (-1, 0, 1, (1 << k) // 2, (1 << k) // 2 + 1)]
        codes |= {code % top for value in near for code in (value, -value)}
    if dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        codes |= set(_near_powers(dtype))
    return sorted(codes)


def _near_powers(dtype: Dtype) -> list[int]:
    form, source = FORMATS[dtype], random.Random(dtype.name)
    found = []
    for k in range(-160, 130):
        for mantissa, exponent in ((1, k), (3, k - 1), (0x1FFFFFF, k - 24), (0x1000001, k - 24), (0x17FFFFF, k - 24)):
            magnitude = encode(form, Number(0, mantissa, exponent))
            for code in (magnitude - 1, magnitude, magnitude + 1):
                if 0 <= code < form.infinity:
                    found.append(code | source.getrandbits(1) * form.sign_bit)
    if dtype.kind is Kind.COMPLEX:
        return [join_complex(dtype, code, encode(form, ONE)) for code in found]
    return found


@pytest.mark.parametrize("source", Dtype.all, ids=str)
def test_every_pair(source: Dtype) -> None:
    """Each telling code of a dtype, cast to each of the 21, has the reference's bits."""
    codes = telling_codes(source)
    width = max(source.bits // 8, 1)
    loose = np.frombuffer(b"".join(code.to_bytes(width, "little") for code in codes), np.uint8)
    for target in Dtype.all:
        room = max(target.bits // 8, 1)
        found = np.zeros(len(codes) * room, np.uint8)
        at = [ffi.cast("void *", memory.ctypes.data) for memory in (loose, found)]
        lib.cf_convert(source.code, target.code, *at, len(codes))
        cast = cast_core(source, target)
        for place, code in enumerate(codes):
            result = int.from_bytes(found[place * room : (place + 1) * room].tobytes(), "little")
            assert result == cast(code), f"{source} {code:#x} to {target}: {result:#x}, not {cast(code):#x}"
