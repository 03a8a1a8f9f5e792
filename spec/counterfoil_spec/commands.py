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
programs   node{label, shape, dtype?, literal?, padding?, margin?, slice_of?: [parent, symbol], zero_valid?,
           observable?, context_owned?, intent?}; node.require{node, intent};
           node.declare{node, what: "observable" | "zero_valid" | "context_owned"}; symbol{label, bound?, extent?};
           symbol.set{symbol, value};
           comp{label?, code: [..], embedded?, accumulates?, zeroes?, requires?, owned?, allowances?: [[node, runs]]};
           comp.sequence{comps, label?}; comp.facts{comp} -> {owned, accumulates, zeroes, requires, embedded,
           accumulation_runs}; fragment{label, kind, gradient?, empty?}
tensors    tensor{make, to?, ...}: make one of the functions of counterfoil_spec.tensors by name, to its tensors, the
           rest its keyword arguments; forward{tensor}; grad_update{loss, ...}; zero_params_grads{loss, params?};
           sgd_update{loss, lr, ...}; trainable{loss} -> labels; session.closure{fail?: text}; session.rewind{}
contexts   context{backend: "cpu" | "cuda" | "hip" | "metal" | "auto", threads?, ordinal?, name?};
           compile{context, comp, bindings?, name?, transform?, prelowered?, reuse?} binds X and X.routine;
           run{context, routine, timing?}; check_runnable{context, routine}; check_lineage_runnable{context, routine};
           check_launch_bindings{context, routine}; can_run{context, routine} -> bool; sync{context}; reuse{};
           lowered{body: [..]}; save_history{context}; restore_history{history};
           rollback{context, routine}; poison{context, routine, failure}; poisoned{context} -> text or null;
           copy_from{context, source, node, into_merge_buffer?};
           from_host{context, node, values, dtype?, shape?} (the node's dtype and padded layout unless given);
           set_values{context, node, values}; set_value{context, node, index, value};
           to_host{context, node} -> values; to_host_all{context, nodes} -> [values];
           get_values{context, node} -> values; get_value{context, node, index};
           points_1d{context, node, column?}; points_2d{context, node, x?, y?};
           context.release{context}; same_release_unit{context, other} -> bool; adopt_ancestor{context, ancestor};
           decide{context, reading: "materialized" | "inline" | "footprint", nodes};
           decide_readings{context, materialized, inline, footprint, skip_empty?};
           context.buffer{context, node} binds the array over the node's buffer in place;
           context.facts{context, nodes} -> {name, lifecycle_depth, ledger_records, and per node label: written, mem,
           initialized, placement, observability, placeholder, stored_components}, with {refused: rule} for a
           question that is refused; explain_observability{context, node} -> text or null;
           routine.facts{routine} -> {name, inputs, outputs, shared_reads, bindings, deps (names)};
           inject{seam, pass}: the pass-th time the seam is passed from now, RuntimeError("injected"); pass 0: no more;
           of several seams each fails once, with RuntimeError("injected at ..");
           census{} -> the counters; compile_count{} -> compiles since the driver began
harness    poison{byte}; drop{names} forgets names, so that memory is collected

``buffer`` wherever it is named may also be the ref of an array: its buffer is meant. Where a node is wanted, the ref of
a tensor means its value, ``{"grad": "t"}`` its gradient. Code is a list of
``{"set": node, "op": "mul", "of": [operand, ..], "by": "i k, k j -> i j", "accumulate": "add", "initialize": true}``
(``op`` absent: identity; ``by`` absent: pointwise with broadcasting; ``accumulate`` absent: arg2; ``initialize``
absent: false),
``{"fetch": node, "constant": x | "fill": [..] | "offsets": true | "embed": symbol | "row": [parent, symbol]}``,
``{"block": label, "code": [..]}``; an operand is a node, or ``{"merge": node}``. A lowered body is a list of
``{"zero": node}``, ``{"store": [node, index, value]}``, ``{"loop": [name, extent, body]}``,
``{"if": [left, right, body]}``; an index is a list of texts like ``2*i + j - 1``, ``$s`` for a symbol; a value is a
number, ``{"load": [node, index]}``, ``{"merge": [node, index]}``, ``{"position": text}`` or
``{"apply": operator, "to": [..]}``. Transforms by name: ``identity``, ``each`` (one kernel per statement), ``empty``,
``raise`` (RuntimeError("boom")).
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
