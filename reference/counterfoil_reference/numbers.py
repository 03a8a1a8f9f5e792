"""Exact numbers, the formats that hold them, and the store rule (A6, A12, N1).

A float's value is a ``Number``: a sign, a mantissa and a power of two, all Python integers. ``encode`` rounds one
once, to nearest with ties to even, in the format's precision with the exponent unbounded above; past the largest
finite value the float8 and float4 formats saturate and the others give infinity. So float8_e5m2 infinities come from
raw bytes only, and arithmetic on one stores the largest finite value. NaN keeps its sign and the top bits of its
payload, quieted, in binary16, bfloat16 and binary32; the 8-bit formats store all ones, float4 stores +0, and binary64
keeps the very bits. A code is an element's raw bit pattern, a non-negative integer.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Final, NamedTuple

from counterfoil_spec.arguments import instance
from counterfoil_spec.dtypes import Dtype, FloatFormat, Kind, float32, float64
from counterfoil_spec.refusals import refuse, shown
from counterfoil_spec.values import exact

INFINITE: Final = -1
"""The mantissa that marks an infinity."""

NOT_A_NUMBER: Final = -2
"""The mantissa that marks NaN; its exponent field is the payload as binary64's 52 fraction bits."""

_QUIET: Final = 1 << 51


class Number(NamedTuple):
    """``(-1)**sign * mantissa * 2**exponent`` exactly; zero has a sign. Negative mantissas mark what is no number."""

    sign: int
    mantissa: int
    exponent: int


NAN: Final = Number(0, NOT_A_NUMBER, _QUIET)
"""The NaN that arithmetic gives here; its sign and payload are free (N1)."""

INFINITY: Final = Number(0, INFINITE, 0)
NEGATIVE_INFINITY: Final = Number(1, INFINITE, 0)
ZERO: Final = Number(0, 0, 0)
ONE: Final = Number(0, 1, 0)


class Format:
    """A float format's figures as integers. ``least`` is the power of two of its smallest subnormal."""

    __slots__ = (
        "bits", "decoded", "fraction_bits", "has_infinity", "has_nan", "infinity", "largest", "last_finite", "least",
        "precision", "saturates", "sign_bit",
    )  # fmt: skip

    def __init__(self, layout: FloatFormat) -> None:
        self.bits = layout.bits
        self.fraction_bits = layout.fraction_bits
        self.precision = layout.fraction_bits + 1
        self.least = 1 - layout.bias - layout.fraction_bits
        self.sign_bit = 1 << (layout.bits - 1)
        self.last_finite = layout.last_finite_code
        self.has_infinity, self.has_nan, self.saturates = layout.has_infinity, layout.has_nan, layout.saturates
        self.infinity = self.last_finite + 1  # an infinity's magnitude where there is one
        self.decoded: dict[int, Number] = {}
        self.largest = decode(self, self.last_finite)


def decode(form: Format, code: int) -> Number:
    """The number of a code; a NaN narrower than binary64 comes out quiet, with payload 0 from the 8-bit formats."""
    known = form.decoded.get(code)
    if known is not None:
        return known
    sign, magnitude = code >> (form.bits - 1), code & (form.sign_bit - 1)
    scale, fraction = magnitude >> form.fraction_bits, magnitude & ((1 << form.fraction_bits) - 1)
    if magnitude > form.last_finite:
        number = _special(form, sign, magnitude, fraction)
    elif scale == 0:
        number = Number(sign, fraction, form.least)
    else:
        number = Number(sign, fraction | 1 << form.fraction_bits, form.least + scale - 1)
    if form.bits <= 16:
        form.decoded[code] = number
    return number


def _special(form: Format, sign: int, magnitude: int, fraction: int) -> Number:
    if form.has_infinity and magnitude == form.infinity:
        return Number(sign, INFINITE, 0)
    if form.bits == 64:
        return Number(sign, NOT_A_NUMBER, fraction)
    payload = 0 if form.bits == 8 else fraction << (52 - form.fraction_bits)
    return Number(sign, NOT_A_NUMBER, payload | _QUIET)


def encode(form: Format, number: Number) -> int:
    """The code of a number by the store rule."""
    sign, mantissa, exponent = number
    if mantissa >= 0:
        return magnitude_code(form, mantissa, exponent) | (form.sign_bit if sign else 0)
    if mantissa == INFINITE:
        return overflow_code(form) | (form.sign_bit if sign else 0)
    return _nan_code(form, exponent) | (form.sign_bit if sign and form.has_nan else 0)


def overflow_code(form: Format) -> int:
    """The code a magnitude past the largest finite value is stored as."""
    return form.last_finite if form.saturates else form.infinity


def _nan_code(form: Format, payload: int) -> int:
    if not form.has_nan:
        return 0
    if form.bits == 8:
        return form.sign_bit - 1
    kept = payload >> (52 - form.fraction_bits)
    return form.infinity | kept | (0 if form.bits == 64 else 1 << (form.fraction_bits - 1))


def magnitude_code(form: Format, mantissa: int, exponent: int) -> int:
    """The code of ``mantissa * 2**exponent >= 0``, rounded once, then judged for overflow."""
    code = rounded_code(form, mantissa, exponent)
    return code if code <= form.last_finite else overflow_code(form)


def rounded_code(form: Format, mantissa: int, exponent: int) -> int:
    """``mantissa * 2**exponent >= 0`` rounded to nearest even with the exponent unbounded above.

    Codes past the format's last finite one stand for the values the format would go on with.
    """
    if mantissa == 0:
        return 0
    dropped = max(mantissa.bit_length() - form.precision, form.least - exponent)
    kept, rest, half = _split(mantissa, dropped)
    if rest > half or (rest == half != 0 and kept & 1):
        kept += 1
    # A normal number's kept bits include the leading one, which makes the exponent field one more: so does a carry.
    return ((exponent + dropped - form.least) << form.fraction_bits) + kept


def _split(mantissa: int, dropped: int) -> tuple[int, int, int]:
    """The bits kept, the bits dropped, and half a unit of the kept ones (0 if none are dropped)."""
    if dropped <= 0:
        return mantissa << -dropped, 0, 0
    if dropped > mantissa.bit_length() + 1:
        return 0, 1, 2  # far below half a unit
    return mantissa >> dropped, mantissa & ((1 << dropped) - 1), 1 << (dropped - 1)


def outward_code(form: Format, mantissa: int, exponent: int, up: bool) -> int:
    """The magnitude code next to ``mantissa * 2**exponent >= 0`` above (``up``) or below; past the largest: infinity.

    For formats with infinities.
    """
    if mantissa == 0:
        return 0
    dropped = max(mantissa.bit_length() - form.precision, form.least - exponent)
    kept, rest, _ = _split(mantissa, dropped)
    code = ((exponent + dropped - form.least) << form.fraction_bits) + kept
    past = code > form.last_finite or (code == form.last_finite and rest != 0)
    return form.infinity if past else code + (1 if up and rest else 0)


def ratio_number(form: Format, numerator: int, denominator: int, exponent: int = 0, sign: int = 0) -> Number:
    """A number that rounds in ``form`` as ``numerator / denominator * 2**exponent`` does (``denominator > 0``).

    The quotient is cut two or more bits below the format's precision, and its last bit says whether anything was
    cut off. ``sign`` is the sign of a zero.
    """
    if numerator == 0:
        return Number(sign, 0, 0)
    magnitude = abs(numerator)
    shift = max(form.precision + 2 + denominator.bit_length() - magnitude.bit_length(), 0)
    quotient, rest = divmod(magnitude << shift, denominator)
    return Number(int(numerator < 0), quotient << 1 | (rest != 0), exponent - shift - 1)


def encode_ratio(form: Format, numerator: int, denominator: int, exponent: int = 0) -> int:
    """The code of ``numerator / denominator * 2**exponent`` rounded once (``denominator > 0``); 0 gives +0."""
    return encode(form, ratio_number(form, numerator, denominator, exponent))


def is_nan_code(form: Format, code: int) -> bool:
    """Whether a code of the format is NaN."""
    magnitude = code & (form.sign_bit - 1)
    return magnitude > form.last_finite and not (form.has_infinity and magnitude == form.infinity)


def ordered(form: Format, code: int) -> int:
    """An integer that orders the codes that are not NaN as their values; both zeros give 0."""
    magnitude = code & (form.sign_bit - 1)
    return -magnitude if code & form.sign_bit else magnitude


_BY_LAYOUT: Final = {dtype.float_format: Format(dtype.float_format) for dtype in Dtype.all if dtype.float_format}

FORMATS: Final[dict[Dtype, Format]] = {
    dtype: _BY_LAYOUT[dtype.float_format] for dtype in Dtype.all if dtype.float_format
}
"""The format of each float dtype, and of each complex dtype's components."""

BINARY64: Final = FORMATS[float64]
BINARY32: Final = FORMATS[float32]


# --- exact values of any dtype ---------------------------------------------------------------------------------------

Exact = Number | int | bool | tuple[Number, Number]
"""The exact value of an element: Number (floats), int, bool, or (real, imaginary) Numbers."""


def decode_exact(dtype: Dtype, code: int) -> Exact:
    """The exact value of a code: Number for floats, a pair of them for complex, int, or bool (any non-zero code)."""
    match dtype.kind:
        case Kind.FLOAT:
            return decode(FORMATS[dtype], code)
        case Kind.COMPLEX:
            real, imaginary = split_complex(dtype, code)
            return decode(FORMATS[dtype], real), decode(FORMATS[dtype], imaginary)
        case Kind.BOOLEAN:
            return code != 0
    return integer_of_code(dtype, code)


def encode_exact(dtype: Dtype, exact: Exact | Fraction) -> int:
    """The code of an exact value in a dtype, by the rules of a cast (``arrays.md`` 7).

    Floats round once; an int wraps in integer dtypes, where a Number or a Fraction truncates and saturates (NaN 0);
    complex dtypes take a real value as their real part; booleans are true for everything but zero. A pair of Numbers
    gives a real dtype its real part.
    """
    match dtype.kind:
        case Kind.COMPLEX:
            pair = exact if isinstance(exact, tuple) and not isinstance(exact, Number) else (exact, ZERO)
            form = FORMATS[dtype]
            return join_complex(dtype, encode(form, _number(form, pair[0])), encode(form, _number(form, pair[1])))
        case Kind.BOOLEAN:
            return int(is_true(exact))
    real = exact[0] if isinstance(exact, tuple) and not isinstance(exact, Number) else exact
    if dtype.kind is Kind.FLOAT:
        return encode(FORMATS[dtype], _number(FORMATS[dtype], real))
    if isinstance(real, int):
        return real & ((1 << dtype.bits) - 1)
    return saturated_code(dtype, math.trunc(real) if isinstance(real, Fraction) else truncated(real))


def is_true(exact: Exact | Fraction) -> bool:
    """Whether a value is anything but zero; NaN is, and a complex value with either part other than zero."""
    if isinstance(exact, Number):
        return exact.mantissa != 0
    if isinstance(exact, tuple):
        return exact[0].mantissa != 0 or exact[1].mantissa != 0
    return exact != 0


def _number(form: Format, value: Exact | Fraction) -> Number:
    if isinstance(value, Number):
        return value
    if isinstance(value, Fraction):
        return ratio_number(form, value.numerator, value.denominator)
    assert isinstance(value, int)
    return number_of_int(value)


def number_of_int(value: int) -> Number:
    """An integer as a Number; 0 is +0."""
    return Number(int(value < 0), abs(value), 0)


def fraction(number: Number) -> Fraction:
    """A finite Number as a Fraction."""
    magnitude = Fraction(number.mantissa) * Fraction(2) ** number.exponent
    return -magnitude if number.sign else magnitude


def truncated(number: Number) -> int | None:
    """The integer part of a number, toward zero; None for NaN, and past any integer dtype for an infinity."""
    sign, mantissa, exponent = number
    if mantissa == NOT_A_NUMBER:
        return None
    if mantissa == INFINITE:
        whole = 1 << 1100
    else:
        whole = mantissa << exponent if exponent >= 0 else mantissa >> -exponent
    return -whole if sign else whole


def saturated_code(dtype: Dtype, value: int | None) -> int:
    """An integer dtype's code of an integer, at the nearer end of its range if outside; None (NaN) is 0."""
    low, high = int_range(dtype)
    return min(max(value or 0, low), high) & ((1 << dtype.bits) - 1)


def int_range(dtype: Dtype) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype."""
    if dtype.kind is Kind.UNSIGNED:
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def integer_of_code(dtype: Dtype, code: int) -> int:
    """The value of an integer dtype's code."""
    return code - (1 << dtype.bits) if dtype.kind is Kind.SIGNED and code >> (dtype.bits - 1) else code


def split_complex(dtype: Dtype, code: int) -> tuple[int, int]:
    """The codes of a complex element's real (low bits) and imaginary part."""
    width = dtype.bits // 2
    return code & ((1 << width) - 1), code >> width


def join_complex(dtype: Dtype, real: int, imaginary: int) -> int:
    """The code of a complex element from its parts' codes."""
    return real | imaginary << dtype.bits // 2


# --- Python values ---------------------------------------------------------------------------------------------------


def float_bits(value: float) -> int:
    """The binary64 code of a Python float."""
    return int.from_bytes(struct.pack("<d", value), "little")


def number_of_float(value: float) -> Number:
    """The exact value of a Python float."""
    return decode(BINARY64, float_bits(value))


def float_of_code(form: Format, code: int) -> float:
    """A float code's value as a Python float, exactly; a NaN narrower than binary64 is quieted, payload kept."""
    bits = code if form is BINARY64 else encode(BINARY64, decode(form, code))
    value: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return value


def code_of_value(dtype: Dtype, value: object) -> int:
    """The code that storing a Python value writes (A12).

    int for integer dtypes (in range), bool for booleans, int or float for floats, int, float or complex for complex
    dtypes; a bool is no int here. An int stored into a float rounds once from its exact value. Refuses
    dtypes/value-type and dtypes/value-range.
    """
    given, kind = exact(value), dtype.kind
    if kind is Kind.BOOLEAN:
        if type(given) is bool:
            return int(given)
    elif type(given) is int and kind in (Kind.SIGNED, Kind.UNSIGNED):
        return _code_in_range(dtype, given)
    elif type(given) in (int, float) and kind in (Kind.FLOAT, Kind.COMPLEX):
        assert isinstance(given, (int, float))
        return _code_of_real(FORMATS[dtype], given)
    elif type(given) is complex and kind is Kind.COMPLEX:
        form = FORMATS[dtype]
        return join_complex(dtype, _code_of_real(form, given.real), _code_of_real(form, given.imag))
    raise refuse("dtypes/value-type", dtype=dtype.name, value=shown(value))


def _code_of_real(form: Format, value: int | float) -> int:
    return encode(form, number_of_float(value) if isinstance(value, float) else number_of_int(value))


def _code_in_range(dtype: Dtype, value: int) -> int:
    low, high = int_range(dtype)
    if not low <= value <= high:
        raise refuse("dtypes/value-range", dtype=dtype.name, value=value, low=low, high=high)
    return value & ((1 << dtype.bits) - 1)


def value_of_code(dtype: Dtype, code: int) -> float | complex | bool | int:
    """A code as the Python value that reading gives: float, complex, bool, or int (unsigned read unsigned)."""
    match dtype.kind:
        case Kind.FLOAT:
            return float_of_code(FORMATS[dtype], code)
        case Kind.COMPLEX:
            real, imaginary = split_complex(dtype, code)
            return complex(float_of_code(FORMATS[dtype], real), float_of_code(FORMATS[dtype], imaginary))
        case Kind.BOOLEAN:
            return code != 0
    return integer_of_code(dtype, code)


def of_float(dtype: Dtype, x: float) -> float | complex | bool | int:
    """What storing the binary64 ``x`` gives, read back: the store rule (``arrays.md`` 1.4).

    Integers truncate toward zero and saturate, NaN gives 0; complex dtypes get real part ``x``; booleans are true
    for everything but zero. An int is first rounded to the nearest binary64. Refuses arguments/wrong-type for
    anything else, a bool included.
    """
    dtype, given = instance("dtype", dtype, Dtype), exact(x)
    if type(given) not in (int, float):
        raise refuse("arguments/wrong-type", argument="x", expected="float", value=shown(x))
    assert isinstance(given, (int, float))
    return value_of_code(dtype, encode_exact(dtype, decode(BINARY64, _code_of_real(BINARY64, given))))
