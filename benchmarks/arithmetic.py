"""Elementwise kernels, fused chains, sums, softmax, matrix products: 16 M elements unless said otherwise."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import counterfoil as cf
from benchmarks import probes
from benchmarks.measure import Row, Work
from benchmarks.peers import jax_work, peer

COUNT = 1 << 24
NBYTES = 4 * COUNT


def rows() -> list[Row]:
    """All against the best peer into preallocated output."""
    return [_add(), _mul(), _chain(), *_narrow(), *_sums(), _softmax(), _matmul()]


def _add() -> Row:
    x, y, out = (np.ones(COUNT, np.float32) for _ in range(3))
    a, b, c = (cf.asarray(array) for array in (x, y, out))
    add = cf.kernels.add
    peers: dict[str, Work] = {"numpy": lambda: np.add(x, y, out=out)}
    if torch := peer("torch"):
        tx, ty, tout = (torch.from_numpy(array) for array in (x, y, out))
        peers["torch"] = lambda: torch.add(tx, ty, out=tout)
    peers |= jax_work(lambda u, v: u + v, x, y)
    return Row("add float32 16 M into out", lambda: add(c, a, b), peers, 0.8, probes.stream_add(NBYTES))


def _mul() -> Row:
    x, y, out = (np.ones(COUNT, np.float32) for _ in range(3))
    a, b, c = (cf.asarray(array) for array in (x, y, out))
    mul = cf.kernels.mul
    peers: dict[str, Work] = {"numpy": lambda: np.multiply(x, y, out=out)}
    peers |= jax_work(lambda u, v: u * v, x, y)
    return Row("mul float32 16 M into out", lambda: mul(c, a, b), peers, 0.8, probes.stream_add(NBYTES))


def _chain() -> Row:
    x, y, z, out = (np.linspace(-1, 1, COUNT, dtype=np.float32) for _ in range(4))
    inputs, c = [cf.asarray(array) for array in (x, y, z)], cf.asarray(out)
    product = cf.Apply("mul", cf.Input(0), cf.Input(1))
    relu = cf.Apply("maximum", cf.Apply("add", product, cf.Input(2)), cf.Constant(cf.float32, 0.0))
    chain = cf.kernels.map

    def numpy() -> object:
        np.multiply(x, y, out=out)
        np.add(out, z, out=out)
        return np.maximum(out, 0, out=out)

    peers = {"numpy": numpy, **jax_work(lambda u, v, w: (u * v + w).clip(0), x, y, z)}
    return Row("relu(a*b + c), 16 M, fused", lambda: chain(c, relu, inputs), peers, 0.8)


def _narrow() -> list[Row]:
    types = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn}
    return [_narrow_add(name, kind) for name, kind in types.items()]


def _narrow_add(name: str, kind: type) -> Row:
    x, y, out = (np.ones(COUNT, np.float32).astype(kind) for _ in range(3))
    dtype = cf.Dtype.of_name(name)
    a, b, c = (cf.host_array(dtype, (COUNT,)) for _ in range(3))
    ones = cf.asarray(np.ones(COUNT, np.float32))
    cf.kernels.cast(a, ones)
    cf.kernels.cast(b, ones)
    peers: dict[str, Work] = {"numpy": lambda: np.add(x, y, out=out)}
    if (torch := peer("torch")) and name != "float8_e4m3fn":
        tx, ty, tout = (torch.ones(COUNT, dtype=getattr(torch, name)) for _ in range(3))
        peers["torch"] = lambda: torch.add(tx, ty, out=tout)
    return Row(f"add {name} 16 M into out", lambda: cf.kernels.add(c, a, b), peers, 0.8)


def _sums() -> list[Row]:
    x = np.ones((4096, 4096), np.float32)
    a = cf.asarray(x)
    found = []
    for axis, name in ((1, "row"), (0, "column")):
        out = np.zeros(4096, np.float32)
        c = cf.asarray(out)
        peers: dict[str, Work] = {"numpy": lambda out=out, axis=axis: np.sum(x, axis=axis, out=out)}
        if torch := peer("torch"):
            tx, tout = torch.from_numpy(x), torch.from_numpy(out)
            peers["torch"] = lambda tx=tx, tout=tout, axis=axis: torch.sum(tx, axis, out=tout)
        peers |= jax_work(lambda u, axis=axis: u.sum(axis), x)
        ours: Work = lambda c=c, axis=axis: cf.kernels.sum(c, a, (axis,))  # noqa: E731
        found.append(Row(f"{name} sums, 4096^2", ours, peers, 0.8, probes.read(NBYTES)))
    return found


def _softmax() -> Row:
    x = np.linspace(-8, 8, COUNT, dtype=np.float32).reshape(4096, 4096)
    out = np.zeros_like(x)
    a, c = cf.asarray(x), cf.asarray(out)

    def numpy() -> object:
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        return np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    peers: dict[str, Work] = {"numpy": numpy}
    if torch := peer("torch"):
        tx, tout = torch.from_numpy(x), torch.from_numpy(out)
        peers["torch"] = lambda: torch.softmax(tx, 1, out=tout)
    if jax := peer("jax"):
        peers |= jax_work(lambda u: jax.nn.softmax(u, 1), x)
    return Row("softmax of rows, 4096^2", lambda: cf.kernels.softmax(c, a, 1), peers, 0.8, probes.stream_copy(NBYTES))


def _matmul() -> Row:
    x, y, out = (np.ones((1024, 1024), np.float32) for _ in range(3))
    a, b, c = (cf.asarray(array) for array in (x, y, out))
    peers: dict[str, Work] = {"numpy": lambda: np.matmul(x, y, out=out)}
    peers |= jax_work(lambda u, v: u @ v, x, y)
    return Row("matmul 1024^3 float32", lambda: cf.kernels.matmul(c, a, b), peers, 1.05)
