"""The driver through PyCUDA, typed: everything that names it is here and in ``probe``.

PyCUDA gives up a stream, an event or memory only where its context is current or on the thread that opened it: all of
it is let go of with the device current. Calls that may take long let other threads run meanwhile. What the driver
reports is raised as ``DriverFailed`` in its words, and ``OutOfMemory`` where it has no room.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from counterfoil.cuda import probe
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
    "invalid image", "kernel image is invalid", "no kernel image", "InvalidImage", "unsupported toolchain",
)  # fmt: skip


class OutOfMemory(DriverFailed):
    """The driver has no room for an allocation."""


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
    """A device's primary context, kept for good: current in a ``with`` block, on any thread and any number of times."""

    __slots__ = ("context", "device")

    @_worded
    def __init__(self, ordinal: int) -> None:
        self.device = probe.require().Device(ordinal)
        self.context = self.device.retain_primary_context()

    @_worded
    def __enter__(self) -> Primary:
        self.context.push()
        return self

    def __exit__(self, *raised: object) -> None:
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


@_worded
def to_device(pointer: int, data: Any, stream: Stream) -> None:
    """Bytes of an object's buffer to the device, later; they must stay as they are until then."""
    probe.require().memcpy_htod_async(pointer, data, stream)


@_worded
def to_host(data: Any, pointer: int, stream: Stream) -> None:
    """Bytes of the device into an object's writable buffer, later."""
    probe.require().memcpy_dtoh_async(data, pointer, stream)


@_worded
def between(dst: int, src: int, nbytes: int, stream: Stream) -> None:
    """Bytes between addresses that devices know, of one device or of two, later."""
    probe.require().memcpy_dtod_async(dst, src, nbytes, stream)


@_worded
def fill(pointer: int, byte: int, nbytes: int, stream: Stream) -> None:
    """A byte everywhere, later."""
    probe.require().memset_d8_async(pointer, byte, nbytes, stream)


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

_RELAXED: Final = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: what other threads and finalizers call meanwhile spoils nothing


@_worded
def captured(enqueue: Callable[[Stream], None]) -> int:
    """The handle of an executable graph of the kernels that ``enqueue`` launches on a stream; none of them runs."""
    apart, graph, made = stream(), ctypes.c_void_p(), ctypes.c_void_p()
    handle = ctypes.c_void_p(int(apart.handle))
    _called("cuStreamBeginCapture_v2", handle, _RELAXED)
    try:
        try:
            enqueue(apart)
        finally:
            _called("cuStreamEndCapture", handle, ctypes.byref(graph))
        _called("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
    finally:
        if graph.value is not None:  # there is one of what was captured before a failure, too
            _called("cuGraphDestroy", graph)
    assert made.value is not None
    return made.value


def launch_graph(handle: int, stream: int) -> None:
    """Enqueue an executable graph on the stream of a handle."""
    _called("cuGraphLaunch", ctypes.c_void_p(handle), ctypes.c_void_p(stream))


def destroy_graph(handle: int) -> None:
    """Let an executable graph go, once it has run where it was launched."""
    _called("cuGraphExecDestroy", ctypes.c_void_p(handle))


def has_graphs() -> bool:
    """Whether the driver knows executable graphs as they are used here."""
    return hasattr(_library(), "cuGraphInstantiateWithFlags")


# --- what PyCUDA does not do: pages of others, and streams of others, whose handles are numbers -----------------------


@functools.cache
def _library() -> ctypes.CDLL:
    probe.require()  # loads it
    return ctypes.CDLL("libcuda.so.1")


def register(address: int, nbytes: int, readonly: bool) -> int:
    """Lock pages of the host's and map them: their address for devices.

    PyCUDA 2026.1 frees what it registers at once where numpy keeps an array's base (numpy 2.3 on).
    """
    locked, where, size = _PORTABLE | _MAPPED, ctypes.c_void_p(address), ctypes.c_size_t(nbytes)
    try:
        _called("cuMemHostRegister_v2", where, size, locked | (_READ_ONLY if readonly else 0))
    except DriverFailed:
        if not readonly:
            raise
        _called("cuMemHostRegister_v2", where, size, locked)  # pages that nobody writes need not say so
    mapped = ctypes.c_uint64()
    try:
        _called("cuMemHostGetDevicePointer_v2", ctypes.byref(mapped), ctypes.c_void_p(address), 0)
    except DriverFailed:
        unregister(address)
        raise
    return mapped.value


def unregister(address: int) -> None:
    """Undo ``register``."""
    _called("cuMemHostUnregister", ctypes.c_void_p(address))


def follow_stream(waiting: Primary, follower: int, leading: Primary, leader: int) -> None:
    """Let a stream of one device wait for what is on a stream of another, or of its own, now.

    Streams are named by handles, of which 1 and 2 are streams of whichever device is current.
    """
    mark = ctypes.c_void_p()
    with leading:
        _called("cuEventCreate", ctypes.byref(mark), 2)  # CU_EVENT_DISABLE_TIMING
        try:
            _called("cuEventRecord", mark, ctypes.c_void_p(leader))
            with waiting:
                _called("cuStreamWaitEvent", ctypes.c_void_p(follower), mark, 0)
        finally:
            _called("cuEventDestroy_v2", mark)  # which the driver does once it has happened


def address_kind(address: int) -> tuple[int, int] | None:
    """(memory type, ordinal) of an address the driver knows: 1 for host memory, 2 for a device's; else None."""
    kind, ordinal = ctypes.c_uint(), ctypes.c_int()
    for attribute, answer in ((2, kind), (9, ordinal)):  # MEMORY_TYPE, DEVICE_ORDINAL
        code = _library().cuPointerGetAttribute(ctypes.byref(answer), attribute, ctypes.c_uint64(address))
        if code:
            return None
    return kind.value, ordinal.value


def _called(name: str, *arguments: Any) -> None:
    code = getattr(_library(), name)(*arguments)
    if code:
        said = ctypes.c_char_p()
        _library().cuGetErrorString(code, ctypes.byref(said))
        raise DriverFailed(f"{name} failed: {(said.value or b'error').decode()} ({code})")
