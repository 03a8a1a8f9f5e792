"""Where the rules leave room (N1 to N3): the subject's bits are checked against it, and then taken over (N5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from counterfoil_oracles.driver import Driver
from counterfoil_spec.commands import Command


def settle(records: list[Any], reference: Driver, subject: Driver, command: Command) -> str | None:
    """Check and take over the elements whose reference records leave room; what is wrong in words, or None.

    Afterwards the two memories can be compared bit for bit.
    """
    for record in records:
        if any(accept is not None for accept in record.accepts):
            theirs = subject.names[command.args["dst"]["ref"]]
            difference = _take_over(record, theirs, reference.half.inspection, subject.half.inspection)
            if difference is not None:
                return difference
    return None


def _take_over(record: Any, theirs: Any, inspection: Any, their_inspection: Any) -> str | None:
    ours, dtype = record.dst, record.dst.dtype
    expected = int.from_bytes(inspection.memory_bytes(ours.buffer), "little")
    actual = int.from_bytes(their_inspection.memory_bytes(theirs.buffer), "little")
    mask = (1 << dtype.bits) - 1
    for (index, position), accept in zip(places(ours.layout), record.accepts, strict=True):
        if accept is None:
            continue
        at = position * dtype.bits
        code, right = actual >> at & mask, expected >> at & mask
        if not accept.accepts(dtype, code):
            return f"element {list(index)} is {dtype.name} code {code:#x}, not near {right:#x}: outside {accept}"
        expected ^= (code ^ right) << at
    inspection.poke(ours.buffer, expected.to_bytes(ours.buffer.nbytes, "little"))
    return None


def places(layout: Any) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each index of a layout in C order, with its position."""
    for index in itertools.product(*map(range, layout.shape)):
        yield index, layout.offset + sum(i * stride for i, stride in zip(index, layout.strides, strict=True))
