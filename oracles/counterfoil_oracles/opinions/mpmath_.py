"""mpmath: the elementary functions, within the bound of N2.

A value is computed at two precisions. Where the bounds around the two differ, mpmath cannot tell at that precision
which codes are right, and has no opinion.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

import mpmath

from counterfoil_oracles.opinions.bounds import Bound, bound, undefined, value_of
from counterfoil_oracles.opinions.codes import Batch, Element, elements, result_code
from counterfoil_oracles.opinions.opinion import Topic, Undecided
from counterfoil_spec.dtypes import Dtype, Kind, float64
from counterfoil_spec.kernels import KERNELS, Family, Kernel

ORACLE: Final = "mpmath"

_PRECISIONS: Final = (200, 400)
_BATCH: Final = 67
_FAR: Final = 1 << 12
"""Powers of two past which every format overflows or vanishes: values beyond are moved there."""

_NAMED: Final[dict[str, Callable[..., Any]]] = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "pow": mpmath.power,
}
_LIKELY: Final = {"asin": 1.0, "acos": 1.0, "log1p": 4.0, "sinh": 90.0, "cosh": 90.0, "exp": 100.0, "exp2": 150.0}
"""How large an argument is drawn, for functions that are infinite or undefined on most of a format; else 50."""

_FUNCTIONS: Final = [row for row in KERNELS.values() if row.ulps is not None]
_FLOATS: Final = [dtype for dtype in Dtype.all if dtype.kind is Kind.FLOAT]


def opinion(element: Element) -> Bound:
    """The results that are right for the element; Undecided where the precision does not settle it."""
    batch = element.batch
    form, ulps = batch.source.float_format, KERNELS[batch.kernel].ulps
    assert form is not None and ulps is not None
    arguments = [value_of(form, code) for code in element.arguments]
    found = {_bound(batch, arguments, ulps, precision) for precision in _PRECISIONS}
    if len(found) != 1:
        raise Undecided
    return found.pop()


def _bound(batch: Batch, arguments: list[Any], ulps: tuple[int, int], precision: int) -> Bound:
    function = _NAMED.get(batch.kernel) or getattr(mpmath, batch.kernel)
    with mpmath.workprec(precision):
        value = function(*(mpmath.mpf(each.numerator) / each.denominator for each in arguments))
    if isinstance(value, mpmath.mpc) or mpmath.isnan(value):
        return undefined(batch.result)
    return bound(batch.result, _rational(value), ulps)


def _rational(value: Any) -> Fraction:
    """An mpf as a rational, one far outside every format moved nearer."""
    if mpmath.isinf(value):
        return Fraction(1 << _FAR) * (1 if value > 0 else -1)
    sign, mantissa, exponent, size = value._mpf_
    if mantissa == 0:
        return Fraction(0)
    if abs(exponent + size) > _FAR:
        exponent, mantissa = _FAR if exponent > 0 else -_FAR, 1
    magnitude = Fraction(int(mantissa)) * (Fraction(2) ** int(exponent))
    return -magnitude if sign else magnitude


def _questions(rng: random.Random, names: list[Kernel]) -> Iterator[Element]:
    for row in names:
        count = 2 if row.family is Family.BINARY else 1
        for dtype in _FLOATS:
            codes = tuple(tuple(_argument(rng, row, dtype) for _ in range(_BATCH)) for _ in range(count))
            yield from elements(Batch(row.name, dtype, dtype, codes))


def _argument(rng: random.Random, row: Kernel, dtype: Dtype) -> int:
    """A finite argument, not 0: any code, or a value of an ordinary magnitude."""
    form = dtype.float_format
    assert form is not None
    while True:
        code = rng.getrandbits(dtype.bits)
        if dtype.bits >= 16 and rng.random() < 0.7:
            code = _code_near(rng.uniform(-1, 1) * _LIKELY.get(row.name, 50.0) ** rng.random(), dtype)
        if 0 < code & (1 << form.bits - 1) - 1 <= form.last_finite_code:
            return code


def _code_near(value: float, dtype: Dtype) -> int:
    """A code of about that value: float64's, its exponent moved and its fraction cut."""
    form, wide = dtype.float_format, float64.float_format
    assert form is not None and wide is not None
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    exponent = (bits >> 52 & 0x7FF) - wide.bias + form.bias
    magnitude = max(exponent, 0) << form.fraction_bits | (bits & (1 << 52) - 1) >> 52 - form.fraction_bits
    return int(bits >> 63 << form.bits - 1 | min(magnitude, form.last_finite_code))


def _topic(name: str, rows: list[Kernel], floor: int) -> Topic:
    return Topic(
        ORACLE, name, ("kernels/function-bound",), floor,
        draw=lambda rng: _questions(rng, rows),
        opinion=opinion,
        answer=result_code,
        agrees=Bound.holds,
    )  # fmt: skip


TOPICS: Final = (
    _topic("functions", [row for row in _FUNCTIONS if row.family is Family.UNARY], 7300),
    _topic("powers", [row for row in _FUNCTIONS if row.name == "pow"], 450),
    _topic("angles", [row for row in _FUNCTIONS if row.name == "atan2"], 450),
)
