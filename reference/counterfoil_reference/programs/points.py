"""The operators on numbers: exact, then rounded once to the dtype (N1); of functions, the correctly rounded value.

A binary32 sum, difference, product, quotient or root of binary32 numbers is rounded to binary64 and then to binary32:
with more than twice the precision plus two bits in between, that is one rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import isqrt
from typing import Final

from counterfoil_reference import arithmetic
from counterfoil_reference.intervals import Between
from counterfoil_reference.kernels.operations import core, room
from counterfoil_reference.numbers import FORMATS, Format, Number, encode, float_of_code, int_range, number_of_float
from counterfoil_reference.programs.spans import Span, Value, between, code_of, rounded
from counterfoil_spec.dtypes import Dtype

FUNCTIONS: Final[dict[str, str]] = {
    **{name: name for name in ("exp", "log", "exp2", "log2", "sin", "cos", "tanh")},
    "to_pow_of": "pow",
}
"""The operators of floats that N2 bounds and that are kernels, with the kernels' names."""


def point(dtype: Dtype, operator: str, arguments: tuple[float, ...]) -> Value:
    """An operator of numbers of the dtype; a Span for functions of floats. Float mul3 is in ``bounds``."""
    form = FORMATS.get(dtype)
    if form is None:
        return wrapped(dtype, int(_INTEGERS[operator](*map(int, arguments))))
    if operator in FUNCTIONS:
        return _function(dtype, form, FUNCTIONS[operator], arguments)
    if operator == "recip_sqrt":
        return _reciprocal_root(form, arguments[0])
    if operator == "fma":
        return _fused(form, *arguments)
    return rounded(form, float(_FLOATS[operator](*arguments)))


def wrapped(dtype: Dtype, value: int) -> int:
    """An integer modulo the dtype's width."""
    low, high = int_range(dtype)
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


_Operator = Callable[..., float]

_COMMON: Final[dict[str, _Operator]] = {
    "identity": lambda x: x,
    "neg": lambda x: -x,
    "relu": lambda x: x if x > 0 else 0,
    "satur01": lambda x: min(x, 1) if x > 0 else 0,
    "not": lambda x: x == 0,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "relu_gate": lambda a, b: b if a > 0 else 0,
    "satur01_gate": lambda a, b: b if 0 < a < 1 else 0,
    "cmplt": lambda x, y: x < y,
    "cmple": lambda x, y: x <= y,
    "cmpeq": lambda x, y: x == y,
    "cmpne": lambda x, y: x != y,
    "or": lambda x, y: x != 0 or y != 0,
    "and": lambda x, y: x != 0 and y != 0,
    "where": lambda a, b, c: b if a != 0 else c,
    "arg1": lambda x, y: x,
    "arg2": lambda x, y: y,
}


# --- integers --------------------------------------------------------------------------------------------------------


def _integer_quotient(x: int, y: int) -> int:
    magnitude = abs(x) // abs(y) if y else 0
    return -magnitude if (x < 0) != (y < 0) else magnitude


def _integer_power(x: int, y: int) -> int:
    """Modulo 2**64; negative exponents give 0, but for the bases 1 and -1."""
    if y < 0:
        return x ** (y & 1) if x in (1, -1) else 0
    return pow(x, y, 1 << 64)


_INTEGERS: Final[dict[str, _Operator]] = {
    **_COMMON,
    "trunc": lambda x: x,
    "recip": lambda x: x if x in (1, -1) else 0,
    "div": _integer_quotient,
    "mod": lambda x, y: x - _integer_quotient(x, y) * y,
    "to_pow_of": _integer_power,
    "max": max,
    "min": min,
    "fma": lambda x, y, z: x * y + z,
    "mul3": lambda x, y, z: x * y * z,
}


# --- floats ----------------------------------------------------------------------------------------------------------


def quotient(x: float, y: float) -> float:
    """IEEE division, by zero too."""
    if y != 0:
        return x / y
    return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)


def _root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def _remainder(x: float, y: float) -> float:
    if math.isinf(x) or y == 0:
        return math.nan
    return math.fmod(x, y)


def _truncated(x: float) -> float:
    return math.copysign(float(math.trunc(x)), x) if math.isfinite(x) else x


def _greater(x: float, y: float) -> float:
    """The greater number; NaN wins, and -0 is below +0."""
    if x != x or y != y:
        return math.nan
    return x if (x, math.copysign(1, x)) >= (y, math.copysign(1, y)) else y


_FLOATS: Final[dict[str, _Operator]] = {
    **_COMMON,
    "trunc": _truncated,
    "sqrt": _root,
    "recip": lambda x: quotient(1.0, x),
    "div": quotient,
    "mod": _remainder,
    "max": _greater,
    "min": lambda x, y: -_greater(-x, -y),
}


def _fused(form: Format, x: float, y: float, z: float) -> float:
    """``x * y + z`` rounded once, by exact arithmetic."""
    left, right, more = number_of_float(x), number_of_float(y), number_of_float(z)
    return float_of_code(form, encode(form, arithmetic.add(arithmetic.multiply(left, right), more)))


def _function(dtype: Dtype, form: Format, kernel: str, arguments: tuple[float, ...]) -> Value:
    """A kernel's correctly rounded result, and its room by N2."""
    codes = tuple(code_of(form, argument) for argument in arguments)
    code = core(kernel, dtype)(*codes)
    value = float_of_code(form, code)
    rooms = room(kernel, dtype)
    accept = None if rooms is None else rooms(codes, code)
    if not isinstance(accept, Between):
        return value
    return between(float_of_code(form, accept.low), float_of_code(form, accept.high), value, accept.nan)


def _reciprocal_root(form: Format, x: float) -> Value:
    """``1 / sqrt(x)`` rounded once, and two units to each side unless it is exact."""
    if not 0 < x < math.inf:
        return quotient(1.0, _root(x))
    _, mantissa, exponent = number_of_float(x)
    if exponent & 1:
        mantissa, exponent = mantissa << 1, exponent - 1
    scale = form.precision + 4 + mantissa.bit_length()
    root = isqrt((1 << 2 * scale) // mantissa)
    exact = root * root * mantissa == 1 << 2 * scale
    code = encode(form, Number(0, root << 1 | (not exact), -scale - 1 - exponent // 2))
    value = float_of_code(form, code)
    if exact:
        return value
    return Span(float_of_code(form, code - 2), float_of_code(form, code + 2), value)
