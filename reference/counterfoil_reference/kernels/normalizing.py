"""softmax: along an axis, ``exp(x - max)`` over the sum of these."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from counterfoil_reference import arithmetic, elements, functions
from counterfoil_reference.arrays import Array
from counterfoil_reference.intervals import Accept, Between, free_nan
from counterfoil_reference.kernels import lanes
from counterfoil_reference.kernels.bounds import accumulator
from counterfoil_reference.kernels.lanes import along, scattered
from counterfoil_reference.kernels.operations import total_order
from counterfoil_reference.kernels.output import write
from counterfoil_reference.numbers import (
    FORMATS,
    INFINITE,
    INFINITY,
    NAN,
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Format,
    Number,
    decode,
    encode,
    encode_ratio,
    fraction,
)
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype


def softmax(dst: Array, x: Array, axis: int) -> Answer:
    """Right within a relative ``(n + 16 + 2 |x_i - max|) u`` plus ``n h`` of the exact value, then rounded once.

    n is the axis' extent, u and h are the unit roundoff and the smallest subnormal of the accumulation format. A row
    with a NaN or +inf, or of -inf alone, is NaN throughout; beside a finite element, -inf gives exactly +0. The
    destination's shape is the source's; an axis that is none is Shape_mismatch; an identical destination is computed
    right.
    """
    return lanes.call("softmax", dst, x, axis, _work)


def _work(dst: Array, x: Array, axis: int) -> None:
    form = FORMATS[x.dtype]
    rows = [_row(form, lane) for lane in along(elements.codes(x), x.shape, axis)]

    def rooms() -> list[Accept | None]:
        return scattered([[_room(x.dtype, row, i) for i in range(len(row.codes))] for row in rows], x.shape, axis)

    write(dst, scattered([row.codes for row in rows], x.shape, axis), rooms)


class Row(NamedTuple):
    """A row's results, with the differences from the greatest element and the results' enclosures (none: special)."""

    codes: list[int]
    differences: list[Number]
    enclosures: list[tuple[Fraction, Fraction]]


def _row(form: Format, lane: list[int]) -> Row:
    numbers = [decode(form, code) for code in lane]
    if any(number.mantissa == NOT_A_NUMBER or number == INFINITY for number in numbers):
        return Row([encode(form, NAN)] * len(lane), [], [])
    greatest = decode(form, max(lane, key=lambda code: total_order(form, code), default=0))
    if greatest.mantissa == INFINITE:
        return Row([encode(form, NAN)] * len(lane), [], [])
    differences = [arithmetic.subtract(number, greatest) for number in numbers]
    bits = functions.FIRST_BITS
    while True:
        enclosures = _enclosures(differences, bits)
        codes = [[encode_ratio(form, end.numerator, end.denominator) for end in ends] for ends in enclosures]
        if all(low == high for low, high in codes):
            return Row([low for low, _ in codes], differences, enclosures)
        bits *= 2


def _enclosures(differences: list[Number], bits: int) -> list[tuple[Fraction, Fraction]]:
    """The quotients' enclosures, from those of the exponentials; the sum holds a term that is 1."""
    ends = [_exponential(difference, bits) for difference in differences]
    width = bits + 32
    least = sum(_fixed(low, width, up=False) for low, _ in ends)
    most = sum(_fixed(high, width, up=True) for _, high in ends)
    return [(_over(low, most, width), _over(high, least, width)) for low, high in ends]


def _exponential(difference: Number, bits: int) -> functions.Enclosure:
    if difference.mantissa == 0:
        return ONE, ONE
    return (ZERO, ZERO) if difference.mantissa == INFINITE else functions.enclose("exp", (difference,), bits)


def _fixed(number: Number, width: int, up: bool) -> int:
    """A number in [0, 1] times ``2**width``, rounded down or up."""
    shift = -(number.exponent + width)
    return number.mantissa << -shift if shift <= 0 else (number.mantissa >> shift) + up


def _over(number: Number, fixed: int, width: int) -> Fraction:
    return fraction(number) * (1 << width) / fixed


def _room(dtype: Dtype, row: Row, i: int) -> Accept | None:
    if not row.enclosures or row.differences[i].mantissa == INFINITE:
        return free_nan(dtype, row.codes[i])
    form = FORMATS[dtype]
    wide, count = accumulator(form), len(row.codes)
    relative = (count + 16 + 2 * abs(fraction(row.differences[i]))) / (1 << wide.precision)
    absolute = count * fraction(Number(0, 1, wide.least))
    low, high = row.enclosures[i]
    ends = max(low * (1 - relative) - absolute, Fraction(0)), high * (1 + relative) + absolute
    lowest, highest = (encode_ratio(form, end.numerator, end.denominator) for end in ends)
    return Between(lowest, highest)
