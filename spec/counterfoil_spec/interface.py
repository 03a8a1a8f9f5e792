"""The public surface of both halves, as typing Protocols.

A program that says ``import counterfoil as cf`` and uses only this runs unchanged with
``import counterfoil_reference as cf``. Which refusal each operation gives first stands in
``rules/operations.toml``; the values in and out are Python's (float, complex, bool, int).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.moves import Move

Value = int | float | complex | bool
Shape = tuple[int, ...]


class MemoryKind(enum.Enum):
    """Where a device makes a buffer: its own memory, host memory both address, or its memory seen by the host.

    PINNED and MAPPED memory of any device is addressed by the host; on a device the host addresses all kinds are one.
    """

    DEVICE = "device"
    PINNED = "pinned"
    MAPPED = "mapped"


class Access(enum.Enum):
    """What a memory admits, and what a wait is for."""

    READ = "read"
    READ_WRITE = "read_write"


class LayoutProtocol(Protocol):
    """A map from indices to element positions; immutable, canonical (A14), equal by shape, strides and offset."""

    @property
    def rank(self) -> int: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def strides(self) -> Shape: ...
    @property
    def offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def span(self) -> tuple[int, int]: ...
    @property
    def is_contiguous(self) -> bool: ...
    @property
    def is_distinct(self) -> bool: ...
    def move(self, move: Move) -> LayoutProtocol | None: ...


class DeviceProtocol(Protocol):
    """A memory and, for simulated devices, an in-order timeline (A9). Compared by identity."""

    @property
    def name(self) -> str: ...
    @property
    def submitted(self) -> int:
        """The number of the last submission; 0 before the first. Host and disk stay at 0."""

    @property
    def reached(self) -> int:
        """The number of the last submission performed."""

    @property
    def budget(self) -> int | None:
        """Most live bytes, None for no limit. Lowering it below what is live frees nothing."""

    @budget.setter
    def budget(self, nbytes: int | None) -> None: ...
    def advance(self, count: int) -> None:
        """Perform the next ``count`` pending submissions, or all there are, each after those it must follow."""

    def lose(self, why: str) -> None:
        """Drop pending work; the device's memory and what must follow unfinished work raises Lost from now on."""

    def buffer(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> BufferProtocol:
        """Fresh memory of ``nbytes`` bytes with unspecified (or poisoned) contents."""


class DiskProtocol(DeviceProtocol, Protocol):
    """The disk: a store of bytes that computes nothing; copies to and from it run on the host or the other device."""

    def open(self, path: str) -> BufferProtocol:
        """A file's bytes as Read memory of the file's size."""

    def create(self, path: str, nbytes: int) -> BufferProtocol:
        """A new zeroed file as Read_write memory; never over an existing one."""


class BufferProtocol(Protocol):
    """Bytes of a memory: ``nbytes`` from an offset. Views and borrows share memory, claims and order of work."""

    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> DeviceProtocol: ...
    @property
    def access(self) -> Access: ...
    @property
    def dead(self) -> str | None:
        """Why the buffer is dead (the latest consumer's words), or None."""

    @property
    def claims(self) -> tuple[int, bool, bool]:
        """(counted claims, held exclusive, exported) of the memory; exclusive memory counts 0 claims."""

    def view(self, first: int, nbytes: int) -> BufferProtocol: ...
    def overlaps(self, other: Any) -> bool:
        """Whether the two share a byte, by memory or by host address."""

    def wait(self, access: Access) -> None:
        """Perform what an access of this kind to the memory must follow, and no more."""

    def export(self) -> memoryview:
        """The bytes as a memoryview (read-only for Read memory); the memory is never exclusive again."""

    def borrow(self, device: Any) -> BufferProtocol | None: ...
    def free(self, why: str) -> None:
        """Give the memory back: every buffer of it is dead, was ``why``."""


class ClaimsProtocol(Protocol):
    """What ``claims`` yields while its block runs."""

    def exclusive(self, buffer: Any) -> bool:
        """Whether the memory was donated and is held exclusive."""

    def consume(self, buffer: Any, why: str) -> BufferProtocol:
        """A live buffer over the same memory; every older one is dead, was ``why``."""


class ArrayProtocol(Protocol):
    """Elements of a dtype laid out over a buffer."""

    @property
    def dtype(self) -> Dtype: ...
    @property
    def layout(self) -> LayoutProtocol: ...
    @property
    def buffer(self) -> BufferProtocol: ...
    @property
    def device(self) -> DeviceProtocol: ...
    @property
    def shape(self) -> Shape: ...
    def move(self, move: Move) -> ArrayProtocol | None: ...
    def bitcast(self, dtype: Dtype) -> ArrayProtocol | None: ...
    def expect(self, dtype: Dtype) -> ArrayProtocol: ...
    def get(self, index: Sequence[int]) -> Value: ...
    def set(self, index: Sequence[int], value: Value) -> None: ...
    def to_values(self) -> list[Value]:
        """The elements in C order of indices."""

    def to_device(self, device: Any) -> ArrayProtocol: ...
    def copy(self) -> ArrayProtocol: ...
    def borrow(self, device: Any) -> ArrayProtocol | None: ...
    def reading(self) -> AbstractContextManager[Any]:
        """A read-only view of the bytes in the array's shape: a memoryview, in fast an ndarray (A11)."""

    def writing(self) -> AbstractContextManager[Any]: ...
    def export(self) -> Any: ...


class LayoutFactory(Protocol):
    """The Layout class: ``Layout(shape, strides, offset=0)`` and ``Layout.contiguous(shape)``."""

    max_rank: int
    """Most axes of a layout: 32."""

    def __call__(self, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> LayoutProtocol: ...
    def contiguous(self, shape: Sequence[int]) -> LayoutProtocol: ...


class KernelsProtocol(Protocol):
    """The kernels by name: ``kernels.add(dst, x, y) -> Answer`` for each row of the table (``getattr`` finds each)."""

    def __getattr__(self, name: str) -> Callable[..., Answer]: ...


class InspectionProtocol(Protocol):
    """What checkers look at and nobody else: it waits for nothing, claims nothing, performs nothing."""

    def memory_bytes(self, buffer: Any) -> bytes:
        """The buffer's bytes as they are now, on any device, dead or not."""

    def poke(self, buffer: Any, data: bytes) -> None:
        """Overwrite the buffer's bytes as they are now (N5)."""

    def poison(self, byte: int | None) -> None:
        """Fill every later fresh memory, and freed memory, with this byte; None: leave it unspecified."""

    def live_bytes(self, device: Any) -> int:
        """Bytes of live memory the device made."""


@runtime_checkable
class Half(Protocol):
    """A module that implements the surface (besides re-exporting dtypes, moves, Answer, enums and exceptions)."""

    Layout: LayoutFactory
    kernels: KernelsProtocol
    inspection: InspectionProtocol
    max_operands: int

    def move_shape(self, move: Move, shape: Sequence[int]) -> Shape: ...
    def of_float(self, dtype: Dtype, x: float) -> Value:
        """The value a store of ``x`` gives (store-rule): read back as ``get`` reads it."""

    def format_value(self, dtype: Dtype, value: Value) -> str: ...
    def coalesce(self, layouts: Sequence[Any]) -> list[Any]: ...
    def host(self) -> DeviceProtocol:
        """The host: always the same object, named ``host``."""

    def cuda(self, ordinal: int) -> DeviceProtocol: ...
    def simulated(self, name: str, addressable: bool = False) -> DeviceProtocol:
        """A new simulated device (two calls give two devices, whatever the names)."""

    def disk(self) -> DiskProtocol:
        """The disk: always the same object, named ``disk``."""

    def submit(
        self, device: Any, work: Callable[..., object], reads: Iterable[Any], writes: Iterable[Any]
    ) -> int:
        """Queue ``work(*views)``: one byte view per buffer of reads (read-only), then of writes. Returns its number."""

    def submit_copy(self, src: Any, dst: Any) -> None: ...
    def submit_fill(self, buffer: Any, byte: int) -> None: ...
    def claims(
        self, read: Iterable[Any] = (), donate: Iterable[Any] = ()
    ) -> AbstractContextManager[ClaimsProtocol]: ...
    def Array(self, dtype: Dtype, layout: Any, buffer: Any) -> ArrayProtocol: ...
    def empty(
        self, device: Any, dtype: Dtype, shape: Sequence[int], kind: MemoryKind = MemoryKind.DEVICE
    ) -> ArrayProtocol: ...
    def host_array(self, dtype: Dtype, shape: Sequence[int]) -> ArrayProtocol: ...
    def from_values(self, dtype: Dtype, shape: Sequence[int], values: Iterable[Value]) -> ArrayProtocol: ...
    def from_buffer(self, dtype: Dtype, obj: object) -> ArrayProtocol: ...
    def transfer(self, src: Any, dst: Any) -> None: ...
    def door(self, written: Iterable[Any], read: Iterable[Any], f: Callable[..., object], *args: object) -> Answer: ...
    def refused(self, name: str, answer: Answer, operands: Iterable[Any]) -> None:
        """Raise the refusal that a kernel answered for these operands (A10)."""
