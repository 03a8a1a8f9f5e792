"""The disk: files as memory, which computes nothing and which the host does not address (A15)."""

from __future__ import annotations

import errno
import mmap
import os
import stat

from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, adopt
from counterfoil.devices import Device
from counterfoil_spec.arguments import integer, text
from counterfoil_spec.refusals import Refusal, refuse


class MappedFile:
    """A file's bytes, mapped while a buffer of them lives."""

    __slots__ = ("mapping", "path")

    def __init__(self, path: str, mapping: mmap.mmap) -> None:
        self.path = path
        self.mapping = mapping

    def require_whole(self, nbytes: int) -> None:
        """Refuse memory/file for a file cut short: touching mapped bytes past its end would kill the process."""
        if self.mapping.size() < nbytes:
            raise _file("copy", self.path, "the file was cut short")


class Disk(Device):
    """A store of bytes that computes nothing; copies to and from it run on the host or the other device."""

    addressable = False
    makes_memory = False

    __slots__ = ()

    def open(self, path: str) -> Buffer:
        """A regular file's bytes as Read memory of the file's size; refuses memory/file."""
        path = text("path", path)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise _file("open", path, _why(error)) from None
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise _file("open", path, "not a regular file")
            return self._mapped(path, descriptor, facts.st_size, lib.CF_MEMORY_READ)
        except OSError as error:
            raise _file("open", path, _why(error)) from None
        finally:
            os.close(descriptor)

    def create(self, path: str, nbytes: int) -> Buffer:
        """A new zeroed file as Read_write memory, never over an existing one.

        Refuses memory/negative-size and memory/file.
        """
        path = text("path", path)
        size = integer("nbytes", nbytes)
        if size < 0:
            raise refuse("memory/negative-size", nbytes=size)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except (OSError, ValueError) as error:
            raise _file("create", path, _why(error)) from None
        try:
            os.ftruncate(descriptor, size)
            return self._mapped(path, descriptor, size, 0)
        except OverflowError:
            os.unlink(path)
            raise _file("create", path, os.strerror(errno.EFBIG)) from None
        except OSError as error:
            os.unlink(path)
            raise _file("create", path, _why(error)) from None
        finally:
            os.close(descriptor)

    def _mapped(self, path: str, descriptor: int, nbytes: int, flags: int) -> Buffer:
        if not nbytes:
            return adopt(self, ffi.NULL, 0, None, flags)
        # Read memory is mapped privately: whatever a checker pokes into it never reaches the file.
        access = mmap.ACCESS_COPY if flags & lib.CF_MEMORY_READ else mmap.ACCESS_WRITE
        mapping = mmap.mmap(descriptor, nbytes, access=access)
        return adopt(self, ffi.from_buffer(mapping), nbytes, MappedFile(path, mapping), flags)


_DISK = Disk("disk")


def disk() -> Disk:
    """The disk: always the same object, named ``disk``."""
    return _DISK


def _file(function: str, path: str, why: str) -> Refusal:
    return refuse("memory/file", function=function, path=path, why=why)


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
