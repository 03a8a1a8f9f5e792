"""The driver through PyCUDA, typed: everything that names it is here and in ``probe``.

PyCUDA gives up a stream, an event or memory only where its context is current or on the thread that opened it: all of
it is let go of with the device current. Calls that may take long let other threads run meanwhile. What the driver
reports is raised as ``DriverFailed`` in its words, and ``OutOfMemory`` where it has no room. What PyCUDA does not do
goes through ``entries``.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from counterfoil.cuda import entries, probe
from counterfoil.cuda.entries import OutOfMemory, called, library, region
from counterfoil.cuda.probe import DriverFailed

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

    Stream = Any
    Event = Any

_P = ParamSpec("_P")
_R = TypeVar("_R")

LEGACY_STREAM: Final = 1
"""The handle of the stream that waits for all others of its context."""

_NON_BLOCKING: Final = 1
_PORTABLE, _MAPPED, _READ_ONLY = 1, 2, 8  # CU_MEMHOSTREGISTER_...
_BAD_IMAGE: Final = (
    "invalid image", "kernel image is invalid", "no kernel image", "InvalidImage", "unsupported toolchain", "PTX JIT",
)  # fmt: skip

__all__ = ["BadImage", "DriverFailed", "OutOfMemory"]


class BadImage(DriverFailed):
    """The driver does not load a module: it is damaged, or of another architecture."""


def _worded(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, raising DriverFailed for what PyCUDA raises."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except Exception as failure:
            raise worded(failure) from None

    return call


def worded(failure: Exception) -> Exception:
    """An error of PyCUDA's as ours; any other as it is."""
    pycuda = probe.require()
    if isinstance(failure, pycuda.MemoryError):
        return OutOfMemory(str(failure))
    if isinstance(failure, pycuda.Error):
        return DriverFailed(str(failure))
    return failure


class Primary:
    """A device's primary context, kept for good: current in a ``with`` block, on any thread and any number of times.

    What is called there disturbs no capture of others (``entries.relax``).
    """

    __slots__ = ("context", "device", "handle")

    @_worded
    def __init__(self, ordinal: int) -> None:
        self.device = probe.require().Device(ordinal)
        self.context = self.device.retain_primary_context()
        current = ctypes.c_void_p()
        with self:
            called("cuCtxGetCurrent", ctypes.byref(current))
        self.handle = current.value or 0

    @_worded
    def __enter__(self) -> Primary:
        self.context.push()
        entries.relax()
        return self

    def __exit__(self, *raised: object) -> None:
        entries.restore()
        try:
            self.context.pop()
        except Exception as failure:
            raise worded(failure) from None


@_worded
def properties(primary: Primary) -> dict[str, Any]:
    """What the driver says of a device: its name, its capability, its memory, and the attributes by their own names."""
    device = primary.device
    attributes = {str(name).lower(): value for name, value in device.get_attributes().items()}
    return {
        **attributes,
        "name": device.name(),
        "compute_capability": device.compute_capability(),
        "total_memory": int(device.total_memory()),
        "pci_bus_id": device.pci_bus_id(),
    }


# --- memory: the device is current -----------------------------------------------------------------------------------


@_worded
def allocate(nbytes: int) -> tuple[Any, int]:
    """Memory of the device: what keeps it, and its address. Raises OutOfMemory."""
    made = probe.require().mem_alloc(nbytes)
    return made, int(made)


@_worded
def allocate_host(nbytes: int, combined: bool) -> tuple[Any, int, int]:
    """Page-locked host memory: what keeps it, its address, and its address for devices. Raises OutOfMemory.

    ``combined``: stores are combined and loads slow.
    """
    pycuda = probe.require()
    flags = pycuda.host_alloc_flags
    chosen = flags.PORTABLE | flags.DEVICEMAP | (flags.WRITECOMBINED if combined else 0)
    made = pycuda.pagelocked_empty(nbytes, "u1", mem_flags=chosen)
    return made.base, made.__array_interface__["data"][0], int(made.base.get_device_pointer())


@_worded
def free(made: Any) -> None:
    """Give back what ``allocate`` or ``allocate_host`` made."""
    made.free()


@_worded
def free_and_total() -> tuple[int, int]:
    """Bytes of the device's memory that are free, and all of them."""
    free, total = probe.require().mem_get_info()
    return int(free), int(total)


# --- streams and events: the device is current -----------------------------------------------------------------------


@_worded
def stream() -> Stream:
    """A stream that does not wait for the legacy one."""
    return probe.require().Stream(_NON_BLOCKING)


@_worded
def event() -> Event:
    """An event that keeps no time."""
    pycuda = probe.require()
    return pycuda.Event(int(pycuda.event_flags.DISABLE_TIMING))


@_worded
def record(event: Event, stream: Stream) -> None:
    """Mark how far a stream is."""
    event.record(stream)


@_worded
def happened(event: Event) -> bool:
    """Whether the stream has come to the mark."""
    return bool(event.query())


@_worded
def wait(event: Event) -> None:
    """Wait until the stream has come to the mark."""
    event.synchronize()


@_worded
def follow(stream: Stream, event: Event) -> None:
    """Let a stream wait for a mark; the host does not."""
    stream.wait_for_event(event)


@_worded
def synchronize(stream: Stream) -> None:
    """Wait for everything on a stream."""
    stream.synchronize()


@_worded
def require_sound(stream: Stream) -> None:
    """Raise DriverFailed where the device answers nothing any more; waits for nothing."""
    stream.is_done()


@_worded
def synchronize_all() -> None:
    """Wait for everything on the device."""
    probe.require().Context.synchronize()


# --- moving bytes: the device is current, the stream its own ---------------------------------------------------------


def to_device(pointer: int, data: Any, stream: Stream) -> None:
    """Bytes of an object's buffer to the device, later; they must stay as they are until then."""
    called("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(pointer), *region(data), _handle(stream))


def to_host(data: Any, pointer: int, stream: Stream) -> None:
    """Bytes of the device into an object's writable buffer, later."""
    address, nbytes = region(data)
    called("cuMemcpyDtoHAsync_v2", address, ctypes.c_uint64(pointer), nbytes, _handle(stream))


def within(dst: int, src: int, nbytes: int, stream: Stream) -> None:
    """Bytes between addresses of the device, later."""
    where = ctypes.c_uint64(dst), ctypes.c_uint64(src), ctypes.c_size_t(nbytes)
    called("cuMemcpyDtoDAsync_v2", *where, _handle(stream))


def between(to: Primary, dst: int, of: Primary, src: int, nbytes: int, stream: Stream) -> None:
    """Bytes from one device's memory to another's, later: neither has to reach the other's, the driver sees to that."""
    sides = ctypes.c_uint64(dst), ctypes.c_void_p(to.handle), ctypes.c_uint64(src), ctypes.c_void_p(of.handle)
    called("cuMemcpyPeerAsync", *sides, ctypes.c_size_t(nbytes), _handle(stream))


def fill(pointer: int, byte: int, nbytes: int, stream: Stream) -> None:
    """A byte everywhere, later."""
    what = ctypes.c_uint64(pointer), ctypes.c_ubyte(byte), ctypes.c_size_t(nbytes)
    called("cuMemsetD8Async", *what, _handle(stream))


def _handle(stream: Stream) -> ctypes.c_void_p:
    return ctypes.c_void_p(int(stream.handle))


def abandon(made: object) -> None:
    """Never give back what the driver made, unless by ``let_go``."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))


def let_go(held: list[Any]) -> None:
    """Give back what was abandoned and nobody but this list holds."""
    while held:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(held[-1]))
        held.pop()


# --- kernels: the device is current ----------------------------------------------------------------------------------


@_worded
def module(image: bytes) -> Any:
    """Load a cubin; raises BadImage."""
    try:
        return probe.require().module_from_buffer(image)
    except probe.require().Error as failure:
        if any(said in str(failure) for said in _BAD_IMAGE):
            raise BadImage(str(failure)) from None
        raise


@_worded
def function(module: Any, name: str) -> Any:
    """A kernel of a module, which it keeps loaded."""
    return module.get_function(name)


def launch(
    handle: Any,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arguments: bytes,
    shared: int,
    device: Cuda,
) -> None:
    """Enqueue a kernel on the device's stream; ``arguments`` is the block of its parameters."""
    try:
        handle._launch_kernel(grid, block, arguments, shared, device.timeline.raw)
    except Exception as failure:
        raise worded(failure) from None


@_worded
def launch_on(
    handle: Any, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: bytes, shared: int, stream: Stream
) -> None:
    """``launch`` on another stream."""
    handle._launch_kernel(grid, block, arguments, shared, stream)


# --- graphs, which PyCUDA does not know: the device is current --------------------------------------------------------


@_worded
def captured(enqueue: Callable[[Stream], None]) -> int:
    """The handle of an executable graph of the kernels that ``enqueue`` launches on a stream; none of them runs."""
    apart, graph, made = stream(), ctypes.c_void_p(), ctypes.c_void_p()
    handle = ctypes.c_void_p(int(apart.handle))
    called("cuStreamBeginCapture_v2", handle, entries.RELAXED)  # what finalizers call meanwhile spoils nothing
    try:
        try:
            enqueue(apart)
        finally:
            called("cuStreamEndCapture", handle, ctypes.byref(graph))
        called("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
    finally:
        if graph.value is not None:  # there is one of what was captured before a failure, too
            called("cuGraphDestroy", graph)
    assert made.value is not None
    return made.value


def launch_graph(handle: int, stream: int) -> None:
    """Enqueue an executable graph on the stream of a handle."""
    called("cuGraphLaunch", ctypes.c_void_p(handle), ctypes.c_void_p(stream))


def destroy_graph(handle: int) -> None:
    """Let an executable graph go, once it has run where it was launched."""
    called("cuGraphExecDestroy", ctypes.c_void_p(handle))


def has_graphs() -> bool:
    """Whether the driver knows executable graphs as they are used here."""
    return hasattr(library(), "cuGraphInstantiateWithFlags")


# --- what PyCUDA does not do: pages of others, and streams of others, whose handles are numbers -----------------------


def register(address: int, nbytes: int, readonly: bool) -> None:
    """Lock pages of the host's and map them for every device.

    PyCUDA 2026.1 frees what it registers at once where numpy keeps an array's base (numpy 2.3 on).
    """
    locked, where, size = _PORTABLE | _MAPPED, ctypes.c_void_p(address), ctypes.c_size_t(nbytes)
    try:
        called("cuMemHostRegister_v2", where, size, locked | (_READ_ONLY if readonly else 0))
    except DriverFailed:
        if not readonly:
            raise
        called("cuMemHostRegister_v2", where, size, locked)  # pages that nobody writes need not say so


def mapped_here(address: int) -> int:
    """The address for the device that is current of locked pages of the host's."""
    found = ctypes.c_uint64()
    called("cuMemHostGetDevicePointer_v2", ctypes.byref(found), ctypes.c_void_p(address), 0)
    return found.value


def unregister(address: int) -> None:
    """Undo ``register``."""
    called("cuMemHostUnregister", ctypes.c_void_p(address))


def follow_stream(waiting: Primary, follower: int, leading: Primary, leader: int) -> None:
    """Let a stream of one device wait for what is on a stream of another, or of its own, now.

    Streams are named by handles, of which 1 and 2 are streams of whichever device is current.
    """
    mark = ctypes.c_void_p()
    with leading:
        called("cuEventCreate", ctypes.byref(mark), 2)  # CU_EVENT_DISABLE_TIMING
        try:
            called("cuEventRecord", mark, ctypes.c_void_p(leader))
            with waiting:
                called("cuStreamWaitEvent", ctypes.c_void_p(follower), mark, 0)
        finally:
            called("cuEventDestroy_v2", mark)  # which the driver does once it has happened


def address_kind(address: int) -> tuple[int, int] | None:
    """(memory type, ordinal) of an address the driver knows: 1 for host memory, 2 for a device's; else None.

    No device has to be current.
    """
    kind, ordinal = ctypes.c_uint(), ctypes.c_int()
    for attribute, answer in ((2, kind), (9, ordinal)):  # MEMORY_TYPE, DEVICE_ORDINAL
        code = library().cuPointerGetAttribute(ctypes.byref(answer), attribute, ctypes.c_uint64(address))
        if code:
            return None
    return kind.value, ordinal.value


def mapped(address: int) -> int | None:
    """The address for devices of page-locked memory at an address of the host's; None for memory that is none."""
    found = ctypes.c_uint64()
    code = library().cuPointerGetAttribute(ctypes.byref(found), 3, ctypes.c_uint64(address))  # DEVICE_POINTER
    return None if code else found.value
