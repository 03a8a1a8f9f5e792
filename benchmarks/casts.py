"""Casts of 16 M elements between float32 and every other float, int4 and bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import counterfoil as cf
from benchmarks import probes
from benchmarks.measure import Row, Work
from benchmarks.peers import peer

COUNT = 1 << 24

_NUMPY = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2, "float4_e2m1fn": ml_dtypes.float4_e2m1fn, "int4": ml_dtypes.int4,
    "float64": np.float64, "int32": np.int32, "int8": np.int8,
}  # fmt: skip
_TORCH = {"float16": "float16", "bfloat16": "bfloat16", "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2",
          "float64": "float64", "int32": "int32", "int8": "int8"}  # fmt: skip
_EIGHT_BITS_AND_LESS = 8


def rows() -> list[Row]:
    """float32 to each dtype and back; numpy's row uses ml_dtypes where numpy has no such dtype."""
    others = [cf.Dtype.of_name(name) for name in _NUMPY]
    return [row for dtype in others for row in (_row(cf.float32, dtype), _row(dtype, cf.float32))] + [_bits()]


def _row(source: cf.Dtype, target: cf.Dtype) -> Row:
    narrow = min(source.bits, target.bits)
    bar = None if "int8" in (source.name, target.name) else 0.4 if narrow <= _EIGHT_BITS_AND_LESS else 1.0
    a, c = _array(source), cf.host_array(target, (COUNT,))
    cast = cf.kernels.cast
    probe = probes.stream_convert(target.nbytes(COUNT), source.nbytes(COUNT))
    return Row(f"cast: {source.name} to {target.name}", lambda: cast(c, a), _peers(source, target), bar, probe)


def _array(dtype: cf.Dtype) -> Any:
    values = cf.asarray(np.linspace(-6, 6, COUNT, dtype=np.float32))
    array = cf.host_array(dtype, (COUNT,))
    cf.kernels.cast(array, values)
    return array


def _peers(source: cf.Dtype, target: cf.Dtype) -> dict[str, Work]:
    x = np.linspace(-6, 6, COUNT, dtype=np.float32)
    from_type, to_type = (np.float32 if d is cf.float32 else _NUMPY[d.name] for d in (source, target))
    values, out = x.astype(from_type), np.zeros(COUNT, to_type)
    peers: dict[str, Work] = {"numpy": lambda: np.copyto(out, values, casting="unsafe")}
    torch = peer("torch")
    names = [None if d is cf.float32 else _TORCH.get(d.name) for d in (source, target)]
    if torch and all(name or d is cf.float32 for name, d in zip(names, (source, target), strict=True)):
        types = [getattr(torch, name) if name else torch.float32 for name in names]
        tensor, result = torch.from_numpy(x).to(types[0]), torch.zeros(COUNT, dtype=types[1])
        peers["torch"] = lambda: result.copy_(tensor)
    return peers


def _bits() -> Row:
    flags = np.arange(COUNT) % 3 == 0
    a, c = cf.asarray(flags), cf.host_array(cf.bit, (COUNT,))
    cast = cf.kernels.cast
    return Row(
        "cast: bool to bit",
        lambda: cast(c, a),
        {"numpy": lambda: np.packbits(flags, bitorder="little")},
        1.0,
        probes.stream_convert(COUNT // 8, COUNT),
    )
