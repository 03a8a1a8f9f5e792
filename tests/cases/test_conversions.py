"""(f) Conversions between formats: rounded once, saturating, the same on every path."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.cases.scenario import codes_of, fresh, from_codes

INF, NAN = math.inf, math.nan
LENGTHS = (1, 7, 64, 65)


def cast(cf: Any, dtype: Any, x: Any) -> Any:
    """The array converted by the cast kernel."""
    out = cf.host_array(dtype, list(x.shape))
    assert cf.kernels.cast(out, x) == cf.Answer.DONE
    return out


def codes_by_every_path(cf: Any, source: Any, dtype: Any, value: float) -> set[int]:
    """The bits that a value becomes by a host store, by ``from_values`` and by casts of every length."""
    stored = cf.host_array(dtype, [1])
    stored.set([0], value)
    codes = {*codes_of(cf, stored), *codes_of(cf, fresh(cf, dtype, [value]))}
    for length in LENGTHS:
        codes |= {*codes_of(cf, cast(cf, dtype, fresh(cf, source, [value] * length)))}
    return codes


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (448.0, 0x7E),
        (464.0, 0x7E),
        (465.0, 0x7E),
        (500.0, 0x7E),
        (-500.0, 0xFE),
        (NAN, 0x7F),
        (-0.0, 0x80),
        (INF, 0x7E),
    ],
)
def test_b27_overflow_of_e4m3fn(cf: Any, value: float, code: int) -> None:
    """Past its greatest value float8_e4m3fn saturates, on every path; NaN and -0 stay."""
    assert codes_by_every_path(cf, cf.float32, cf.float8_e4m3fn, value) == {code}


@pytest.mark.parametrize(
    ("value", "stored"), [(57344.0, 57344.0), (61440.0, 57344.0), (1e9, 57344.0), (-INF, -57344.0)]
)
def test_b27_overflow_of_e5m2(cf: Any, value: float, stored: float) -> None:
    """Past its greatest value float8_e5m2 saturates too, though it has infinities."""
    assert cf.of_float(cf.float8_e5m2, value) == stored
    assert cast(cf, cf.float8_e5m2, fresh(cf, cf.float32, [value])).to_values() == [stored]


def test_b28_not_a_number_to_bfloat16(cf: Any) -> None:
    """A NaN of any payload stays a NaN of its sign; infinity stays infinity."""
    x = from_codes(cf, cf.float32, [0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7F800000])
    assert codes_of(cf, cast(cf, cf.bfloat16, x)) == [0x7FC0, 0xFFC0, 0x7FFF, 0x7F80]


@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_b28_signs_of_not_a_number(cf: Any, source: str) -> None:
    """Every cast between floats that have NaN keeps a NaN and its sign."""
    for target in ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"):
        x = fresh(cf, getattr(cf, source), [NAN, math.copysign(NAN, -1.0)])
        values = cast(cf, getattr(cf, target), x).to_values()
        assert [(math.isnan(value), math.copysign(1.0, value)) for value in values] == [(True, 1.0), (True, -1.0)]


def test_b29_ties_of_bfloat16(cf: Any) -> None:
    """Narrowing rounds to nearest, ties to even."""
    x = from_codes(cf, cf.float32, [0x3F80C000, 0x3F808000, 0x3F818000])
    assert codes_of(cf, cast(cf, cf.bfloat16, x)) == [0x3F81, 0x3F80, 0x3F82]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("float16", 1 + 2**-11 + 2**-40, 1 + 2**-10),
        ("bfloat16", 1 + 2**-8 + 2**-40, 1 + 2**-7),
        ("float8_e4m3fn", 1 + 2**-4 + 2**-40, 1.125),
        ("float4_e2m1fn", 1.25 + 2**-40, 1.5),
        ("float16", 2**-25 * (1 + 2**-52), 2**-24),
    ],
)
def test_b30_rounded_once(cf: Any, name: str, value: float, stored: float, sign: float) -> None:
    """A float64 is narrowed in one rounding, not through float32."""
    dtype = getattr(cf, name)
    assert cf.of_float(dtype, sign * value) == sign * stored
    for length in LENGTHS:
        x = fresh(cf, cf.float64, [sign * value] * length)
        assert cast(cf, dtype, x).to_values() == [sign * stored] * length


@pytest.mark.parametrize("sign", [1, -1])
def test_b30_integers_rounded_once(cf: Any, sign: int) -> None:
    """A wide integer is narrowed in one rounding."""
    x = fresh(cf, cf.int64, [sign * 33947647] * 9)
    assert cast(cf, cf.bfloat16, x).to_values() == [sign * 33816576.0] * 9


def test_b31_ties_of_float4(cf: Any) -> None:
    """Every tie of float4 goes to even; -0.25 becomes -0 and NaN +0."""
    given = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.0001, 9.0, -2.5, -0.25, NAN]
    right = [0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0, -2.0, -0.0, 0.0]
    values = cast(cf, cf.float4_e2m1fn, fresh(cf, cf.float32, given)).to_values()
    assert [str(value) for value in values] == [str(value) for value in right]


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("float8_e4m3fn", 1.0625, 1.0), ("float8_e4m3fn", 1.0625001, 1.125), ("float8_e4m3fn", 2**-10, 0.0),
        ("float8_e4m3fn", 2**-10 * (1 + 2**-12), 2**-9), ("float8_e4m3fn", 3 * 2**-10, 2**-8),
        ("float8_e5m2", 1.125, 1.0), ("float8_e5m2", 1.375, 1.5), ("float16", 2**-25, 0.0),
    ],
)  # fmt: skip
def test_b32_sticky_bits(cf: Any, name: str, value: float, stored: float) -> None:
    """Float8 ties see every bit of the source, and subnormals are rounded, not flushed."""
    source = cf.float64 if name == "float16" else cf.float32
    for length in LENGTHS:
        x = fresh(cf, source, [value] * length)
        assert cast(cf, getattr(cf, name), x).to_values() == [stored] * length


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("uint8", -2.0, 0), ("uint8", 300.0, 255), ("uint16", 70000.0, 65535), ("int32", INF, 2**31 - 1),
        ("int32", -INF, -(2**31)), ("int32", 2147483600.0, 2147483647), ("int32", NAN, 0), ("int8", 2.9, 2),
        ("uint8", -0.9, 0),
    ],
)  # fmt: skip
def test_b33_floats_to_integers_saturate(cf: Any, name: str, value: float, stored: int) -> None:
    """Out-of-range floats saturate, NaN becomes 0, fractions are cut, whatever the length of the array."""
    for length in LENGTHS:
        x = fresh(cf, cf.float32, [value] * length)
        assert cast(cf, getattr(cf, name), x).to_values() == [stored] * length


def test_b33_an_integer_out_of_range_is_refused(cf: Any) -> None:
    """A value that a person writes is refused, not clamped."""
    x = cf.host_array(cf.uint8, [1])
    stores: list[Callable[[], Any]] = [
        lambda: x.set([0], 300),
        lambda: fresh(cf, cf.uint8, [-2]),
        lambda: cf.kernels.fill(x, 256),
    ]
    for store in stores:
        with pytest.raises(cf.InvalidArgument) as caught:
            store()
        assert caught.value.rule == "dtypes/value-range"


def test_b34_large_integers_to_float32(cf: Any) -> None:
    """Large integers round once, ties to even."""
    x = fresh(cf, cf.int64, [33554433, 33554434, 33554435, 33554438, 2**62 + 2**38 + 1])
    right = [33554432.0, 33554432.0, 33554436.0, 33554440.0, float(2**62 + 2**39)]
    assert cast(cf, cf.float32, x).to_values() == right
