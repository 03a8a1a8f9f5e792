"""The pointwise kernels as functions on codes: ``core(name, dtype)`` and what room their results have, ``room``.

What picks an element or flips its sign bit keeps bits: neg and abs (also of NaN), where, maximum and minimum. Every
other float result goes through the store rule, so an infinite float8_e5m2 operand that comes out of floor or add is
stored as the largest finite value. Booleans are read as true for any non-zero byte and written 1 or 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from counterfoil_reference import arithmetic, domains, functions
from counterfoil_reference.intervals import Accept, Between, free_nan
from counterfoil_reference.numbers import (
    BINARY32,
    BINARY64,
    FORMATS,
    NAN,
    ONE,
    Format,
    Number,
    decode,
    decode_exact,
    encode,
    encode_exact,
    integer_of_code,
    is_nan_code,
    join_complex,
    ordered,
    outward_code,
    split_complex,
)
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.kernels import KERNELS, Family

Core = Callable[..., int]
Room = Callable[[tuple[int, ...], int], Accept | None]

KEEPS_BITS: Final = frozenset({"neg", "abs", "where", "copy", "cast"})
"""Kernels whose NaN results have the bits the rules give them; of all others a NaN is free (N1)."""


@functools.cache
def core(name: str, dtype: Dtype) -> Core:
    """The kernel on codes of ``dtype`` (``where``: a boolean code, then two), giving the code of its result."""
    family = KERNELS[name].family
    if family is Family.WHERE:
        return _where
    if family is Family.COMPARE:
        found = _comparison(name, dtype)
    elif dtype.kind is Kind.FLOAT:
        found = _float_core(name, dtype)
    elif dtype.kind is Kind.COMPLEX:
        found = _complex_core(name, dtype)
    elif dtype.kind is Kind.BOOLEAN:
        found = _boolean_core(name)
    else:
        found = _integer_core(name, dtype)
    return functools.lru_cache(maxsize=None)(found) if dtype.bits <= 8 and family is not Family.FMA else found


@functools.cache
def room(name: str, dtype: Dtype) -> Room | None:
    """What gives the room of a result from the source codes and the stored code; None if there never is any."""
    kernel = KERNELS[name]
    if kernel.family is Family.COMPARE or name in KEEPS_BITS or dtype.float_format is None:
        return None
    if kernel.ulps and dtype.kind is Kind.FLOAT:
        return lambda sources, result: _function_room(name, dtype, sources, result)
    return lambda sources, result: free_nan(dtype, result)


def _where(condition: int, x: int, y: int) -> int:
    return x if condition else y


# --- floats ----------------------------------------------------------------------------------------------------------


def _float_core(name: str, dtype: Dtype) -> Core:
    form = FORMATS[dtype]
    if name == "neg":
        return lambda x: x ^ form.sign_bit
    if name == "abs":
        return lambda x: x & ~form.sign_bit
    if name in ("maximum", "minimum"):
        return _float_extreme(form, name == "maximum")
    if KERNELS[name].ulps:
        return lambda *codes: _evaluated(name, form, codes)[0]
    if KERNELS[name].family is Family.UNARY:
        unary = _UNARY[name]
        return lambda x: encode(form, unary(form, decode(form, x)))
    if name == "fma":
        return lambda x, y, z: encode(form, _fused(decode(form, x), decode(form, y), decode(form, z)))
    binary = _BINARY[name]
    return lambda x, y: encode(form, binary(form, decode(form, x), decode(form, y)))


def _fused(x: Number, y: Number, z: Number) -> Number:
    return arithmetic.add(arithmetic.multiply(x, y), z)


_UNARY: Final[dict[str, Callable[[Format, Number], Number]]] = {
    "recip": lambda form, x: arithmetic.divide(form, ONE, x),
    "sign": lambda form, x: arithmetic.signum(x),
    "sqrt": arithmetic.square_root,
    "floor": lambda form, x: arithmetic.integral(x, "floor"),
    "ceil": lambda form, x: arithmetic.integral(x, "ceil"),
    "round": lambda form, x: arithmetic.integral(x, "round"),
    "trunc": lambda form, x: arithmetic.integral(x, "trunc"),
}

_BINARY: Final[dict[str, Callable[[Format, Number, Number], Number]]] = {
    "add": lambda form, x, y: arithmetic.add(x, y),
    "sub": lambda form, x, y: arithmetic.subtract(x, y),
    "mul": lambda form, x, y: arithmetic.multiply(x, y),
    "fdiv": arithmetic.divide,
    "mod": lambda form, x, y: arithmetic.remainder(x, y),
}


def total_order(form: Format, code: int) -> int:
    """An integer that orders codes that are not NaN as their values, and -0 before +0."""
    magnitude = code & (form.sign_bit - 1)
    return -magnitude - 1 if code & form.sign_bit else magnitude


def _float_extreme(form: Format, greatest: bool) -> Core:
    nan = encode(form, NAN)

    def extreme(x: int, y: int) -> int:
        if is_nan_code(form, x) or is_nan_code(form, y):
            return nan
        first = total_order(form, x) >= total_order(form, y)
        return x if first == greatest else y

    return extreme


@functools.lru_cache(maxsize=16384)
def _evaluated(name: str, form: Format, codes: tuple[int, ...]) -> tuple[int, functions.Enclosure | None]:
    """A function's correctly rounded code, and the exact result's enclosure where it is not a special case."""
    numbers = tuple(decode(form, code) for code in codes)
    special = domains.special(name, numbers)
    if special is not None:
        return encode(form, special), None
    return functions.nearest(name, numbers, form)


def _function_room(name: str, dtype: Dtype, sources: tuple[int, ...], result: int) -> Accept | None:
    """N2: the exact result give or take the bound, in the computing format, rounded to the dtype's where narrower.

    The computing format is float64 for float64, float32 for all others. A unit in the last place is that of the
    exact result's binade there, the smallest subnormal at least. An interval that reaches past the largest finite
    value of the computing format holds infinity, as the dtype stores it. Special cases have no room.
    """
    enclosure = _evaluated(name, FORMATS[dtype], sources)[1]
    if enclosure is None:
        return free_nan(dtype, result)
    form = FORMATS[dtype]
    wide = BINARY64 if form is BINARY64 else BINARY32
    bound = KERNELS[name].ulps
    assert bound is not None
    if min(map(functions.size, enclosure)) > 16000:
        return None  # past every format
    (low, high), unit = _with_unit(name, tuple(decode(form, code) for code in sources), wide, enclosure)
    exponent = min(low.exponent, high.exponent, unit)
    more = bound[wide is BINARY64] << unit - exponent
    lowest = _inner_code(wide, _scaled(low, exponent) - more, exponent, False)
    highest = _inner_code(wide, _scaled(high, exponent) + more, exponent, True)
    if form is wide:
        return Between(lowest, highest)
    return Between(encode(form, decode(wide, lowest)), encode(form, decode(wide, highest)))


def _with_unit(
    name: str, arguments: tuple[Number, ...], wide: Format, enclosure: functions.Enclosure
) -> tuple[functions.Enclosure, int]:
    """The power of two of a unit in the last place of the value enclosed, and an enclosure that tells.

    A value that is not exactly its enclosure's end lies strictly inside, so an outer end that is a power of two
    belongs to the binade above. The precision is raised until both ends are of one binade.
    """
    bits = functions.FIRST_BITS
    while True:
        inner, outer = reversed(enclosure) if enclosure[0].sign else enclosure
        top = functions.size(outer) - (inner != outer and outer.mantissa & (outer.mantissa - 1) == 0)
        units = {max(size - wide.precision, wide.least) for size in (functions.size(inner), top)}
        if len(units) == 1 or inner.mantissa == 0:
            return enclosure, max(units)
        bits *= 2
        enclosure = functions.enclose(name, arguments, bits)


def _scaled(x: Number, exponent: int) -> int:
    magnitude = x.mantissa << x.exponent - exponent
    return -magnitude if x.sign else magnitude


def _inner_code(form: Format, value: int, exponent: int, down: bool) -> int:
    """The code next to ``value * 2**exponent`` below (``down``) or above; infinity past the largest finite value."""
    if value >= 0:
        return outward_code(form, value, exponent, up=not down)
    return outward_code(form, -value, exponent, up=down) | form.sign_bit


# --- integers, booleans, complex -------------------------------------------------------------------------------------


def _integer_core(name: str, dtype: Dtype) -> Core:
    operation, mask = _INTEGER[name], (1 << dtype.bits) - 1
    return lambda *codes: operation(*(integer_of_code(dtype, code) for code in codes)) & mask


def _quotient(x: int, y: int) -> int:
    """Toward zero; ``x / 0`` is 0, and the least value over -1 wraps to itself."""
    magnitude = abs(x) // abs(y) if y else 0
    return -magnitude if (x < 0) != (y < 0) else magnitude


def _remainder(x: int, y: int) -> int:
    """With the sign of ``x``; ``x mod 0`` is ``x``."""
    return x - _quotient(x, y) * y


def _power(x: int, y: int) -> int:
    """Modulo the width (2**64 covers all); negative exponents give 0, but for the bases 1 and -1."""
    if y < 0:
        return x ** (y & 1) if x in (1, -1) else 0
    return pow(x, y, 1 << 64)


_INTEGER: Final[dict[str, Callable[..., int]]] = {
    "neg": lambda x: -x,
    "recip": lambda x: x if x in (1, -1) else 0,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "idiv": _quotient,
    "mod": _remainder,
    "pow": _power,
    "maximum": max,
    "minimum": min,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "fma": lambda x, y, z: x * y + z,
}


def _boolean_core(name: str) -> Core:
    """On truth values; maximum is or, minimum is and."""
    operation = _INTEGER[name]
    return lambda x, y: operation(int(x != 0), int(y != 0))


def _complex_core(name: str, dtype: Dtype) -> Core:
    form = FORMATS[dtype]
    if name == "neg":
        both = join_complex(dtype, form.sign_bit, form.sign_bit)
        return lambda x: x ^ both
    part = _BINARY[name]

    def componentwise(x: int, y: int) -> int:
        pairs = zip(split_complex(dtype, x), split_complex(dtype, y), strict=True)
        real, imaginary = (encode(form, part(form, decode(form, a), decode(form, b))) for a, b in pairs)
        return join_complex(dtype, real, imaginary)

    def product(x: int, y: int) -> int:
        (a, b), (c, d) = split_complex(dtype, x), split_complex(dtype, y)
        left, right = (decode(form, a), decode(form, b)), (decode(form, c), decode(form, d))
        real, imaginary = arithmetic.complex_product(left, right)
        return join_complex(dtype, encode(form, real), encode(form, imaginary))

    return product if name == "mul" else componentwise


# --- comparisons -----------------------------------------------------------------------------------------------------


def _comparison(name: str, dtype: Dtype) -> Core:
    """IEEE: zeros are equal, NaN only not_equal; complex values in the order of (re, im), any NaN part a NaN."""
    key, operation = _comparison_key(dtype), _COMPARISONS[name]
    unordered = int(name == "not_equal")

    def compare(x: int, y: int) -> int:
        left, right = key(x), key(y)
        return unordered if left is None or right is None else int(operation(left, right))

    return compare


Key = tuple[int, ...]

_COMPARISONS: Final[dict[str, Callable[[Key, Key], bool]]] = {
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
}


def _comparison_key(dtype: Dtype) -> Callable[[int], Key | None]:
    """What orders the codes of a dtype as their values; None for NaN."""
    if dtype.kind is Kind.BOOLEAN:
        return lambda code: (int(code != 0),)
    if dtype.float_format is None:
        return lambda code: (integer_of_code(dtype, code),)
    form = FORMATS[dtype]

    def key(code: int) -> Key | None:
        parts = split_complex(dtype, code) if dtype.kind is Kind.COMPLEX else (code,)
        if any(is_nan_code(form, part) for part in parts):
            return None
        return tuple(ordered(form, part) for part in parts)

    return key


# --- casts -----------------------------------------------------------------------------------------------------------


@functools.cache
def cast_core(source: Dtype, target: Dtype) -> Core:
    """A code of ``source`` converted to ``target`` (``arrays.md`` 7).

    Its own dtype keeps bits. Floats round once from the exact value (also of an int); a float becomes an int truncated
    and saturated, NaN 0; an int wraps; complex values convert part by part, or by their real part; a boolean is
    whether anything is not zero, and becomes 0 or 1. A part in the same format keeps its bits (float32 and complex64),
    other NaNs follow the store rule.
    """
    if source is target:
        return lambda code: code
    if Kind.COMPLEX in (source.kind, target.kind) and FORMATS.get(source) is FORMATS.get(target):
        return lambda code: code & ((1 << min(source.bits, target.bits)) - 1)
    return lambda code: encode_exact(target, decode_exact(source, code))
