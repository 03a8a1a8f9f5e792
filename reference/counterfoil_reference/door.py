"""The door: claims every operand of a call or none, looks at them in A3's order, and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

from counterfoil_reference import checks, sharing
from counterfoil_reference.arguments import function, sequence
from counterfoil_reference.arrays import Array
from counterfoil_reference.devices import Device
from counterfoil_reference.work import check_uses, queue
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, text
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import door_refusal

identical = sharing.identical


def door(written: Iterable[Array], read: Iterable[Array], f: Callable[..., object], *args: object) -> Answer:
    """Run ``f(*args)`` under claims on all the arrays; waits for no device work.

    Answers Done once ``f`` returned, and without running it Dead_buffer, Held_exclusive, Read_only,
    Repeated_elements or Overlapping; raises memory/lost. What ``f`` raises propagates after the claims are released.
    """
    written, read = sequence("written", written, Array), sequence("read", read, Array)
    f = function("f", f)
    refusal = refused_claim(written, read) or repeated(written) or overlapping(written, read)
    if refusal:
        return refusal
    _check_unlost(written, read)
    with _claimed(written, read):
        f(*args)
    return Answer.DONE


def run(
    written: Sequence[Array],
    read: Sequence[Array],
    dtypes_fit: bool,
    fits: Callable[[], bool],
    declines: Callable[[], bool],
    work: Callable[[], None],
) -> Answer:
    """A kernel's call (A3): everything up to Declined is decided before any wait; waits run under the claims.

    Where the host does not address all operands it is one submission of the CUDA device that does, and waits for
    nothing (docs/cuda.md, §4).
    """
    refusal = (
        refused_claim(written, read)
        or (None if dtypes_fit else Answer.WRONG_DTYPE)
        or off_host([*written, *read])
        or repeated(written)
        or overlapping(written, read)
    )
    if refusal:
        return refusal
    _check_unlost(written, read)
    if not fits():
        return Answer.SHAPE_MISMATCH
    if declines():
        return Answer.DECLINED
    device = computing_device([*written, *read])
    if device is not None:
        queue(device, work, tuple(array.buffer for array in read), tuple(array.buffer for array in written))
        return Answer.DONE
    with _claimed(written, read):
        for array in written:
            checks.wait(array.buffer, Access.READ_WRITE)
        for array in read:
            checks.wait(array.buffer, Access.READ)
        work()
    return Answer.DONE


def refused_claim(written: Sequence[Array], read: Sequence[Array]) -> Answer | None:
    """The first claim refused, operand by operand: dead, exclusive, and for written ones read-only."""
    for position, array in enumerate((*written, *read)):
        if array.buffer.dead is not None:
            return Answer.DEAD_BUFFER
        if array.buffer.memory.exclusive:
            return Answer.HELD_EXCLUSIVE
        if position < len(written) and array.buffer.access is Access.READ:
            return Answer.READ_ONLY
    return None


def off_host(operands: Sequence[Array]) -> Answer | None:
    """Off_host where neither the host nor one device that computes addresses every operand with an element."""
    return Answer.OFF_HOST if _are_away(operands) and computing_device(operands) is None else None


def _are_away(operands: Sequence[Array]) -> bool:
    """Whether the host does not address the memory of an operand with an element."""
    return any(array.layout.size > 0 and not array.buffer.memory.on_host for array in operands)


def computing_device(operands: Sequence[Array]) -> Device | None:
    """The device on which a kernel runs, None for the host: the one that addresses every operand with an element.

    A device addresses memory that it made, and what it borrowed by the buffer that says so.
    """
    if not _are_away(operands):
        return None
    reached = [{array.buffer.device, array.buffer.memory.device} for array in operands if array.layout.size > 0]
    found = [device for device in set.intersection(*reached) if device.computes]
    return found[0] if found else None


def repeated(written: Sequence[Array]) -> Answer | None:
    """Repeated_elements where a written operand reaches an element twice."""
    return None if all(array.layout.is_distinct for array in written) else Answer.REPEATED_ELEMENTS


def overlapping(written: Sequence[Array], read: Sequence[Array]) -> Answer | None:
    """Overlapping where a written operand shares a byte with another written one, or a read one not identical to it."""
    for position, array in enumerate(written):
        if any(sharing.overlap(array, other) for other in written[position + 1 :]):
            return Answer.OVERLAPPING
        if any(not identical(array, other) and sharing.overlap(array, other) for other in read):
            return Answer.OVERLAPPING
    return None


def _check_unlost(written: Sequence[Array], read: Sequence[Array]) -> None:
    """Raise memory/lost, written operands first."""
    check_uses([], [array.buffer for array in written])
    check_uses([array.buffer for array in read], [])


def _claimed(written: Sequence[Array], read: Sequence[Array]) -> AbstractContextManager[None]:
    return checks.claimed(*(array.buffer for array in (*written, *read)))


def refused(name: str, answer: Answer, operands: Iterable[Array]) -> None:
    """Raise the refusal a kernel answered for these operands (A10); door/refuses-nothing for Done and Declined.

    Dead operands are named with their consumer's reason, also those that died since the answer Held_exclusive.
    """
    name, answer = text("name", name), instance("answer", answer, Answer)
    arrays = sequence("operands", operands, Array)
    deaths = [(position, array.buffer.dead) for position, array in enumerate(arrays)]
    named = [(array.dtype.name, array.shape) for array in arrays]
    raise door_refusal(name, answer, named, [(position, why) for position, why in deaths if why is not None])
