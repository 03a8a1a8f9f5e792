"""Arrays of the reference from raw codes and back, and strategies that draw codes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

import counterfoil_reference as cf
from counterfoil_reference import elements
from counterfoil_reference.numbers import FORMATS, decode, fraction
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.kernels import FLOATS, INTEGERS

NARROW_FLOATS = [dtype for dtype in Dtype.all if dtype in FLOATS and dtype.bits <= 16]
ALL_FLOATS = [dtype for dtype in Dtype.all if dtype in FLOATS]
ALL_INTEGERS = [dtype for dtype in Dtype.all if dtype in INTEGERS]


def array(dtype: Dtype, codes: Sequence[int], shape: Sequence[int] | None = None) -> Any:
    """A host array of these codes, flat unless a shape is given."""
    made = cf.host_array(dtype, [len(codes)] if shape is None else shape)
    elements.store_codes(made, codes)
    return made


def result(kernel: str, dtype: Dtype, *sources: Any, **parameters: Any) -> list[int]:
    """The codes a pointwise kernel gives for flat sources."""
    dst = cf.host_array(dtype, sources[0].shape)
    assert getattr(cf.kernels, kernel)(dst, *sources, **parameters) is Answer.DONE
    return elements.codes(dst)


def on_codes(kernel: str, dtype: Dtype, *codes: int) -> int:
    """The code a kernel gives for one code per source, sources and result of one dtype."""
    return result(kernel, dtype, *(array(dtype, [code]) for code in codes))[0]


def code(dtype: Dtype, value: float | int | complex | bool) -> int:
    """The code a store of a value writes."""
    return elements.codes(cf.from_values(dtype, [1], [value]))[0]


def exact(dtype: Dtype, bits: int) -> Fraction:
    """A finite float code's value."""
    return fraction(decode(FORMATS[dtype], bits))


def is_finite(dtype: Dtype, bits: int) -> bool:
    """Whether a float code is neither NaN nor infinite."""
    return decode(FORMATS[dtype], bits).mantissa >= 0


def nearest_code(dtype: Dtype, value: Fraction) -> int:
    """The code nearest to a value among all of a small float dtype's, ties to even; past half a step: overflow.

    By trying each finite code and the value one step past the largest.
    """
    form = FORMATS[dtype]
    steps = [exact(dtype, bits) for bits in range(form.last_finite + 1)]
    steps.append(2 * steps[-1] - steps[-2])
    best = min(range(len(steps)), key=lambda bits: (abs(steps[bits] - abs(value)), bits & 1))
    if best > form.last_finite:
        best = form.last_finite if form.saturates else form.infinity
    return best | (form.sign_bit if value < 0 else 0)


def float_codes(dtype: Dtype, finite: bool = False) -> st.SearchStrategy[int]:
    """Codes of a float dtype: anything, and often values of moderate exponent."""
    form = FORMATS[dtype]
    assert dtype.float_format is not None
    bias, top = dtype.float_format.bias, (1 << dtype.float_format.exponent_bits) - 1
    moderate = st.builds(
        lambda sign, scale, tail: sign * form.sign_bit | min(max(bias + scale, 0), top) << form.fraction_bits | tail,
        st.integers(0, 1),
        st.integers(-6, 6),
        st.integers(0, (1 << form.fraction_bits) - 1),
    )
    drawn = st.one_of(moderate, st.integers(0, 2 * form.sign_bit - 1))
    return drawn.filter(lambda bits: is_finite(dtype, bits)) if finite else drawn


def codes_of(dtype: Dtype) -> st.SearchStrategy[int]:
    """Codes of any dtype; of integers often small values."""
    if dtype.kind is Kind.FLOAT:
        return float_codes(dtype)
    mask = (1 << dtype.bits) - 1
    return st.one_of(st.integers(-5, 5).map(lambda value: value & mask), st.integers(0, mask))


def root_of(value: Fraction, bits: int) -> Fraction:
    """The root of a value, cut after ``bits`` fractional bits."""
    return Fraction(math.isqrt(math.floor(value * 4**bits)), 2**bits)


def zeros(dtype: Dtype, *shape: int) -> Any:
    """A host array of zeros."""
    return array(dtype, [0] * math.prod(shape), shape)
