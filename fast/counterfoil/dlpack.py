"""DLPack's structures: reading a producer's tensor, and naming our dtypes in a capsule (DLPack 1.1)."""

from __future__ import annotations

import ctypes
from typing import Any

from counterfoil_spec.dtypes import Dtype, Kind, bfloat16, bool_, float8_e4m3fn, float8_e5m2
from counterfoil_spec.refusals import Refusal, refuse, shown

CPU = 1
"""DLPack's device type of host memory."""

CUDA, CUDA_HOST, CUDA_MANAGED = 2, 3, 13
"""DLPack's device types of CUDA memory: a device's, page-locked memory of the host's, and memory of both."""

_READ_ONLY = 1
_VERSIONED, _PLAIN = b"dltensor_versioned", b"dltensor"
_USED = {_VERSIONED: ctypes.create_string_buffer(b"used_dltensor_versioned"),
         _PLAIN: ctypes.create_string_buffer(b"used_dltensor")}  # fmt: skip

_KINDS = {Kind.SIGNED: 0, Kind.UNSIGNED: 1, Kind.FLOAT: 2, Kind.COMPLEX: 5}
_OWN_CODES = {bfloat16: 4, bool_: 6, float8_e4m3fn: 10, float8_e5m2: 12}


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("ordinal", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Plain(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _python(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)


class Borrowed:
    """A producer's tensor. Until ``take`` the capsule owns it; from then on this object does, and deletes it once."""

    __slots__ = ("_capsule", "_managed", "_name", "address", "device", "dtype", "readonly", "shape", "strides")

    def __init__(self, capsule: Any, name: bytes) -> None:
        self._capsule = capsule
        self._name = name
        self._managed: int | None = None
        managed = (_Versioned if name is _VERSIONED else _Plain).from_address(_pointer(capsule, name))
        if name is _VERSIONED and managed.major != 1:
            raise _wrong(f"<DLPack {managed.major}.{managed.minor}>")
        self.readonly = name is _VERSIONED and bool(managed.flags & _READ_ONLY)
        tensor = managed.tensor
        self.device = (int(tensor.device.kind), int(tensor.device.ordinal))
        if self.device[0] not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
            raise off_host(self.device[0])
        self.dtype = _dtype_of(tensor.dtype)
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
        self.strides = _strides(tensor)

    def take(self) -> None:
        """Consume the capsule."""
        pointer = _pointer(self._capsule, self._name)
        _rename(self._capsule, ctypes.addressof(_USED[self._name]))
        self._managed = pointer
        self._capsule = None

    def __del__(self) -> None:
        managed = getattr(self, "_managed", None)
        if managed is not None:
            self._managed = None
            deleter = (_Versioned if self._name is _VERSIONED else _Plain).from_address(managed).deleter
            if deleter:
                _DELETER(deleter)(managed)


def borrowed(obj: Any, stream: int | None = None) -> Borrowed:
    """The tensor that an object with ``__dlpack__`` offers, handed over to a stream; refuses arguments/wrong-type and
    arrays/not-on-host."""
    offer = getattr(obj, "__dlpack__", None)
    if offer is None:
        raise _wrong(shown(obj))
    named = {} if stream is None else {"stream": stream}
    try:
        capsule = offer(max_version=(1, 1), **named)
    except TypeError:
        capsule = offer(**named)
    for name in (_VERSIONED, _PLAIN):
        if _is_valid(capsule, name):
            return Borrowed(capsule, name)
    raise _wrong(shown(capsule))


def off_host(kind: int) -> Refusal:
    """The refusal of a tensor on a device that is not ours."""
    return refuse("arrays/not-on-host", function="from_dlpack", device=f"DLPack device {kind}")


def place(capsule: Any, kind: int, ordinal: int) -> None:
    """Name the device in a fresh capsule."""
    name = _VERSIONED if _is_valid(capsule, _VERSIONED) else _PLAIN
    managed = (_Versioned if name is _VERSIONED else _Plain).from_address(_pointer(capsule, name))
    managed.tensor.device.kind, managed.tensor.device.ordinal = kind, ordinal


def retype(capsule: Any, dtype: Dtype) -> None:
    """Name one of our dtypes in a fresh capsule made for its bits."""
    name = _VERSIONED if _is_valid(capsule, _VERSIONED) else _PLAIN
    managed = (_Versioned if name is _VERSIONED else _Plain).from_address(_pointer(capsule, name))
    managed.tensor.dtype.code = _OWN_CODES[dtype]


def _dtype_of(given: Any) -> Dtype:
    for dtype in Dtype.all:
        code = _OWN_CODES.get(dtype, _KINDS.get(dtype.kind))
        if dtype.bits >= 8 and (code, dtype.bits, 1) == (given.code, given.bits, given.lanes):
            if dtype in _OWN_CODES or dtype.bits > 8 or dtype.kind is not Kind.FLOAT:
                return dtype
    described = f"DLPack type {given.code} of {given.bits} bits, {given.lanes} lanes"
    raise refuse("arrays/no-format", function="from_dlpack", dtype=described)


def _strides(tensor: Any) -> tuple[int, ...]:
    if tensor.strides:
        return tuple(tensor.strides[axis] for axis in range(tensor.ndim))
    strides: list[int] = []
    for axis in reversed(range(tensor.ndim)):
        strides.insert(0, strides[0] * tensor.shape[axis + 1] if strides else 1)
    return tuple(strides)


def _wrong(value: str) -> Refusal:
    return refuse("arguments/wrong-type", argument="obj", expected="a DLPack tensor of version 1", value=value)
