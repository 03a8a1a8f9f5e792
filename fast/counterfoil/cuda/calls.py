"""The door of a CUDA device (A3): a kernel call that the host answered Off_host is checked, queued and answered Done.

The core has looked at claims, dtypes and reach before; claims are taken again here, so that nothing that happened since
goes unseen. Every family of kernels has a room in ``counterfoil.cuda.kernels``, imported when first called, whose
function takes the device, the row, the destination, the sources and the kernel's own parameters, and gives a ``Launch``
or the answer Shape_mismatch or Declined. What it gives is one submission of the device.

Elements narrower than a byte are stored by atomic operations on words, which are for a device's own memory: results in
memory that the host addresses too are computed in the device's, and the host stores them among their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.cuda.probe import DriverFailed
from counterfoil.door import answer_of
from counterfoil_spec.answers import Answer
from counterfoil_spec.kernels import KERNELS, Family

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

Launch = Callable[[], None]
"""Enqueues the work on the device's stream, with the device current."""

Planner = Callable[..., "Launch | Answer"]
"""``(device, row, dst, sources, *parameters)``: called under the claims, before anything is queued."""

ROOMS: Final[dict[Family, str]] = {
    Family.FILL: "filling",
    Family.IOTA: "filling",
    Family.COPY: "moving",
    Family.CAST: "pointwise",
    Family.UNARY: "pointwise",
    Family.BINARY: "pointwise",
    Family.COMPARE: "pointwise",
    Family.WHERE: "pointwise",
    Family.FMA: "pointwise",
    Family.MAP: "mapping",
    Family.REDUCE: "reducing",
    Family.ARG: "reducing",
    Family.SCAN: "scanning",
    Family.SOFTMAX: "normalizing",
    Family.MATMUL: "multiplying",
}
"""The module of ``counterfoil.cuda.kernels`` that computes a family: its ``PLANNERS`` map families to planners."""

_planners: dict[Family, Planner] = {}


def call(name: str, dst: Array, sources: Sequence[Array], *parameters: Any) -> Answer:
    """What a kernel answers for operands some of which the host does not address; raises memory/lost.

    OFF_HOST where no one CUDA device addresses all that have an element.
    """
    from counterfoil.cuda.device import computing_device

    operands = [dst, *sources]
    device = computing_device(operands)
    if device is None:
        return Answer.OFF_HOST
    handles = [operand._c for operand in operands]
    code = lib.cf_door_enter_work(handles, 1, len(handles))
    if code:
        return answer_of(code, operands[:1], operands[1:])
    try:
        plan = _planner(KERNELS[name].family)
        planned = plan(device, KERNELS[name], dst, sources, *parameters)
        if isinstance(planned, Answer):
            return planned
        finish = None
        if dst.size and dst.dtype.bits < 8 and not dst.buffer.memory.opaque:
            planned, finish = _by_way_of(
                device, dst, lambda there: plan(device, KERNELS[name], there, sources, *parameters)
            )
        device.submit(planned, [source.buffer for source in sources], [dst.buffer], finish)
    except DriverFailed as failure:
        raise device.failed(failure) from None
    finally:
        lib.cf_door_leave(handles, len(handles))
    return Answer.DONE


def _by_way_of(device: Cuda, dst: Array, plan: Callable[[Array], Launch | Answer]) -> tuple[Launch, Launch | None]:
    """The launch into memory of the device's and from there to the host's, and the host's part."""
    from counterfoil.cuda import copies

    there = copies.scratch_like(device, dst)
    compute, brought = plan(there), copies.brought(device, there, dst)
    assert not isinstance(compute, Answer), "the same call was accepted"

    def launch() -> None:
        compute()
        brought.issue()

    return launch, brought.finish


def _planner(family: Family) -> Planner:
    planner = _planners.get(family)
    if planner is None:
        room = import_module(f"counterfoil.cuda.kernels.{ROOMS[family]}")
        planner = _planners[family] = room.PLANNERS[family]
    return planner


def nothing() -> None:
    """The launch of a call that has no element to write."""
