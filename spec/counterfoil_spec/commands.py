"""Commands, outcomes and traces: operations on the surface as data, JSON lines with a versioned schema.

A trace file's first line is a ``Header``, every other line a ``Step``: one command, the name its result is bound to
(``as``), and the outcome. Machines, crash files, replay, fixtures and explanations all speak traces.

Arguments are JSON. Objects are named by the step that made them: ``{"ref": "a0"}``. Dtypes are names, shapes lists,
access and memory kinds their enum values, answers their names. A number is a JSON number, or, where JSON cannot hold
it, ``{"int": "decimal"}``, ``{"float": "16 hex digits of the binary64"}``, ``{"complex": [number, number]}``.
``{"odd": KIND}`` with KIND one of ODD stands for an argument no caller should pass. Bytes are hexadecimal strings.
Moves: ``{"reshape": [..]}``, ``{"broadcast": [..]}``, ``{"permute": [..]}``, ``{"slice": [[start, count, step], ..]}``,
``{"window": [[axis, size, step, dilation], ..]}``. Expressions: ``{"input": 0}``, ``{"constant": 1.5, "dtype": ".."}``,
``{"apply": "add", "to": [..]}``, ``{"cast": "int8", "to": ..}``.

Commands (arguments in braces; -> what the value of the outcome is):

device     host{}, disk{}, simulated{name, addressable}, cuda{ordinal} -> null; device.advance{device, count};
           device.lose{device, why}; device.set_budget{device, nbytes}; device.state{device} -> {submitted, reached}
buffer     buffer{device, nbytes, kind}; buffer.view{buffer, first, nbytes}; buffer.borrow{buffer, device} -> is it
           something; buffer.free{buffer, why}; buffer.wait{buffer, access}; buffer.export{buffer} -> bytes;
           buffer.overlaps{buffer, other} -> bool; buffer.state{buffer} -> {nbytes, access, dead, claims, device};
           buffer.bytes{buffer} -> bytes now, nothing performed; buffer.poke{buffer, bytes}
disk       file{path, bytes} writes a file beforehand; disk.open{path}; disk.create{path, nbytes}; file.bytes{path}
work       submit{device, work, reads, writes} with work "fill:BYTE" (stores BYTE everywhere), "increment" (adds 1
           modulo 256 to each written byte), "sum" (each written byte becomes the sum modulo 256 of the reads' bytes at
           its position, missing ones 0), "raise" (raises RuntimeError("boom")); submit_copy{src, dst};
           submit_fill{buffer, byte}
claims     claims.enter{read, donate}; claims.exit{claims, raise}, which RuntimeError("boom") leaves if raise is true;
           claims.exclusive{claims, buffer} -> bool; claims.consume{claims, buffer, why}
dtypes     of_float{dtype, value} -> number; format_value{dtype, value} -> text; dtype{name};
           dtype.nbytes{dtype, count}; dtype.range{dtype} -> [min, max]
layouts    layout{shape, strides, offset}; layout.contiguous{shape}; layout.move{layout, move} -> is it something;
           layout.facts{layout} -> {shape, strides, offset, size, span, is_contiguous, is_distinct};
           move_shape{move, shape} -> shape; coalesce{layouts} -> [{shape, strides, offset}]
arrays     array{dtype, layout, buffer}; empty{device, dtype, shape, kind}; host_array{dtype, shape};
           from_values{dtype, shape, values}; from_buffer{dtype, object: {bytes, format, shape, readonly}}, the
           object also with skip (bytes past an aligned address at which it starts) and reversed (its first axis);
           array.move{array, move} -> is it something; array.bitcast{array, dtype} -> is it something;
           array.expect{array, dtype}; array.get{array, index} -> value; array.set{array, index, value};
           array.to_values{array} -> values; array.to_device{array, device}; array.copy{array};
           array.borrow{array, device} -> is it something; array.buffer{array} (binds its buffer); transfer{src, dst};
           array.reading{array, raise} -> bytes; array.writing{array, bytes, raise}; array.export{array} -> bytes; with
           raise true RuntimeError("boom") leaves the block: a fault;
           array.facts{array} -> {dtype, shape, strides, offset, device}
door       door{written, read, work} -> answer, with work "nothing", "raise" (RuntimeError("boom") propagates: a fault)
           or "submit" (submits an increment naming the operands); refused{name, answer, operands}
kernels    kernel{name, dst, sources, ...} -> answer, with value (fill), axis (iota, cumsum, softmax),
           axes (reductions), expression (map)
harness    poison{byte}; drop{names} forgets names, so that memory is collected

``buffer`` wherever it is named may also be the ref of an array: its buffer is meant.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

SCHEMA: Final = "counterfoil-trace-1"

ODD: Final[dict[str, object]] = {
    "none": None,
    "true": True,
    "text": "seven",
    "half": 0.5,
    "nan": float("nan"),
    "bytes": b"\x00",
    "dict": {},
}
"""Arguments that no caller should pass, by name."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """A trace's first line. ``seed`` cites the lines or decisions it was written from; ``title`` says what it shows."""

    schema: str = SCHEMA
    title: str = ""
    seed: list[str] = []
    rules: list[str] = []


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation on the surface. ``bind`` (``as`` in JSON) names the object it makes."""

    do: str
    args: dict[str, Any] = {}
    bind: str | None = msgspec.field(default=None, name="as")


class Returned(msgspec.Struct, frozen=True, tag="value", tag_field="is"):
    """The operation returned: ``value`` as the command's documentation says, null where it returns an object."""

    value: Any = None


class Refused(msgspec.Struct, frozen=True, tag="refused", tag_field="is", omit_defaults=True):
    """The operation was refused. An expected outcome may leave ``subjects`` out: then only the rule is compared."""

    rule: str
    subjects: dict[str, Any] | None = None


class Fault(msgspec.Struct, frozen=True, tag="fault", tag_field="is"):
    """Anything else was raised: a bug of the library, or an exception of a caller's work."""

    error: str


Outcome = Returned | Refused | Fault


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a trace: a command and its outcome (absent in a trace that has not been run)."""

    command: Command
    outcome: Outcome | None = None


class Trace(msgspec.Struct, frozen=True):
    """A header and its steps."""

    header: Header
    steps: list[Step]


def encode_trace(trace: Trace) -> bytes:
    """The trace as JSON lines."""
    encoder = msgspec.json.Encoder()
    return b"".join(encoder.encode(line) + b"\n" for line in (trace.header, *trace.steps))


def decode_trace(data: bytes) -> Trace:
    """A trace from JSON lines (blank lines skipped); msgspec.ValidationError for another schema or shape."""
    lines = [line for line in data.splitlines() if line.strip()]
    header = msgspec.json.decode(lines[0], type=Header)
    if header.schema != SCHEMA:
        raise msgspec.ValidationError(f"schema {header.schema!r} is not {SCHEMA!r}")
    step = msgspec.json.Decoder(Step)
    return Trace(header, [step.decode(line) for line in lines[1:]])


def matches(expected: Outcome, actual: Outcome) -> bool:
    """Whether an actual outcome is the expected one; subjects left out of the expected one are not compared."""
    if isinstance(expected, Refused) and isinstance(actual, Refused) and expected.subjects is None:
        return expected.rule == actual.rule
    return msgspec.json.encode(expected) == msgspec.json.encode(actual)


def encode_number(value: object) -> Any:
    """A Python number as the trace writes it: NaN by its bits, so that equal JSON means equal bits."""
    if isinstance(value, complex):
        return {"complex": [encode_number(value.real), encode_number(value.imag)]}
    if isinstance(value, float):
        finite = value - value == 0
        return value if finite else {"float": struct.pack(">d", value).hex()}
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return {"int": str(value)}
    return value


def decode_number(data: Any) -> Any:
    """The inverse of ``encode_number``; also ``{"odd": KIND}``. Other data comes back as it is."""
    match data:
        case {"int": text}:
            return int(text)
        case {"float": bits}:
            return struct.unpack(">d", bytes.fromhex(bits))[0]
        case {"complex": [real, imag]}:
            return complex(decode_number(real), decode_number(imag))
        case {"odd": kind}:
            return ODD[kind]
    return data


def decode_numbers(data: Any) -> Any:
    """``decode_number`` through lists; a non-list stays what it decodes to."""
    return [decode_numbers(entry) for entry in data] if isinstance(data, list) else decode_number(data)


def references(data: Any) -> Iterator[str]:
    """The names an argument refers to, in order."""
    match data:
        case {"ref": str(name)}:
            yield name
        case dict():
            yield from _flat(data.values())
        case list():
            yield from _flat(data)


def _flat(entries: Iterable[Any]) -> Iterator[str]:
    for entry in entries:
        yield from references(entry)
