"""Copies: contiguous, transposed, permuted, reversed, strided, packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import counterfoil as cf
from benchmarks import probes
from benchmarks.measure import Row
from benchmarks.peers import jax_work, peer

SIDE = 4096


def rows() -> list[Row]:
    """The contiguous copy against the streaming probe; the others against the best peer."""
    bars = {np.float32: 0.6, np.uint8: 0.3, np.uint16: 0.4, np.float64: 0.4}
    return [
        _contiguous(),
        *(_row(f"copy: transpose {SIDE}^2 {t.__name__}", _square(t), lambda x: x.T, bar) for t, bar in bars.items()),
        *(_row(f"copy: 256^3 permute {axes}", _cube(), _permute(axes), None)
          for axes in ((0, 2, 1), (2, 0, 1), (1, 0, 2), (2, 1, 0))),
        _row("copy: reversed float32, 16 M", np.ones(1 << 24, np.float32), lambda x: x[::-1], None),
        _row("copy: every other of 16 M", np.ones(1 << 25, np.float32), lambda x: x[::2], None),
    ]  # fmt: skip


def _contiguous() -> Row:
    nbytes = 64 << 20
    x, out = np.ones(nbytes // 4, np.float32), np.ones(nbytes // 4, np.float32)
    a, c = cf.asarray(x), cf.asarray(out)
    copy = cf.kernels.copy
    return Row(
        "copy: contiguous 64 MiB",
        lambda: copy(c, a),
        {"probe of streaming copies": probes.stream_copy(nbytes), **_torch_copy(x, lambda t: t)},
        1.1,
        note="the bar is 1.1 x the streaming probe",
    )


def _row(name: str, x: Any, view: Callable[[Any], Any], bar: float | None) -> Row:
    out = np.ones(view(x).shape, x.dtype)
    a, c = cf.asarray(view(x)), cf.asarray(out)
    copy = cf.kernels.copy
    peers = {"numpy": lambda: np.copyto(out, view(x)), **_torch_copy(x, view)}
    if x.dtype != np.float64:  # jax would narrow it
        peers |= jax_work(lambda u: view(u) + 0, x)
    return Row(name, lambda: copy(c, a), peers, bar, probes.stream_copy(out.nbytes))


def _torch_copy(x: Any, view: Callable[[Any], Any]) -> dict[str, Callable[[], object]]:
    torch = peer("torch")
    if torch is None or x.dtype == np.uint16 or any(stride < 0 for stride in view(x).strides):
        return {}
    source = view(torch.from_numpy(x))
    target = torch.ones_like(source, memory_format=torch.contiguous_format)
    return {"torch": lambda: target.copy_(source)}


def _square(dtype: type) -> Any:
    return np.ones((SIDE, SIDE), dtype)


def _cube() -> Any:
    return np.ones((256, 256, 256), np.float32)


def _permute(axes: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda x: x.permute(axes) if hasattr(x, "permute") else x.transpose(axes)
