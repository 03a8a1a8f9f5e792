"""The facts about buffers that operations outside the door look at, in A13's order, and the claims they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from counterfoil_reference.timeline import Point, is_reached, reach
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.buffers import Buffer


def check_live(function: str, *buffers: Buffer) -> None:
    """Refuse memory/dead for the first buffer that is."""
    for buffer in buffers:
        if buffer.dead is not None:
            raise refuse("memory/dead", function=function, why=buffer.dead)


def check_unheld(function: str, *buffers: Buffer) -> None:
    """Refuse memory/exclusive for memory held by a donation."""
    for buffer in buffers:
        if buffer.memory.exclusive:
            raise refuse("memory/exclusive", function=function)


def check_writable(function: str, *buffers: Buffer) -> None:
    """Refuse memory/read-only for Read memory."""
    for buffer in buffers:
        if buffer.access is Access.READ:
            raise refuse("memory/read-only", function=function)


def check_on_host(function: str, buffer: Buffer) -> None:
    """Refuse memory/off-host for memory the host does not address."""
    if not buffer.memory.on_host:
        raise refuse("memory/off-host", function=function, device=buffer.device.name)


def check_devices(buffer: Buffer) -> None:
    """Raise memory/lost for a borrow on a lost device, or memory of one."""
    for device in (buffer.device, buffer.memory.device):
        if device.lost is not None:
            raise device.loss()


def check_unlost(buffer: Buffer, access: Access) -> None:
    """Raise memory/lost for memory of a lost device, or where the access must follow work a lost one dropped."""
    check_devices(buffer)
    for point in buffer.memory.stamps.must_follow(access):
        if point[0].lost is not None:
            _check_reached(point)


def wait(buffer: Buffer, access: Access) -> None:
    """Perform what the access must follow, and no more; raises memory/lost, before anything else if it can be seen."""
    check_unlost(buffer, access)
    for point in buffer.memory.stamps.must_follow(access):
        reach(point)
        _check_reached(point)


def _check_reached(point: Point) -> None:
    if not is_reached(point):
        raise point[0].loss()


@contextmanager
def claimed(*buffers: Buffer) -> Iterator[None]:
    """A counted claim on the memory of each buffer, released on every way out."""
    for buffer in buffers:
        buffer.memory.claims += 1
    try:
        yield
    finally:
        for buffer in buffers:
            buffer.memory.claims -= 1


def check_access(function: str, buffer: Buffer, access: Access) -> None:
    """Refuse memory/dead, memory/exclusive, and for a write memory/read-only."""
    check_live(function, buffer)
    check_unheld(function, buffer)
    if access is Access.READ_WRITE:
        check_writable(function, buffer)
