"""Where the rules leave room (N1 to N3): the subject's bits are checked against it, and then taken over (N5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from counterfoil_oracles.driver import Driver
from counterfoil_spec.commands import Command

COPIES: Final = frozenset({"copy_from"})
"""Commands that may store what they recompute at a read."""

STORES: Final = frozenset({"kernel", "run"}) | COPIES
"""Commands that store what they compute."""


def settle(records: list[Any], reference: Driver, subject: Driver, command: Command) -> str | None:
    """Check and take over the elements whose reference records leave room; what is wrong in words, or None.

    Afterwards the two memories can be compared bit for bit.
    """
    for record in records:
        if any(accept is not None for accept in record.accepts):
            difference = _settle(record, reference, subject, command)
            if difference is not None:
                return difference
    return None


def _settle(record: Any, reference: Driver, subject: Driver, command: Command) -> str | None:
    inspections = (reference.half.inspection, subject.half.inspection)
    if command.do == "kernel":
        return take_over(record, record.dst, subject.names[command.args["dst"]["ref"]], *inspections)
    if command.do in COPIES:
        ours, theirs = (_copied(driver, command) for driver in (reference, subject))
        return take_over(record, ours, theirs, *inspections)
    for one, other in zip(_outputs(reference, command), _outputs(subject, command), strict=True):
        if _same_memory(one.buffer, record.dst.buffer):
            return take_over(record, one, other, *inspections)
    return None


def _outputs(driver: Driver, command: Command) -> list[Any]:
    """The arrays over the buffers that the run's routine writes, the run completed."""
    routine, value = (driver.names[command.args[key]["ref"]] for key in ("routine", "context"))
    if value.backend_name != "cc":
        value.sync()
    return [driver.half.inspection.array(routine.context, node) for node in routine.outputs]


def _copied(driver: Driver, command: Command) -> Any:
    node, context = driver.names[command.args["node"]["ref"]], driver.names[command.bind or ""]
    if context.backend_name == "cuda":
        context.sync()
    return driver.half.inspection.array(context, node)


def _same_memory(one: Any, other: Any) -> bool:
    return one.memory is other.memory and one.first == other.first


def take_over(record: Any, ours: Any, theirs: Any, inspection: Any, their_inspection: Any) -> str | None:
    """Check one array's elements that a record leaves room for, and take them over; what is wrong, or None."""
    dtype = ours.dtype
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
