"""Arrays' bytes shared through the buffer protocol: ``reading``, ``writing``, ``export``, ``from_buffer`` (A11)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from counterfoil_reference import checks
from counterfoil_reference.addresses import address_of, bytes_of
from counterfoil_reference.buffers import Buffer, buffer_of
from counterfoil_reference.memory import Memory
from counterfoil_reference.places import host
from counterfoil_spec.dtypes import BUFFER_FORMATS, Dtype, Kind
from counterfoil_spec.interface import Access
from counterfoil_spec.limits import MAX_VIEW_RANK
from counterfoil_spec.refusals import refuse, shown

if TYPE_CHECKING:
    from counterfoil_reference.arrays import Array

_BY_BYTES: Final = frozenset({"e", "Zf", "Zd"})
"""Formats a memoryview cannot be cast to: such elements show as their bytes, along one more axis."""


@contextmanager
def reading(array: Array) -> Iterator[memoryview]:
    """A read-only view of the bytes in the array's shape, under a claim, after the work a read must follow.

    Refuses arrays/no-format, view-rank, not-contiguous, memory/dead, exclusive, off-host, lost.
    """
    with _claimed_view("reading", array, Access.READ) as view:
        yield view


@contextmanager
def writing(array: Array) -> Iterator[memoryview]:
    """A writable view of the bytes, under a claim, after the work a write must follow.

    Refuses what ``reading`` does, and memory/read-only after memory/exclusive.
    """
    with _claimed_view("writing", array, Access.READ_WRITE) as view:
        yield view


@contextmanager
def _claimed_view(function: str, array: Array, access: Access) -> Iterator[memoryview]:
    check_viewable(function, array.dtype, array.layout.rank, array.layout.is_contiguous, array.shape)
    checks.check_access(function, array.buffer, access)
    if array.layout.size > 0:
        checks.check_on_host(function, array.buffer)
    with checks.claimed(array.buffer):
        checks.wait(array.buffer, access)
        yield shaped(array, _bytes(array, access))


def export(array: Array) -> memoryview:
    """A view for good: the memory is never exclusive again. It waits once; later accesses through it are the caller's.

    Refuses arrays/no-format, view-rank, not-contiguous, memory/dead, exclusive, arrays/not-on-host, memory/lost.
    """
    check_viewable("export", array.dtype, array.layout.rank, array.layout.is_contiguous, array.shape)
    array.buffer.check_export("export")
    array.buffer.hand_out()
    return shaped(array, _bytes(array, array.buffer.access))


def check_viewable(function: str, dtype: Dtype, rank: int, contiguous: bool, shape: tuple[int, ...]) -> None:
    """Refuse arrays/no-format, arrays/view-rank (16 axes), arrays/not-contiguous."""
    if dtype not in BUFFER_FORMATS:
        raise refuse("arrays/no-format", function=function, dtype=dtype.name)
    if rank > MAX_VIEW_RANK:
        raise refuse("arrays/view-rank", function=function, rank=rank, limit=MAX_VIEW_RANK)
    if not contiguous:
        raise refuse("arrays/not-contiguous", function=function, shape=shape)


def _bytes(array: Array, access: Access) -> memoryview:
    """The bytes of a contiguous array's elements."""
    width = array.dtype.bits // 8
    first = array.buffer.first + array.layout.offset * width
    return array.buffer.memory.view(first, array.layout.size * width, access)


def shaped(array: Array, view: memoryview) -> memoryview:
    """The bytes in the array's shape and format; one axis of extent 0 where there is no element."""
    form: Any = BUFFER_FORMATS[array.dtype]
    shape = array.shape
    if form in _BY_BYTES:
        form, shape = "B", (*shape, array.dtype.bits // 8)
    found: memoryview = view.cast(form, shape) if array.layout.size else view.cast(form)
    return found


def from_memory(dtype: Dtype, obj: object) -> tuple[tuple[int, ...], Buffer]:
    """The shape and the bytes of ``from_buffer``'s array.

    The memory is outside the claims and the order of work (A16), and Read where the object is read-only. Refuses
    arguments/not-a-buffer, arrays/no-format, format-mismatch, view-rank, not-contiguous, misaligned.
    """
    try:
        view = memoryview(obj)  # type: ignore[arg-type]
    except Exception:
        raise refuse("arguments/not-a-buffer", argument="obj", value=shown(obj)) from None
    if dtype in BUFFER_FORMATS and not holds(view.format, view.itemsize, dtype):
        raise refuse("arrays/format-mismatch", dtype=dtype.name, format=view.format)
    check_viewable("from_buffer", dtype, view.ndim, view.c_contiguous or view.nbytes == 0, tuple(view.shape or ()))
    if view.nbytes and address_of(view) % dtype.alignment:
        raise refuse("arrays/misaligned", function="from_buffer", dtype=dtype.name, alignment=dtype.alignment)
    data = bytes_of(view) if view.nbytes else bytearray()
    memory = Memory(host(), data, Access.READ if view.readonly else Access.READ_WRITE, on_host=True)
    memory.exported = True
    return tuple(view.shape or ()), buffer_of(memory)


def holds(form: str, itemsize: int, dtype: Dtype) -> bool:
    """Whether memory of that format holds the dtype: same kind of number, same width, this machine's byte order."""
    letters = {
        Kind.SIGNED: "bhilqn", Kind.UNSIGNED: "BHILQN", Kind.FLOAT: "efd", Kind.BOOLEAN: "?",
    }  # fmt: skip
    bare = form[1:] if form[:1] in ("@", "=", "<") else form
    if dtype.kind is Kind.COMPLEX:
        return bare == BUFFER_FORMATS[dtype]
    return len(bare) == 1 and bare in letters[dtype.kind] and itemsize * 8 == dtype.bits
