"""Commands on arrays."""

from __future__ import annotations

import mmap
from typing import Any, Final

import numpy

from counterfoil_oracles.actions.arguments import Action, Args, buffer_of, dtype_of, kind_of, move_of, named
from counterfoil_oracles.actions.layouts import place
from counterfoil_oracles.environment import Environment
from counterfoil_spec.commands import decode_number, decode_numbers, encode_number
from counterfoil_spec.interface import MemoryKind


def _array(env: Environment, args: Args) -> Any:
    return env.half.Array(dtype_of(args["dtype"]), named(env, args["layout"]), buffer_of(env, args["buffer"]))


def _empty(env: Environment, args: Args) -> Any:
    kind = kind_of(args["kind"]) if "kind" in args else MemoryKind.DEVICE
    return env.half.empty(named(env, args["device"]), dtype_of(args["dtype"]), decode_numbers(args["shape"]), kind)


def _host_array(env: Environment, args: Args) -> Any:
    return env.half.host_array(dtype_of(args["dtype"]), decode_numbers(args["shape"]))


def _from_values(env: Environment, args: Args) -> Any:
    values = decode_numbers(args["values"])
    return env.half.from_values(dtype_of(args["dtype"]), decode_numbers(args["shape"]), values)


_NUMPY_CODES: Final = {"Zd": "c16", "Zf": "c8"}


def exporter(data: Any) -> Any:
    """An object that offers its memory: ``{bytes, format, shape, readonly}``.

    Its first byte lies ``skip`` (default 0) bytes past a multiple of 64; ``reversed`` (default false) walks the
    first axis backwards. With ``pages`` it is that many whole pages of format B, the bytes over and over.
    """
    if not isinstance(data, dict) or "format" not in data:
        return decode_number(data)
    if "pages" in data:
        return _guarded(memoryview(_pages(bytes.fromhex(data["bytes"]), data["pages"])), data)
    shape = tuple(data["shape"])
    memory = _memory(bytes.fromhex(data["bytes"]), data.get("skip", 0))
    if "skip" in data:  # numpy would declare the format of such memory otherwise
        return _guarded(memoryview(memory).cast(data["format"], shape), data)
    shared: Any = numpy.ndarray(shape, _NUMPY_CODES.get(data["format"], data["format"]), memory)
    return _guarded(memoryview(shared[::-1] if data.get("reversed") else shared), data)


def _memory(content: bytes, skip: int) -> Any:
    room = numpy.zeros(len(content) + skip + 64, numpy.uint8)
    first = -room.ctypes.data % 64 + skip
    memory = room[first : first + len(content)]
    memory[:] = numpy.frombuffer(content, numpy.uint8)
    return memory


def _pages(content: bytes, count: int) -> mmap.mmap:
    nbytes = count * mmap.PAGESIZE
    memory = mmap.mmap(-1, nbytes)
    memory[:] = (content * (nbytes // len(content) + 1))[:nbytes]
    return memory


def _guarded(view: Any, data: Any) -> Any:
    return view.toreadonly() if data.get("readonly") else view


def _from_buffer(env: Environment, args: Args) -> Any:
    return env.half.from_buffer(dtype_of(args["dtype"]), exporter(args["object"]))


# --- views -----------------------------------------------------------------------------------------------------------


def _move(env: Environment, args: Args) -> Any:
    return named(env, args["array"]).move(move_of(args["move"]))


def _bitcast(env: Environment, args: Args) -> Any:
    return named(env, args["array"]).bitcast(dtype_of(args["dtype"]))


def _expect(env: Environment, args: Args) -> Any:
    return named(env, args["array"]).expect(dtype_of(args["dtype"]))


def _borrow(env: Environment, args: Args) -> Any:
    return named(env, args["array"]).borrow(named(env, args["device"]))


def _facts(env: Environment, args: Args) -> dict[str, Any]:
    array = named(env, args["array"])
    return {"dtype": array.dtype.name, **place(array.layout), "device": array.device.name}


# --- elements --------------------------------------------------------------------------------------------------------


def _get(env: Environment, args: Args) -> Any:
    return encode_number(named(env, args["array"]).get(decode_numbers(args["index"])))


def _set(env: Environment, args: Args) -> None:
    named(env, args["array"]).set(decode_numbers(args["index"]), decode_number(args["value"]))


def _to_values(env: Environment, args: Args) -> list[Any]:
    return [encode_number(value) for value in named(env, args["array"]).to_values()]


def _to_device(env: Environment, args: Args) -> Any:
    return named(env, args["array"]).to_device(named(env, args["device"]))


def _transfer(env: Environment, args: Args) -> None:
    env.half.transfer(named(env, args["src"]), named(env, args["dst"]))


# --- host views ------------------------------------------------------------------------------------------------------


def _content(view: Any) -> str:
    return memoryview(view).tobytes().hex()


def _reading(env: Environment, args: Args) -> str:
    with named(env, args["array"]).reading() as view:
        if not memoryview(view).readonly:
            raise AssertionError("reading gave a view that can be written")
        if args.get("raise"):
            raise RuntimeError("boom")
        return _content(view)


def _writing(env: Environment, args: Args) -> None:
    content = bytes.fromhex(args["bytes"])
    with named(env, args["array"]).writing() as view:
        if content:
            # The flat bytes of any format, written through numpy: memoryview casts no complex format.
            numpy.frombuffer(view, numpy.uint8)[:] = numpy.frombuffer(content, numpy.uint8)
        if args.get("raise"):
            raise RuntimeError("boom")


def _export(env: Environment, args: Args) -> str:
    return _content(named(env, args["array"]).export())


MAKES: Final[dict[str, Action]] = {
    "array": _array,
    "empty": _empty,
    "host_array": _host_array,
    "from_values": _from_values,
    "from_buffer": _from_buffer,
    "array.move": _move,
    "array.bitcast": _bitcast,
    "array.expect": _expect,
    "array.to_device": _to_device,
    "array.copy": lambda env, args: named(env, args["array"]).copy(),
    "array.borrow": _borrow,
    "array.buffer": lambda env, args: named(env, args["array"]).buffer,
}

ANSWERS: Final[dict[str, Action]] = {
    "array.get": _get,
    "array.set": _set,
    "array.to_values": _to_values,
    "transfer": _transfer,
    "array.reading": _reading,
    "array.writing": _writing,
    "array.export": _export,
    "array.facts": _facts,
}
