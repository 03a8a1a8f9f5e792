"""Sums of two products rounded once (N1): complex products and fma, where a sum of rounded products would be wrong."""

from __future__ import annotations

import numpy as np
import pytest

import counterfoil as cf
from counterfoil_spec.dtypes import Dtype, Kind

COUNT = 4096
NARROW = [dtype for dtype in Dtype.all if dtype.kind is Kind.FLOAT and dtype.bits < 32]


def reals(generator: np.random.Generator, count: int) -> np.ndarray:
    """Float64 values near 1, far apart, with few bits, at the ends of the range, special ones, and arbitrary bits."""
    signs = generator.choice([-1.0, 1.0], count)
    near = signs * (1 + generator.integers(0, 1 << 52, count) * 2.0**-52)
    few = signs * generator.integers(1, 8, count) * 2.0 ** generator.integers(-540, 540, count)
    steps = signs * (1 + 2.0 ** generator.integers(-52, 0, count)) * 2.0 ** generator.choice([0, 53, -53, -106], count)
    ends = generator.choice([0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, np.inf, np.nan], count)
    bits = generator.integers(0, 1 << 64, count, np.uint64).view(np.float64)
    return np.choose(generator.integers(0, 5, count), [near, few, steps, ends, bits])


def factors(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Complex numbers, of which a third are chosen so that the products nearly cancel."""
    x, y = (reals(generator, 2 * COUNT).reshape(COUNT, 2) for _ in range(2))
    tweaks = generator.choice([1.0, -1.0, 1 + 2.0**-52], (COUNT, 2))
    with np.errstate(all="ignore"):
        y[::3] = (x[:, ::-1] * tweaks)[::3]
    return x, y


def assert_same(found: np.ndarray, right: np.ndarray) -> None:
    """Floats of the same bits, any NaN for a NaN."""
    bits = f"u{found.itemsize}"
    same = (found.view(bits) == right.view(bits)) | (np.isnan(found) & np.isnan(right))
    assert same.all(), (int(np.argmin(same)), found[~same][:3], right[~same][:3])


@pytest.mark.parametrize("form", ["c16", "c8"])
@pytest.mark.parametrize("seed", range(3))
def test_complex_products(form: str, seed: int) -> None:
    """The parts are the exact ones rounded once, as on the host, which sums in another way."""
    x, y = factors(np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        first, second = (cf.asarray(part.astype("f8" if form == "c16" else "f4").view(form)[:, 0]) for part in (x, y))
    right = np.array(cf.mul(first, second).to_values(), form)
    device = cf.cuda(0)
    found = cf.mul(first.to_device(device), second.to_device(device)).to_device(cf.host())
    part = "f8" if form == "c16" else "f4"
    assert_same(np.array(found.to_values(), form).view(part), right.view(part))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_narrow_fma(dtype: Dtype) -> None:
    """x * y + z of any codes is the exact value rounded once, as on the host."""
    generator = np.random.default_rng(dtype.code)
    codes = generator.integers(0, 1 << dtype.bits, (3, COUNT), np.uint64)
    plain = codes.astype(np.uint16 if dtype.bits == 16 else np.uint8)
    if dtype.bits == 4:
        plain = plain[:, ::2] | plain[:, 1::2] << 4
    operands = [cf.asarray(row) for row in plain]
    operands = [_read(operand, dtype) for operand in operands]
    right = cf.fma(*operands)
    found = cf.fma(*(operand.to_device(cf.cuda(0)) for operand in operands)).to_device(cf.host())
    assert_same(np.array(found.to_values()), np.array(right.to_values()))


def _read(array: cf.Array, dtype: Dtype) -> cf.Array:
    """The bits of an array of unsigned integers as elements of a dtype, in one axis."""
    read = array.bitcast(dtype)
    assert read is not None
    shape = cf.Layout((COUNT,), (1,), 0)
    return cf.Array(dtype, shape, read.buffer)
