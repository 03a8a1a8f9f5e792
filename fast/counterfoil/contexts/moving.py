"""Elements between the host and pools: at once where the host addresses the pool, else by the pool's device.

What a device does is one submission of it, in order; the host waits for none but a read. Whoever calls holds a claim on
the pool's memory, and has looked whether an access of it is known to be lost; here it is looked again after a
submission, for one that the driver does not take loses its device.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from counterfoil import placement
from counterfoil._native import ffi, lib
from counterfoil.arrays import Array
from counterfoil.buffers import Buffer
from counterfoil.layouts import Layout
from counterfoil.numbers import of_float
from counterfoil.views import NUMPY_DTYPES
from counterfoil_spec.interface import MemoryKind
from counterfoil_spec.moves import Range, Slice
from counterfoil_spec.programs.nodes import Node

if TYPE_CHECKING:
    from counterfoil.contexts.pools import Location, Pool

Elements = np.ndarray[Any, Any]


def clear(pool: Pool) -> None:
    """Every byte of a fresh pool zero, or a margin's value (C3)."""
    if not pool.nbytes:
        return
    padded = [location for location in pool.locations.values() if location.node.is_padded and location.node.nbytes]
    if pool.addressable:
        ctypes.memset(pool.address, 0, pool.nbytes)
        for location in padded:
            _margins(location.node, elements_of(location.node, pool.buffer, location.first))
        return
    placement.submit_fill(pool.buffer, 0)
    for location in padded:
        image = _staged(pool, location.node, location.node.dims)
        _margins(location.node, elements_of(location.node, image.buffer))
        placement.copy_bytes(image.buffer, location.buffer)
    pool.buffer.require_found(True)


def store(location: Location, given: Elements | Array) -> None:
    """The unpadded elements into the interior; an array of the padded extents that the host does not address by its
    interior. Refuses memory/lost."""
    node = location.node
    if not node.size:
        return
    if location.pool.addressable:
        interior(location)[...] = given
        return
    target = _unpadded_array(node, location.array)
    if isinstance(given, Array):
        source = _unpadded_array(node, given)
        if lib.cf_overlapping(target._c, source._c) and not lib.cf_identical(target._c, source._c):
            source = placement.copy(source)
    else:
        source = _staged(location.pool, node, node.shape)
        elements_of(node, source.buffer, padded=False)[...] = given
    placement.copy_elements(source, target)
    location.pool.buffer.require_found(True)


def store_element(location: Location, entry: tuple[int, ...], element: Any) -> None:
    """One element of the interior; refuses memory/lost."""
    node = location.node
    if location.pool.addressable:
        interior(location)[entry] = element
        return
    source = _staged(location.pool, node, ())
    source.buffer.bytes()[:] = element.tobytes()
    place = 0
    for at, extent, (left, _) in zip(entry, node.dims, node.padding, strict=True):
        place = place * extent + left + at
    width = source.buffer.nbytes
    placement.copy_bytes(source.buffer, location.part(place * width, width))
    location.pool.buffer.require_found(True)


def load(location: Location, target: Array) -> None:
    """All bytes into a fresh host array of the padded extents, margins included; refuses memory/lost."""
    source = location.pool.buffer
    if location.pool.addressable:
        source.reach(False)
        ffi.memmove(target.buffer._c.memory.base, ffi.cast("void *", location.address), location.node.nbytes)
    else:
        placement.copy_bytes(location.buffer, target.buffer)
        target.buffer.reach(True)


def duplicate(there: Location, here: Location) -> None:
    """All bytes from one location into another, margins included, after what they must follow; refuses memory/lost."""
    if there.pool.addressable and here.pool.addressable:
        there.pool.buffer.reach(False)
        here.pool.buffer.reach(True)
        ffi.memmove(ffi.cast("void *", here.address), ffi.cast("void *", there.address), there.node.nbytes)
    else:
        placement.copy_bytes(there.buffer, here.buffer)
        here.pool.buffer.require_found(True)


def _staged(pool: Pool, node: Node, shape: tuple[int, ...]) -> Array:
    """An array of a node's elements in memory that the host and the pool's device address, for one submission.

    It is live nowhere, so that an upload needs no room on the host. Refuses memory/exhausted, memory/lost.
    """
    device = pool.device.cuda
    assert device is not None
    buffer = device.scratch(node.dtype.nbytes(math.prod(shape)), MemoryKind.PINNED)
    return Array(node.dtype, Layout.contiguous(shape), buffer)


def interior(location: Location) -> Elements:
    """The elements outside the margins of what the host addresses; the caller knows that nobody else uses them."""
    return unpadded(location.node, elements_of(location.node, location.pool.buffer, location.first))


def elements_of(node: Node, buffer: Buffer, first: int = 0, padded: bool = True) -> Elements:
    """An ndarray of a node's padded extents (or unpadded ones) over a memory's first buffer, from ``first`` on."""
    dtype, extents = NUMPY_DTYPES[node.dtype], node.dims if padded else node.shape
    if not node.nbytes:
        return np.empty(extents, dtype)
    return np.ndarray(extents, dtype, memoryview(buffer.memory.owner), first)


def unpadded(node: Node, elements: Elements) -> Elements:
    """The part of an array of the padded extents that is outside the margins, as a view."""
    if not node.is_padded:
        return elements
    return elements[tuple(slice(first, end) for first, end in _inner(node))]


def margin_value(node: Node) -> Any:
    """What a node's margins hold, as its dtype stores it."""
    return of_float(node.dtype, node.margin)


def _margins(node: Node, elements: Elements) -> None:
    """Margins of their value, around zeros."""
    elements.fill(margin_value(node))
    unpadded(node, elements).fill(0)


def _inner(node: Node) -> list[tuple[int, int]]:
    """First and end of the interior on each axis."""
    return [(left, left + extent) for extent, (left, _) in zip(node.shape, node.padding, strict=True)]


def _unpadded_array(node: Node, array: Array) -> Array:
    """The view of an array of the padded extents outside the margins."""
    if not node.is_padded:
        return array
    view = array.move(Slice(*(Range(first, end - first) for first, end in _inner(node))))
    assert view is not None
    return view
