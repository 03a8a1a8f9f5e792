"""Launches and copies: every route between host and device, every layout of the table of CPU copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import counterfoil as cf
from benchmarks.gpu import ours
from benchmarks.gpu.peers import Peers, cupy_work, torch_work
from benchmarks.gpu.scale import elements, side
from benchmarks.gpu.timing import Row
from benchmarks.measure import Work
from counterfoil.cuda import probe

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
    """256 MiB each way: within the device, to and from pinned, mapped and pageable memory, and to another device."""
    device, kinds = cf.cuda(0), cf.MemoryKind
    on_device, other = (device.buffer(BIG, kinds.DEVICE) for _ in range(2))
    pinned, mapped, pageable = device.buffer(BIG, kinds.PINNED), device.buffer(BIG, kinds.MAPPED), cf.host().buffer(BIG)
    within = ours.driver_copy(BIG)
    up, down = ours.driver_host_copy(BIG, True), ours.driver_host_copy(BIG, False)
    peers = torch_work(_torch_within) | cupy_work(_cupy_within)
    yield _route("device to device", on_device, other, peers, within, bar=BANDWIDTH_BAR)
    for name, memory, bar in (
        ("pinned", pinned, BANDWIDTH_BAR),
        ("mapped", mapped, None),
        ("pageable", pageable, None),
    ):
        there, back = _across(name)
        yield _route(f"{name} to device", memory, on_device, there, up, bar)
        yield _route(f"device to {name}", on_device, memory, back, down, bar)
    if probe.devices() > 1:
        beyond = cf.cuda(1).buffer(BIG, kinds.DEVICE)
        yield _route("device 0 to device 1", on_device, beyond, torch_work(_torch_beyond), None)


def _route(name: str, source: Any, target: Any, peers: Peers, limit: Work | None, bar: float | None = None) -> Row:
    def work() -> None:
        cf.submit_copy(source, target)
        target.wait(cf.Access.READ)

    nbytes = 2 * BIG if name == "device to device" else BIG
    return Row(f"copy: {name} 256 MiB", work, peers, nbytes, probe=limit, bar=bar)


def _across(name: str) -> tuple[Peers, Peers]:
    """The peers' copies to the device and back, of memory of the host that they have too."""
    if name == "mapped":
        return {}, {}
    pinned = name == "pinned"
    to, back = (torch_work(lambda t, to=to: _torch_host(t, pinned, to)) for to in (True, False))
    return to | cupy_work(lambda c: _cupy_up(c, pinned)), back | cupy_work(lambda c: _cupy_down(c, pinned))


def _torch_within(torch: Any) -> Callable[[], object]:
    x, out = (torch.ones(BIG, device="cuda", dtype=torch.uint8) for _ in range(2))
    return lambda: out.copy_(x)


def _torch_beyond(torch: Any) -> Callable[[], object]:
    x, out = (torch.ones(BIG, device=f"cuda:{ordinal}", dtype=torch.uint8) for ordinal in range(2))
    return lambda: out.copy_(x)


def _torch_host(torch: Any, pinned: bool, to_device: bool) -> Callable[[], object]:
    there = torch.ones(BIG, device="cuda", dtype=torch.uint8)
    here = torch.ones(BIG, dtype=torch.uint8, pin_memory=pinned)
    source, target = (here, there) if to_device else (there, here)
    return lambda: target.copy_(source, non_blocking=True)


def _cupy_within(cupy: Any) -> Callable[[], object]:
    x, out = (cupy.ones(BIG, cupy.uint8) for _ in range(2))
    return lambda: cupy.copyto(out, x)


def _cupy_host(cupy: Any, pinned: bool) -> np.ndarray[Any, Any]:
    memory = cupy.cuda.alloc_pinned_memory(BIG) if pinned else bytearray(BIG)
    return np.frombuffer(memory, np.uint8, BIG)


def _cupy_up(cupy: Any, pinned: bool) -> Callable[[], object]:
    here, there = _cupy_host(cupy, pinned), cupy.ones(BIG, cupy.uint8)
    return lambda: there.set(here)


def _cupy_down(cupy: Any, pinned: bool) -> Callable[[], object]:
    here, there = _cupy_host(cupy, pinned), cupy.ones(BIG, cupy.uint8)
    return lambda: there.get(out=here)


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
    work = ours.waited(lambda: cf.kernels.copy(out, source), out)
    return Row(name, work, peers, nbytes, probe=ours.driver_copy(array.nbytes), bar=BANDWIDTH_BAR)


def _sliced(name: str, array: np.ndarray[Any, Any], step: int) -> Row:
    whole = ours.on_device(array)
    source = whole[::step]
    out = ours.empty(source.dtype, source.shape)
    peers = cupy_work(lambda c: _cupy_copy(c, array, lambda x: x[::step]))
    nbytes = 2 * 4 * source.size
    work = ours.waited(lambda: cf.kernels.copy(out, source), out)
    return Row(name, work, peers, nbytes, probe=ours.driver_copy(4 * source.size))


def _torch_copy(torch: Any, array: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Callable[[], object]:
    source = torch.from_numpy(array).cuda().permute(axes)
    out = torch.empty(source.shape, dtype=source.dtype, device="cuda")
    return lambda: out.copy_(source)


def _cupy_copy(cupy: Any, array: np.ndarray[Any, Any], view: Callable[[Any], Any]) -> Callable[[], object]:
    source = view(cupy.asarray(array))
    out = cupy.empty(source.shape, source.dtype)
    return lambda: cupy.copyto(out, source)
