"""Launches and copies: every route between host and device, every layout of the table of CPU copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import counterfoil as cf
from benchmarks.gpu import ours
from benchmarks.gpu.peers import cupy_work, torch_work
from benchmarks.gpu.scale import elements, side
from benchmarks.gpu.timing import Row

LAUNCH_BAR, BANDWIDTH_BAR = 1.1, 1 / 0.85
BIG = elements(256 << 20)
SIDE = side(4096)
CUBE = side(256)


def launches() -> Iterator[Row]:
    """The smallest kernel, launched and waited for, against an empty kernel through the driver."""
    x, y = ours.on_device(np.ones(3, np.float32)), ours.on_device(np.ones(3, np.float32))
    out = ours.empty(cf.float32, (3,))
    yield Row(
        "launch and wait: add of 3 float32",
        ours.waited(lambda: cf.kernels.add(out, x, y), out),
        torch_work(lambda t: _torch_add(t, 3)) | cupy_work(lambda c: _cupy_add(c, 3)),
        probe=ours.driver_launch(),
        bar=LAUNCH_BAR,
    )


def _torch_add(torch: Any, count: int) -> Callable[[], object]:
    x, y, out = (torch.ones(count, device="cuda") for _ in range(3))
    return lambda: torch.add(x, y, out=out)


def _cupy_add(cupy: Any, count: int) -> Callable[[], object]:
    x, y, out = (cupy.ones(count, cupy.float32) for _ in range(3))
    return lambda: cupy.add(x, y, out=out)


def routes() -> Iterator[Row]:
    """256 MiB each way: within the device, from pinned and pageable memory, and back."""
    device, kinds = cf.cuda(0), cf.MemoryKind
    on_device, other = (device.buffer(BIG, kinds.DEVICE) for _ in range(2))
    pinned, pageable = device.buffer(BIG, kinds.PINNED), cf.host().buffer(BIG)

    def copied(source: Any, target: Any) -> Callable[[], None]:
        def work() -> None:
            cf.submit_copy(source, target)
            target.wait(cf.Access.READ)

        return work

    within = ours.driver_copy(BIG)
    up, down = ours.driver_host_copy(BIG, True), ours.driver_host_copy(BIG, False)
    yield Row("copy: device to device 256 MiB", copied(on_device, other), {}, 2 * BIG, probe=within, bar=BANDWIDTH_BAR)
    yield Row("copy: pinned to device 256 MiB", copied(pinned, on_device), {}, BIG, probe=up, bar=BANDWIDTH_BAR)
    yield Row("copy: device to pinned 256 MiB", copied(on_device, pinned), {}, BIG, probe=down, bar=BANDWIDTH_BAR)
    yield Row("copy: pageable to device 256 MiB", copied(pageable, on_device), {}, BIG, probe=up)
    yield Row("copy: device to pageable 256 MiB", copied(on_device, pageable), {}, BIG, probe=down)


def layouts() -> Iterator[Row]:
    """Transposed, permuted, reversed, strided: kernels against the copy of as many bytes."""
    for dtype in (np.float32, np.uint8, np.uint16, np.float64):
        yield _moved(f"copy: transpose {SIDE}^2 {dtype.__name__}", np.ones((SIDE, SIDE), dtype), (1, 0))
    for axes in ((0, 2, 1), (2, 0, 1), (1, 0, 2), (2, 1, 0)):
        yield _moved(f"copy: 256^3 permute {axes}", np.ones((CUBE, CUBE, CUBE), np.float32), axes)
    flat = np.ones(elements(1 << 25), np.float32)
    yield _sliced("copy: reversed float32, 32 M", flat, -1)
    yield _sliced("copy: every other of 32 M", flat, 2)


def _moved(name: str, array: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Row:
    source = ours.on_device(array).move(cf.Permute(axes))
    out = ours.empty(source.dtype, source.shape)
    peers = cupy_work(lambda c: _cupy_copy(c, array, lambda x: x.transpose(axes)))
    if array.dtype != np.uint16:
        peers |= torch_work(lambda t: _torch_copy(t, array, axes))
    nbytes = 2 * array.nbytes
    probe = ours.driver_copy(array.nbytes)
    work = ours.waited(lambda: cf.kernels.copy(out, source), out)
    return Row(name, work, peers, nbytes, probe=probe, bar=BANDWIDTH_BAR)


def _sliced(name: str, array: np.ndarray[Any, Any], step: int) -> Row:
    whole = ours.on_device(array)
    source = whole[::step]
    out = ours.empty(source.dtype, source.shape)
    peers = cupy_work(lambda c: _cupy_copy(c, array, lambda x: x[::step]))
    nbytes = 2 * 4 * source.size
    probe = ours.driver_copy(4 * source.size)
    return Row(name, ours.waited(lambda: cf.kernels.copy(out, source), out), peers, nbytes, probe=probe)


def _torch_copy(torch: Any, array: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Callable[[], object]:
    source = torch.from_numpy(array).cuda().permute(axes)
    out = torch.empty(source.shape, dtype=source.dtype, device="cuda")
    return lambda: out.copy_(source)


def _cupy_copy(cupy: Any, array: np.ndarray[Any, Any], view: Callable[[Any], Any]) -> Callable[[], object]:
    source = view(cupy.asarray(array))
    out = cupy.empty(source.shape, source.dtype)
    return lambda: cupy.copyto(out, source)
