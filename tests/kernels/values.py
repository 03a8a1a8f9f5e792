"""Codes that tell right kernels from wrong ones: ends, ties, neighbours, signs, special values."""

from __future__ import annotations

import functools
import random

from counterfoil_reference.numbers import FORMATS, Format, join_complex
from counterfoil_spec.dtypes import Dtype, Kind


def _float_codes(form: Format) -> list[int]:
    one = form.infinity if form.has_infinity else form.last_finite
    unit = (1 << (form.bits - 2 - form.fraction_bits)) - 1 << form.fraction_bits  # the code of 1
    least_normal = 1 << form.fraction_bits
    magnitudes = {0, 1, 2, least_normal - 1, least_normal, least_normal + 1, unit - 1, unit, unit + 1, unit + 3}
    magnitudes |= {unit + least_normal, unit - least_normal, form.last_finite - 1, form.last_finite, one}
    if form.has_infinity:
        magnitudes |= {form.infinity + 1, (form.sign_bit - 1), form.infinity | 1 << form.fraction_bits - 1}
    elif form.has_nan:
        magnitudes.add(form.sign_bit - 1)
    kept = [magnitude for magnitude in magnitudes if 0 <= magnitude < form.sign_bit]
    return sorted({code for magnitude in kept for code in (magnitude, magnitude | form.sign_bit)})


@functools.cache
def special_codes(dtype: Dtype) -> tuple[int, ...]:
    """The dtype's telling codes; of complex dtypes, pairs of some."""
    top = 1 << dtype.bits
    if dtype.kind is Kind.FLOAT:
        return tuple(_float_codes(FORMATS[dtype]))
    if dtype.kind is Kind.COMPLEX:
        parts = _float_codes(FORMATS[dtype])
        turned = parts[5:] + parts[:5]
        return tuple(join_complex(dtype, a, b) for a, b in zip(parts + parts, parts + turned, strict=True))
    if dtype.kind is Kind.BOOLEAN:
        return (0, 1) if dtype.bits == 1 else (0, 1, 2, 255)
    half = top >> 1
    return tuple(sorted({0, 1, 2, 3, 7 % top, half - 2, half - 1, half, half + 1, top - 3, top - 2, top - 1}))


def _modest(dtype: Dtype, random: random.Random) -> int:
    """A value near 1 for floats, any for others: so that sums and products keep within range."""
    if dtype.kind is Kind.COMPLEX:
        form = FORMATS[dtype]
        return join_complex(dtype, _near_one(form, random), _near_one(form, random))
    if dtype.kind is Kind.FLOAT:
        return _near_one(FORMATS[dtype], random)
    if dtype.kind is Kind.BOOLEAN:
        return random.choice(special_codes(dtype))
    return random.getrandbits(dtype.bits)


def _near_one(form: Format, random: random.Random) -> int:
    unit = (1 << (form.bits - 2 - form.fraction_bits)) - 1 << form.fraction_bits
    reach = min(2 << form.fraction_bits, form.last_finite - unit, unit)
    return unit + random.randrange(-reach, reach + 1) | random.getrandbits(1) * form.sign_bit


@functools.cache
def pool(dtype: Dtype, modest: bool = False) -> tuple[int, ...]:
    """Some dozens of codes: telling ones (none if ``modest``), modest ones, and arbitrary bits."""
    source = random.Random(dtype.name)
    codes = [_modest(dtype, source) for _ in range(24)]
    if not modest:
        arbitrary = [source.getrandbits(dtype.bits) for _ in range(16)]
        codes += [*special_codes(dtype), *arbitrary]
    return tuple(codes)


def draw(dtype: Dtype, count: int, source: random.Random, modest: bool = False) -> list[int]:
    """Codes for ``count`` elements; half the draws of modest values, so that special ones do not drown the rest."""
    tame = modest or source.random() < 0.5
    return source.choices(pool(dtype, tame), k=count)
