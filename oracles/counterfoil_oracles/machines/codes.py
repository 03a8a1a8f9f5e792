"""Drawing raw elements: codes at the edges of a dtype, which random bytes seldom hit."""

from __future__ import annotations

import functools
import itertools

from counterfoil_oracles.machines.choices import Chooser, pick
from counterfoil_spec.dtypes import Dtype, FloatFormat, Kind


@functools.cache
def edges(dtype: Dtype) -> tuple[int, ...]:
    """Codes of interest: zeros, ones, halves, the ends of the range, infinities and NaNs; a bool of any bits."""
    top, every = 1 << dtype.bits - 1, (1 << dtype.bits) - 1
    form = dtype.float_format
    match dtype.kind:
        case Kind.BOOLEAN:
            return (0, 1, every, top)
        case Kind.SIGNED | Kind.UNSIGNED:
            return (0, 1, 2, 3, every, every - 1, top, top - 1)
    assert form is not None
    if dtype.kind is Kind.FLOAT:
        return _float_edges(form)
    parts = _float_edges(form)
    return tuple(real | imaginary << form.bits for real, imaginary in itertools.product(parts[::3], parts[1::3]))


def _float_edges(form: FloatFormat) -> tuple[int, ...]:
    """Magnitudes 0, the least, 1, 0.5, 1.5, 2.5, 3.5, the largest and what lies past it, with either sign."""
    unit = 1 << form.fraction_bits
    one, most = form.bias * unit, (1 << form.bits - 1) - 1
    halves = (one - unit, one + unit // 2, one + unit + unit // 4, one + unit + 3 * unit // 4)
    past = (min(form.last_finite_code + 1, most), min(form.last_finite_code + 2, most), most)
    magnitudes = (0, 1, one, *halves, form.last_finite_code, *past)
    return tuple(magnitude | sign << form.bits - 1 for magnitude in magnitudes for sign in (0, 1))


def elements(chooser: Chooser, dtype: Dtype, nbytes: int) -> str:
    """That many bytes as hexadecimal text: elements of the dtype at its edges from the first byte on, then zeros."""
    codes = [pick(chooser, edges(dtype)) for _ in range(min(nbytes, 64) * 8 // dtype.bits)]
    word = sum(code << at * dtype.bits for at, code in enumerate(codes))
    return word.to_bytes(nbytes, "little").hex()
