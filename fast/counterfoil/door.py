"""The door for work submitted from Python, the refusals of answers, and work on timelines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.buffers import Buffer
from counterfoil.devices import Device
from counterfoil.layouts import list_of
from counterfoil.placement import touched
from counterfoil.timeline import take_raised
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, text
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import door_refusal, refuse, shown

ANSWERS = tuple(Answer)
"""The answers by code. The core's CF_LOST lies past the end."""


def door(written: Iterable[Array], read: Iterable[Array], f: Callable[..., object], *args: object) -> Answer:
    """Claim ``written`` for writing and ``read`` for reading, all or none, and run ``f(*args)`` under the claims.

    Waits for no device work. Answers DONE, or without running ``f`` DEAD_BUFFER, HELD_EXCLUSIVE, READ_ONLY,
    REPEATED_ELEMENTS or OVERLAPPING; raises memory/lost. An exception of ``f`` propagates after the release.
    """
    destinations = list_of("written", written, Array)
    operands = [*destinations, *list_of("read", read, Array)]
    _require_callable("f", f)
    handles = [array._c for array in operands]
    answer = lib.cf_door_enter_work(handles, len(destinations), len(handles))
    if answer:
        return answer_of(answer, destinations, operands[len(destinations) :])
    try:
        f(*args)
    finally:
        lib.cf_door_leave(handles, len(handles))
    return Answer.DONE


def answer_of(code: int, written: Sequence[Array], read: Sequence[Array]) -> Answer:
    """The answer of a code of the core; raises what a wait raised, or memory/lost, for CF_LOST."""
    if code != lib.CF_LOST:
        return ANSWERS[code]
    raised = take_raised()
    if raised is not None:
        try:
            raise raised
        finally:
            del raised  # its traceback names this frame: a cycle that would keep the operands alive
    operands = [*written, *read]
    lost = lib.cf_door_lost([array._c for array in operands], len(written), len(operands))
    raise operands[lost].buffer.lost(lost < len(written))


def refused(name: str, answer: Answer, operands: Iterable[Array]) -> None:
    """Raise the refusal that a kernel answered for these operands, worded as A10 says.

    Held_exclusive looks again, and names the operands that died since. Refuses door/refuses-nothing for DONE and
    DECLINED.
    """
    name = text("name", name)
    instance("answer", answer, Answer)
    given = list_of("operands", operands, Array)
    named = [(array.dtype.name, array.shape) for array in given]
    deaths = [(position, why) for position, array in enumerate(given) if (why := array.buffer.dead) is not None]
    raise door_refusal(name, answer, named, deaths)


def submit(device: Device, work: Callable[..., object], reads: Iterable[Buffer], writes: Iterable[Buffer]) -> int:
    """Queue ``work(*views)``, one byte view per buffer of ``reads`` (read-only), then of ``writes``; its number.

    On a CUDA device ``work`` enqueues, and gets ``DeviceBytes``.

    Refuses memory/runs-no-work, memory/dead, memory/read-only, memory/wrong-device and memory/lost.
    """
    instance("device", device, Device)
    _require_callable("work", work)
    inputs, outputs = list_of("reads", reads, Buffer), list_of("writes", writes, Buffer)
    if not device.runs_work:
        raise refuse("memory/runs-no-work", device=device.name)
    _check_named(device, inputs, outputs)

    def run() -> None:
        views = device.bytes_of
        work(*(views(buffer, True) for buffer in inputs), *(views(buffer, False) for buffer in outputs))

    return device.timeline.submit(run, touched(inputs, outputs))


def _check_named(device: Device, inputs: list[Buffer], outputs: list[Buffer]) -> None:
    for buffer in (*inputs, *outputs):
        buffer.require_alive("submit")
    for buffer in outputs:
        if buffer.access is Access.READ:
            raise refuse("memory/read-only", function="submit")
    for buffer in (*inputs, *outputs):
        if buffer.device is not device:
            raise refuse("memory/wrong-device", function="submit", device=device.name, found=buffer.device.name)
    if device.timeline.why is not None:
        raise device.timeline.lost()
    for position, buffer in enumerate((*inputs, *outputs)):
        buffer.require_found(position >= len(inputs))


def _require_callable(argument: str, value: object) -> None:
    if not callable(value):
        raise refuse("arguments/wrong-type", argument=argument, expected="Callable", value=shown(value))
