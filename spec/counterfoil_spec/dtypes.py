"""The 21 element formats: codes, widths, kinds, alignment and float layouts (A6).

Storage is little-endian. An element narrower than a byte occupies the bits ``p*bits .. p*bits+bits-1`` of its
memory, bit ``8q+r`` being bit ``r`` of byte ``q``: the low bits of a byte come first.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar, Final

from counterfoil_spec.arguments import integer
from counterfoil_spec.refusals import refuse, shown
from counterfoil_spec.values import exact

_MAX_BYTES: Final = 2**63 - 1


class Kind(enum.Enum):
    """What the bits of an element stand for."""

    FLOAT = 0
    COMPLEX = 1
    SIGNED = 2
    UNSIGNED = 3
    BOOLEAN = 4


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary float format: sign, exponent, fraction, from the high bits down.

    ``has_infinity``: the all-ones exponent with fraction 0 is an infinity (and other fractions NaN). Without it,
    ``has_nan`` says whether the all-ones code alone is NaN (float8_e4m3fn) or there is none (float4_e2m1fn).
    ``saturates``: a store that overflows gives the largest finite value instead of an infinity.
    """

    exponent_bits: int
    fraction_bits: int
    has_infinity: bool
    has_nan: bool
    saturates: bool

    @property
    def bias(self) -> int:
        """What is subtracted from the stored exponent."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def bits(self) -> int:
        """Width of the format in bits."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def last_finite_code(self) -> int:
        """The code of the largest finite value."""
        magnitudes = 1 << (self.exponent_bits + self.fraction_bits)
        if self.has_infinity:
            return magnitudes - (1 << self.fraction_bits) - 1
        return magnitudes - (2 if self.has_nan else 1)


_BINARY64 = FloatFormat(11, 52, True, True, False)
_BINARY32 = FloatFormat(8, 23, True, True, False)


@dataclass(frozen=True, slots=True, eq=False)
class Dtype:
    """An element format. There are 21; compare them with ``is`` or ``==``.

    ``alignment`` is in bytes: the width for a byte or more, one byte for narrower formats, one component's width
    for complex ones. ``float_format`` is a complex dtype's component format, and None for integers and booleans.
    """

    code: int
    name: str
    bits: int
    kind: Kind
    float_format: FloatFormat | None = None

    all: ClassVar[tuple[Dtype, ...]] = ()

    def __post_init__(self) -> None:
        if Dtype.all:
            raise TypeError("there are 21 dtypes, and no other")

    @property
    def alignment(self) -> int:
        """The multiple, in bytes, on which a first element lies."""
        return max(self.bits // 16 if self.kind is Kind.COMPLEX else self.bits // 8, 1)

    @property
    def min_value(self) -> int | float | bool:
        """The least value; refused for complex dtypes (dtypes/not-ordered)."""
        return self._extreme(False)

    @property
    def max_value(self) -> int | float | bool:
        """The greatest value; refused for complex dtypes (dtypes/not-ordered)."""
        return self._extreme(True)

    def nbytes(self, count: int) -> int:
        """Bytes that hold ``count`` elements: ``ceil(count * bits / 8)``.

        Refuses dtypes/negative-count and dtypes/bytes-overflow (past 2^63 - 1 bytes).
        """
        count = integer("count", count)
        if count < 0:
            raise refuse("dtypes/negative-count", dtype=self.name, count=count)
        size = -(-count * self.bits // 8)
        if size > _MAX_BYTES:
            raise refuse("dtypes/bytes-overflow", dtype=self.name, count=count)
        return size

    @staticmethod
    def of_name(name: str) -> Dtype:
        """The dtype of exactly that name; refuses dtypes/unknown-name."""
        given = exact(name)
        found = _BY_NAME.get(given) if type(given) is str else None
        if found is None:
            raise refuse("dtypes/unknown-name", name=shown(name))
        return found

    def _extreme(self, high: bool) -> int | float | bool:
        match self.kind:
            case Kind.COMPLEX:
                raise refuse("dtypes/not-ordered", dtype=self.name)
            case Kind.BOOLEAN:
                return high
            case Kind.SIGNED:
                half = 1 << (self.bits - 1)
                return half - 1 if high else -half
            case Kind.UNSIGNED:
                return (1 << self.bits) - 1 if high else 0
            case Kind.FLOAT:
                return _FLOAT_MAXIMA[self.name] if high else -_FLOAT_MAXIMA[self.name]

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name


_FLOAT_MAXIMA: Final = {
    "float64": float("inf"),
    "float32": float("inf"),
    "float16": float("inf"),
    "bfloat16": float("inf"),
    "float8_e4m3fn": 448.0,
    "float8_e5m2": float("inf"),
    "float4_e2m1fn": 6.0,
}

float64 = Dtype(0, "float64", 64, Kind.FLOAT, _BINARY64)
float32 = Dtype(1, "float32", 32, Kind.FLOAT, _BINARY32)
float16 = Dtype(2, "float16", 16, Kind.FLOAT, FloatFormat(5, 10, True, True, False))
bfloat16 = Dtype(3, "bfloat16", 16, Kind.FLOAT, FloatFormat(8, 7, True, True, False))
float8_e4m3fn = Dtype(4, "float8_e4m3fn", 8, Kind.FLOAT, FloatFormat(4, 3, False, True, True))
float8_e5m2 = Dtype(5, "float8_e5m2", 8, Kind.FLOAT, FloatFormat(5, 2, True, True, True))
float4_e2m1fn = Dtype(6, "float4_e2m1fn", 4, Kind.FLOAT, FloatFormat(2, 1, False, False, True))
int64 = Dtype(7, "int64", 64, Kind.SIGNED)
uint64 = Dtype(8, "uint64", 64, Kind.UNSIGNED)
int32 = Dtype(9, "int32", 32, Kind.SIGNED)
uint32 = Dtype(10, "uint32", 32, Kind.UNSIGNED)
int16 = Dtype(11, "int16", 16, Kind.SIGNED)
uint16 = Dtype(12, "uint16", 16, Kind.UNSIGNED)
int8 = Dtype(13, "int8", 8, Kind.SIGNED)
uint8 = Dtype(14, "uint8", 8, Kind.UNSIGNED)
int4 = Dtype(15, "int4", 4, Kind.SIGNED)
uint4 = Dtype(16, "uint4", 4, Kind.UNSIGNED)
complex128 = Dtype(17, "complex128", 128, Kind.COMPLEX, _BINARY64)
complex64 = Dtype(18, "complex64", 64, Kind.COMPLEX, _BINARY32)
bool_ = Dtype(19, "bool", 8, Kind.BOOLEAN)
bit = Dtype(20, "bit", 1, Kind.BOOLEAN)

Dtype.all = (
    float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, float4_e2m1fn,
    int64, uint64, int32, uint32, int16, uint16, int8, uint8, int4, uint4,
    complex128, complex64, bool_, bit,
)  # fmt: skip

_BY_NAME: Final = {dtype.name: dtype for dtype in Dtype.all}

BUFFER_FORMATS: Final[dict[Dtype, str]] = {
    float64: "d", float32: "f", float16: "e", int64: "q", uint64: "Q", int32: "i", uint32: "I", int16: "h",
    uint16: "H", int8: "b", uint8: "B", complex128: "Zd", complex64: "Zf", bool_: "?",
}  # fmt: skip
"""The buffer-protocol format of each dtype that has one (A11); the others are read through ``bitcast``."""
