"""Casts, elementwise work, sums and products on the device, beside the peers and the device's own copy."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

import counterfoil as cf
from benchmarks.gpu import ours
from benchmarks.gpu.movement import BANDWIDTH_BAR
from benchmarks.gpu.peers import cupy_work, torch_work
from benchmarks.gpu.scale import elements
from benchmarks.gpu.scale import side as square
from benchmarks.gpu.timing import Row

COUNT = elements(1 << 26)
_PAIRS = (
    ("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float32"),
    ("float32", "float8_e4m3fn"), ("float8_e4m3fn", "float32"), ("float32", "float8_e5m2"),
    ("float32", "float4_e2m1fn"), ("float4_e2m1fn", "float32"), ("int4", "float32"), ("float32", "int4"),
    ("bool", "bit"), ("bit", "bool"), ("float32", "float64"), ("float64", "float32"), ("int32", "float32"),
)  # fmt: skip
_CUPY = {"float16", "float32", "float64", "int32"}
_TORCH = _CUPY | {"bfloat16", "float8_e4m3fn", "float8_e5m2"}


def casts() -> Iterator[Row]:
    """64 M elements between formats; the probe copies as many bytes as the wider and the narrower take together."""
    for names in _PAIRS:
        source, target = (cf.Dtype.of_name(name) for name in names)
        x, out = ours.empty(source, (COUNT,)), ours.empty(target, (COUNT,))
        cf.kernels.fill(x, True if source in (cf.bool_, cf.bit) else 1)
        nbytes = source.nbytes(COUNT) + target.nbytes(COUNT)
        peers = torch_work(lambda t, names=names: _torch_cast(t, *names)) if _TORCH.issuperset(names) else {}
        peers |= cupy_work(lambda c, names=names: _cupy_cast(c, *names)) if _CUPY.issuperset(names) else {}
        work = ours.waited(lambda out=out, x=x: cf.kernels.cast(out, x), out)
        probe = ours.driver_copy(nbytes // 2)
        yield Row(f"cast: {names[0]} to {names[1]}, 64 M", work, peers, nbytes, probe=probe, bar=BANDWIDTH_BAR)


def _torch_cast(torch: Any, source: str, target: str) -> Any:
    x = torch.ones(COUNT, device="cuda").to(getattr(torch, source))
    out = torch.empty(COUNT, device="cuda", dtype=getattr(torch, target))
    return lambda: out.copy_(x)


def _cupy_cast(cupy: Any, source: str, target: str) -> Any:
    x, out = cupy.ones(COUNT, source), cupy.empty(COUNT, target)
    return lambda: cupy.copyto(out, x, casting="unsafe")


def elementwise() -> Iterator[Row]:
    """add, exp and fma of 64 M."""
    x, y = (ours.on_device(ours.GENERATOR.standard_normal(COUNT, np.float32)) for _ in range(2))
    out = ours.empty(cf.float32, (COUNT,))
    three = ours.driver_copy(COUNT * 6)
    peers = torch_work(lambda t: _torch_binary(t, "add")) | cupy_work(lambda c: _cupy_binary(c, "add"))
    work = ours.waited(lambda: cf.kernels.add(out, x, y), out)
    yield Row("add of float32, 64 M", work, peers, 12 * COUNT, probe=three, bar=BANDWIDTH_BAR)
    two = ours.driver_copy(COUNT * 4)
    peers = torch_work(_torch_exp) | cupy_work(_cupy_exp)
    work = ours.waited(lambda: cf.kernels.exp(out, x), out)
    yield Row("exp of float32, 64 M", work, peers, 8 * COUNT, probe=two)
    bias = ours.on_device(np.ones(COUNT, np.float32))
    four = ours.driver_copy(COUNT * 8)
    peers = torch_work(_torch_fma) | cupy_work(_cupy_fma)
    work = ours.waited(lambda: cf.kernels.fma(out, x, y, bias), out)
    yield Row("fma of float32, 64 M", work, peers, 16 * COUNT, probe=four, bar=BANDWIDTH_BAR)


def _torch_binary(torch: Any, name: str) -> Any:
    x, y, out = (torch.ones(COUNT, device="cuda") for _ in range(3))
    return lambda: getattr(torch, name)(x, y, out=out)


def _torch_exp(torch: Any) -> Any:
    x, out = (torch.ones(COUNT, device="cuda") for _ in range(2))
    return lambda: torch.exp(x, out=out)


def _torch_fma(torch: Any) -> Any:
    x, y, bias, out = (torch.ones(COUNT, device="cuda") for _ in range(4))
    return lambda: torch.addcmul(bias, x, y, out=out)


def _cupy_exp(cupy: Any) -> Any:
    x, out = (cupy.ones(COUNT, cupy.float32) for _ in range(2))
    return lambda: cupy.exp(x, out=out)


def _cupy_fma(cupy: Any) -> Any:
    x, y, bias, out = (cupy.ones(COUNT, cupy.float32) for _ in range(4))
    fused = cupy.ElementwiseKernel("float32 x, float32 y, float32 b", "float32 z", "z = fmaf(x, y, b)", "fma_of_three")
    return lambda: fused(x, y, bias, out)


def _cupy_binary(cupy: Any, name: str) -> Any:
    x, y, out = (cupy.ones(COUNT, cupy.float32) for _ in range(3))
    return lambda: getattr(cupy, name)(x, y, out=out)


def reductions() -> Iterator[Row]:
    """Sums of everything, of rows and of columns, and softmax of rows; the probe reads as many bytes."""
    side = square(8192)
    x = ours.on_device(ours.GENERATOR.standard_normal((side, side), np.float32))
    probe = ours.driver_copy(side * side * 2)
    for name, axes, shape in (("all", (0, 1), ()), ("rows", (1,), (side,)), ("columns", (0,), (side,))):
        out = ours.empty(cf.float32, shape)
        work = ours.waited(lambda out=out, axes=axes: cf.kernels.sum(out, x, axes), out)
        peers = torch_work(lambda t, axes=axes: _torch_sum(t, side, axes))
        peers |= cupy_work(lambda c, axes=axes: _cupy_sum(c, side, axes))
        yield Row(f"sum of {name} of {side}^2 float32", work, peers, 4 * side * side, probe=probe, bar=BANDWIDTH_BAR)
    out = ours.empty(cf.float32, (side, side))
    work = ours.waited(lambda: cf.kernels.softmax(out, x, 1), out)
    peers = torch_work(lambda t: _torch_softmax(t, side)) | cupy_work(lambda c: _cupy_softmax(c, side))
    probe = ours.driver_copy(4 * side * side)
    yield Row(f"softmax of rows of {side}^2 float32", work, peers, 8 * side * side, probe=probe)


def _torch_sum(torch: Any, side: int, axes: tuple[int, ...]) -> Any:
    x = torch.ones((side, side), device="cuda")
    return lambda: torch.sum(x, axes)


def _cupy_sum(cupy: Any, side: int, axes: tuple[int, ...]) -> Any:
    x = cupy.ones((side, side), cupy.float32)
    return lambda: cupy.sum(x, axes)


def _torch_softmax(torch: Any, side: int) -> Any:
    x = torch.ones((side, side), device="cuda")
    return lambda: torch.softmax(x, 1)


def _cupy_softmax(cupy: Any, side: int) -> Any:
    softmax = import_module("cupyx.scipy.special").softmax
    x = cupy.ones((side, side), cupy.float32)
    return lambda: softmax(x, axis=1)


def products() -> Iterator[Row]:
    """Square matrix products in four formats."""
    for name, side in (("float32", 512), ("float32", 4096), ("float64", 2048), ("float16", 4096), ("bfloat16", 4096)):
        dtype, side = cf.Dtype.of_name(name), square(side)
        x, y, out = (ours.empty(dtype, (side, side)) for _ in range(3))
        cf.kernels.fill(x, 1)
        cf.kernels.fill(y, 1)
        work = ours.waited(lambda out=out, x=x, y=y: cf.kernels.matmul(out, x, y), out)
        peers = torch_work(lambda t, name=name, side=side: _torch_matmul(t, name, side))
        peers |= cupy_work(lambda c, name=name, side=side: _cupy_matmul(c, name, side)) if name in _CUPY else {}
        yield Row(f"matmul {side}^3 {name}", work, peers, flops=2 * side**3)


def _torch_matmul(torch: Any, name: str, side: int) -> Any:
    x, y, out = (torch.ones((side, side), device="cuda", dtype=getattr(torch, name)) for _ in range(3))
    return lambda: torch.matmul(x, y, out=out)


def _cupy_matmul(cupy: Any, name: str, side: int) -> Any:
    x, y, out = (cupy.ones((side, side), name) for _ in range(3))
    return lambda: cupy.matmul(x, y, out=out)
