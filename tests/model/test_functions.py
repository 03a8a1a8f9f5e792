"""Enclosures of elementary functions against mpmath, and the special values against C's mathematics."""

import math
import struct

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from counterfoil_reference.domains import special
from counterfoil_reference.functions import enclose, nearest
from counterfoil_reference.numbers import (
    BINARY32,
    BINARY64,
    INFINITE,
    Number,
    decode,
    encode,
    float_of_code,
    number_of_float,
)

UNARY = [
    "exp", "exp2", "log", "log2", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "erf",
]  # fmt: skip

SPECIALS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1e300, -1e300, math.inf, -math.inf, math.nan]


def truth(name: str, *arguments: float) -> mpmath.mpf:
    """The function's value from mpmath, with far more bits than are checked."""
    named = {"exp2": lambda x: mpmath.power(2, x), "log2": lambda x: mpmath.log(x) / mpmath.log(2), "pow": mpmath.power}
    with mpmath.workprec(3000):
        return named.get(name, getattr(mpmath, name, None))(*map(mpmath.mpf, arguments))


def real(number: Number) -> mpmath.mpf:
    """A Number as mpmath holds it, exactly."""
    with mpmath.workprec(3000):
        return mpmath.ldexp(-number.mantissa if number.sign else number.mantissa, number.exponent)


def check(name: str, *arguments: float, bits: int = 80) -> None:
    """Compare one enclosure with mpmath, unless the value is special or past every format."""
    numbers = tuple(map(number_of_float, arguments))
    assume(special(name, numbers) is None)
    low, high = enclose(name, numbers, bits)
    assume(abs(low.exponent) < 16000 and abs(high.exponent) < 16000)
    assert_encloses((low, high), truth(name, *arguments), bits)


def assert_encloses(enclosure: tuple[Number, Number], value: mpmath.mpf, bits: int = 80) -> None:
    """The value lies between the ends, and they are close relative to it."""
    low, high = map(real, enclosure)
    assert low <= value <= high
    with mpmath.workprec(3000):
        assert high - low <= abs(value) * mpmath.mpf(2) ** (2 - bits)


near_one = st.builds(lambda k, s: 1 + s * 2.0**-k, st.integers(1, 52), st.sampled_from([1, -0.5]))
reals = st.one_of(
    st.floats(-4, 4), st.floats(-800, 800), st.floats(allow_nan=False, allow_infinity=False), near_one,
    st.integers(-40, 40).map(float), st.sampled_from([0.5, -0.5, 1.0, -1.0, 22 / 7, math.pi, 5e-324, -1e-310, 1e300]),
)  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@given(x=reals)
def test_the_value_lies_in_its_enclosure(name: str, x: float) -> None:
    """Each unary function's enclosure holds mpmath's value and is narrow relative to it."""
    check(name, x)


@given(x=reals, y=reals)
@example(x=3.0, y=33.0)
@example(x=-2.0, y=-1073.0)
@example(x=1 + 2**-52, y=2.0**60)
@example(x=5e-324, y=0.25)
def test_powers_lie_in_their_enclosures(x: float, y: float) -> None:
    """pow, with negative bases to integer exponents included."""
    check("pow", x, y)


@given(y=reals, x=reals)
@example(y=5e-324, x=1e300)
@example(y=1e300, x=-5e-324)
def test_angles_lie_in_their_enclosures(y: float, x: float) -> None:
    """atan2 in all quadrants, for ratios past the range of binary64 too."""
    check("atan2", y, x)


@settings(max_examples=20)
@given(name=st.sampled_from(UNARY), x=st.floats(-30, 30), bits=st.integers(150, 400))
def test_any_precision_can_be_asked_for(name: str, x: float, bits: int) -> None:
    """An enclosure is as narrow as asked, far past any format."""
    check(name, x, bits=bits)


@pytest.mark.parametrize("x", [1e300, 2.0**1023, 6381956970095103 * 2.0**797, 1e22])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles_are_reduced_exactly(name: str, x: float) -> None:
    """Angles far past pi, and the double nearest to a multiple of pi/2, keep their relative precision."""
    assert_encloses(enclose(name, (number_of_float(x),)), truth(name, x))


@pytest.mark.parametrize("form", [BINARY32, BINARY64])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("exp2", (3.0,)), ("exp2", (-1075.0,)), ("exp2", (-150.0,)), ("log2", (8.0,)), ("log2", (2.0**-1074,)),
        ("pow", (3.0, 33.0)), ("pow", (2.25, 1.5)), ("pow", (16.0, -0.25)), ("pow", (-2.0, 3.0)),
        ("pow", (4.0, -5e-324)),
        ("pow", (0.5, 150.0)), ("pow", (2.0, 1e300)), ("atan2", (5e-324, 2.0)), ("atan2", (3 * 2.0**-150, 2.0)),
        ("erf", (1e300,)), ("tanh", (1e300,)), ("expm1", (-1e300,)), ("cos", (5e-324,)), ("exp", (1e300,)),
    ],
)  # fmt: skip
def test_rounding_ends_at_boundaries_too(name: str, arguments: tuple[float, ...], form: object) -> None:
    """Values that lie on a boundary of rounding, or hug one, or are past every format, are rounded correctly."""
    found, _ = nearest(name, tuple(map(number_of_float, arguments)), form)  # type: ignore[arg-type]
    with mpmath.workprec(3000):
        value = mpmath.mpf(2) ** 5000 if arguments[-1] == 1e300 and name in ("exp", "pow") else truth(name, *arguments)
        exponent = int(mpmath.floor(mpmath.log(abs(value), 2))) - 2900
        scaled = int(mpmath.nint(value * mpmath.mpf(2) ** -exponent))
    assert found == encode(form, Number(int(scaled < 0), abs(scaled), exponent))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("x", SPECIALS)
def test_special_values_are_those_of_c(name: str, x: float) -> None:
    """Where a result is exact by definition it is C's, sign of zero included; elsewhere C's value is close."""
    numpy_name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name)
    with np.errstate(all="ignore"):
        expected = math.erf(x) if name == "erf" else float(getattr(np, numpy_name)(np.float64(x)))
    agrees(special(name, (number_of_float(x),)), name, (x,), expected)


@pytest.mark.parametrize("x", SPECIALS)
@pytest.mark.parametrize("y", SPECIALS)
@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_special_pairs_are_those_of_c(name: str, x: float, y: float) -> None:
    """All pairs of zeros, ones, infinities, NaN and some ordinary numbers, as C's pow and atan2 have them."""
    with np.errstate(all="ignore"):
        function = np.power if name == "pow" else np.arctan2
        expected = float(function(np.array([x, 1.0]), np.array([y, 1.0]))[0])  # a lone 0.5 would be a square root
    agrees(special(name, (number_of_float(x), number_of_float(y))), name, (x, y), expected)


def agrees(found: Number | None, name: str, arguments: tuple[float, ...], expected: float) -> None:
    """Compare a special value (or, where there is none, the correctly rounded one) with a floating one."""
    if found is None:
        code, _ = nearest(name, tuple(map(number_of_float, arguments)), BINARY64)
        assert float_of_code(BINARY64, code) == pytest.approx(expected, rel=1e-14, abs=1e-300)
        return
    value = float_of_code(BINARY64, encode(BINARY64, found))
    if math.isnan(expected):
        assert math.isnan(value)
    else:
        assert struct.pack("<d", value) == struct.pack("<d", expected)


def test_an_infinite_angle_is_pi_to_all_bits() -> None:
    """atan of infinity and atan2 on the axes enclose multiples of pi/4."""
    infinite, minus = Number(0, INFINITE, 0), Number(1, INFINITE, 0)
    for name, arguments, eighths in [
        ("atan", (infinite,), 2), ("atan", (minus,), -2), ("atan2", (infinite, infinite), 1),
        ("atan2", (minus, infinite), -1), ("atan2", (infinite, minus), 3), ("atan2", (Number(0, 0, 0), minus), 4),
        ("atan2", (Number(1, 0, 0), decode(BINARY64, 1 << 63)), -4), ("atan2", (minus, Number(0, 1, 0)), -2),
    ]:  # fmt: skip
        low, high = enclose(name, arguments)
        with mpmath.workprec(200):
            assert real(low) < mpmath.pi * eighths / 4 < real(high)
