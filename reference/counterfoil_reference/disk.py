"""The disk: a store of bytes that computes nothing; files are its memory (A15)."""

from __future__ import annotations

import os
import stat
from typing import ClassVar, Final

from counterfoil_reference.buffers import Buffer, buffer_of, fresh
from counterfoil_reference.devices import Device
from counterfoil_reference.memory import Memory
from counterfoil_spec.arguments import integer, text
from counterfoil_spec.interface import Access, MemoryKind
from counterfoil_spec.refusals import Refusal, refuse


class FileMemory(Memory):
    """The bytes of an open file, read and written in place; the host does not address them."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, device: Device, path: str, descriptor: int, access: Access) -> None:
        super().__init__(device, bytearray(), access, on_host=False)
        self._path = path
        self._descriptor = descriptor
        self.nbytes = os.fstat(descriptor).st_size

    def read(self, first: int, nbytes: int) -> bytes:
        """The file's bytes now; refuses memory/file where it was cut short."""
        self.check_whole()
        return os.pread(self._descriptor, nbytes, first)

    def write(self, first: int, data: bytes) -> None:
        """Store into the file; refuses memory/file where it was cut short."""
        self.check_whole()
        os.pwrite(self._descriptor, data, first)

    def check_whole(self) -> None:
        """Refuse memory/file for a file that lacks bytes it had: zeros in their place would be nobody's data."""
        if os.fstat(self._descriptor).st_size < self.nbytes:
            raise refuse("memory/file", function="copy", path=self._path, why="the file was cut short")

    def __del__(self) -> None:
        os.close(self._descriptor)


class Disk(Device):
    """Memory made only from files. Two opens of one file are two memories."""

    is_disk: ClassVar[bool] = True

    def buffer(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
        """An empty buffer for 0 bytes; refuses memory/makes-no-memory for more."""
        return fresh(self, nbytes, kind)

    def makes(self, nbytes: int) -> None:
        """Refuse memory/makes-no-memory unless no bytes are asked."""
        if nbytes > 0:
            raise refuse("memory/makes-no-memory", device=self.name, nbytes=nbytes)

    def open(self, path: str) -> Buffer:
        """A file's bytes as Read memory of the file's size; refuses memory/file."""
        path = text("path", path)
        return buffer_of(FileMemory(self, path, _opened("open", path, os.O_RDONLY), Access.READ))

    def create(self, path: str, nbytes: int) -> Buffer:
        """A new zeroed file as Read_write memory, never over another; refuses memory/negative-size, memory/file."""
        path, nbytes = text("path", path), integer("nbytes", nbytes)
        if nbytes < 0:
            raise refuse("memory/negative-size", nbytes=nbytes)
        descriptor = _opened("create", path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            os.truncate(descriptor, nbytes)
        except (OSError, OverflowError):
            os.close(descriptor)
            os.unlink(path)
            raise refuse("memory/file", function="create", path=path, why="File too large") from None
        return buffer_of(FileMemory(self, path, descriptor, Access.READ_WRITE))


def _opened(function: str, path: str, flags: int) -> int:
    """A descriptor of a regular file; opening waits for nobody, as a pipe's would."""
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    except (OSError, ValueError) as error:
        raise _file_refusal(function, path, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise refuse("memory/file", function=function, path=path, why="not a regular file")
    return descriptor


def _file_refusal(function: str, path: str, error: Exception) -> Refusal:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return refuse("memory/file", function=function, path=path, why=why)


_DISK: Final = Disk("disk", addressable=False)


def disk() -> Disk:
    """The disk: always the same object."""
    return _DISK
