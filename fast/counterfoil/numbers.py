"""Python values and element bits: what a store accepts (A12), how it rounds (the store rule), what a read gives back.

Bits are a pair ``(low, high)`` of 64-bit words; an element narrower than 128 bits has ``high`` 0. Loose elements are
one per ``max(1, bits // 8)`` bytes, little-endian.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from counterfoil._native import ffi, lib
from counterfoil_spec.arguments import instance
from counterfoil_spec.dtypes import Dtype, Kind, float16, float32, float64
from counterfoil_spec.refusals import refuse, shown
from counterfoil_spec.values import exact

Value = int | float | complex | bool
Bits = tuple[int, int]

# Looked up once: an enum's attributes are slow to reach.
_BOOLEAN, _SIGNED, _UNSIGNED, _FLOAT = Kind.BOOLEAN, Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT

_RANGES = {
    dtype: (int(dtype.min_value), int(dtype.max_value)) for dtype in Dtype.all if dtype.kind in (_SIGNED, _UNSIGNED)
}
_WORDS = ffi.typeof("uint64_t[2]")
_DOUBLE = struct.Struct("<d")
_LONG = struct.Struct("<Q")
_LOW = (1 << 64) - 1


def of_float(dtype: Dtype, x: float) -> Value:
    """The value a store of ``x`` gives, read back as ``get`` reads it (dtypes/store-rule, dtypes/integer-store).

    Integers truncate toward zero and saturate, NaN gives 0; booleans are true for everything but 0. Refuses
    arguments/wrong-type for what is no dtype or no real number.
    """
    instance("dtype", dtype, Dtype)
    given = exact(x)
    if type(given) is not float and type(given) is not int:
        raise refuse("arguments/wrong-type", argument="x", expected="float", value=shown(x))
    return from_bits(dtype, double_bits(dtype, _nearest_double(given)))


def double_bits(dtype: Dtype, x: float) -> Bits:
    """The bits that a float64 stores as in a dtype."""
    words = ffi.new(_WORDS)
    lib.cf_of_double(dtype.code, x, words)
    return words[0], words[1]


def value_bits(dtype: Dtype, value: object) -> Bits:
    """The bits of a value stored at a dtype; refuses dtypes/value-type and dtypes/value-range (A12)."""
    value, kind = exact(value), dtype.kind
    if kind is _BOOLEAN:
        if type(value) is not bool:
            raise refuse("dtypes/value-type", dtype=dtype.name, value=shown(value))
        return int(value is True), 0
    if kind is _SIGNED or kind is _UNSIGNED:
        return _integer_bits(dtype, value), 0
    if kind is _FLOAT:
        return _component_bits(dtype, _number(dtype, value, (int, float)).real), 0
    number = _number(dtype, value, (int, float, complex))
    component = float64 if dtype.bits == 128 else float32
    real = _component_bits(component, number.real)
    imaginary = _component_bits(component, number.imag)
    return (real, imaginary) if dtype.bits == 128 else (real | imaginary << 32, 0)


def from_bits(dtype: Dtype, bits: Bits) -> Value:
    """The value that element bits stand for: float, complex, bool or int."""
    low, high = bits
    kind = dtype.kind
    if kind is _BOOLEAN:
        return low != 0
    if kind is _UNSIGNED:
        return low
    if kind is _SIGNED:
        return low - (low >> (dtype.bits - 1) << dtype.bits)
    if kind is _FLOAT:
        return _double(dtype, low)
    if dtype.bits == 128:
        return complex(_double(float64, low), _double(float64, high))
    return complex(_double(float32, low & 0xFFFFFFFF), _double(float32, low >> 32))


def loose_of_values(dtype: Dtype, values: Sequence[object]) -> bytes:
    """The values as loose elements, each stored as ``set`` would; refuses as ``value_bits`` does, first one first."""
    array = _uniform(dtype, values)
    if array is not None:
        return array
    width = max(1, dtype.bits // 8)
    return b"".join(_element_bytes(value_bits(dtype, value), width) for value in values)


def values_of_loose(dtype: Dtype, loose: bytes | bytearray | memoryview, count: int) -> list[Value]:
    """``count`` loose elements as Python values."""
    if dtype.kind is _BOOLEAN:
        return [byte != 0 for byte in bytes(loose)]
    code = _CODES.get(dtype.name)
    if code is not None and dtype is not float16:  # the core's conversion also says which bits a NaN gets
        return list(np.frombuffer(loose, code, count).tolist())
    if dtype.kind is _FLOAT:
        return list(_convert(dtype, float64, loose, count).tolist())
    half, full = 1 << (dtype.bits - 1), 1 << dtype.bits
    if dtype.kind is _SIGNED:
        return [code - full if code >= half else code for code in bytes(loose)]
    return list(bytes(loose))


# Looked up once: an enum's attributes are slow to reach.
_BOOLEAN, _SIGNED, _UNSIGNED, _FLOAT = Kind.BOOLEAN, Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT

_RANGES = {
    dtype: (int(dtype.min_value), int(dtype.max_value)) for dtype in Dtype.all if dtype.kind in (_SIGNED, _UNSIGNED)
}
_WORDS = ffi.typeof("uint64_t[2]")

# numpy's names of the loose formats it shares with us.
_CODES = {
    "float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "uint64": "<u8", "int32": "<i4",
    "uint32": "<u4", "int16": "<i2", "uint16": "<u2", "int8": "i1", "uint8": "u1", "complex128": "<c16",
    "complex64": "<c8",
}  # fmt: skip


def _number(dtype: Dtype, value: object, classes: tuple[type, ...]) -> int | float | complex:
    if type(value) in classes:
        return value  # type: ignore[return-value]
    raise refuse("dtypes/value-type", dtype=dtype.name, value=shown(value))


def _integer_bits(dtype: Dtype, value: object) -> int:
    if type(value) is not int:
        raise refuse("dtypes/value-type", dtype=dtype.name, value=shown(value))
    low, high = _RANGES[dtype]
    if not low <= value <= high:
        raise refuse("dtypes/value-range", dtype=dtype.name, value=value, low=low, high=high)
    return value & ((1 << dtype.bits) - 1)


def _component_bits(dtype: Dtype, x: int | float) -> int:
    if isinstance(x, int):
        x = _rounded_int(x) if dtype is float64 else _odd_double(x)
    if dtype is float64:
        return int(_LONG.unpack(_DOUBLE.pack(x))[0])
    return double_bits(dtype, x)[0]


def _nearest_double(x: int | float) -> float:
    return _rounded_int(x) if isinstance(x, int) else x


def _rounded_int(x: int) -> float:
    """The float64 nearest to an integer of any size, an infinity past the largest."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _odd_double(x: int) -> float:
    """An integer rounded to odd in 53 bits: rounding that once more to a narrower float is rounding ``x`` once."""
    magnitude = abs(x)
    excess = magnitude.bit_length() - 53
    if excess > 0:
        kept = magnitude >> excess
        sticky = kept << excess != magnitude
        magnitude = (kept | sticky) << excess
    return _rounded_int(-magnitude if x < 0 else magnitude)


def _double(dtype: Dtype, low: int) -> float:
    if dtype is float64:
        return float(_DOUBLE.unpack(_LONG.pack(low))[0])
    return float(lib.cf_to_double(dtype.code, (low, 0)))


def _element_bytes(bits: Bits, width: int) -> bytes:
    return (bits[0] | bits[1] << 64).to_bytes(width, "little")


def _uniform(dtype: Dtype, values: Sequence[object]) -> bytes | None:
    """Loose elements of values that are all of the dtype's own Python class and in range; None for any other."""
    classes = set(map(type, values))
    if dtype.kind is _BOOLEAN and classes == {bool}:
        return bytes(values)  # type: ignore[arg-type]
    if dtype.kind is _FLOAT and classes == {float}:
        return bytes(_convert(float64, dtype, np.array(values, "<f8").tobytes(), len(values)))
    if dtype in _RANGES and classes == {int}:
        low, high = _RANGES[dtype]
        if low <= min(values) and max(values) <= high:  # type: ignore[type-var, operator]
            wide = np.array(values, "<u8" if dtype.kind is _UNSIGNED else "<i8")
            return _narrow_integers(dtype, wide).tobytes()
    return None


def _narrow_integers(dtype: Dtype, wide: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    code = _CODES.get(dtype.name)
    return wide.astype(code) if code else (wide & ((1 << dtype.bits) - 1)).astype("u1")


def _convert(source: Dtype, target: Dtype, loose: bytes | bytearray | memoryview, count: int) -> np.ndarray[Any, Any]:
    """Loose elements converted by the core, as an array of the target's loose format (bytes where numpy has none)."""
    code = _CODES.get(target.name, "u1" if target.bits <= 8 else "<u2")
    result = np.empty(count, code)
    lib.cf_convert(source.code, target.code, ffi.from_buffer(loose), ffi.from_buffer(result), count)
    return result
