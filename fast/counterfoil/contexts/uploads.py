"""From the host into a node's buffer (context:132, context:136, context:140; docs/contexts.md, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.contexts import census, moving, pools
from counterfoil.contexts.frontend import check_kept
from counterfoil.contexts.moving import Elements
from counterfoil.contexts.pools import Location
from counterfoil.contexts.units import check_released, extended
from counterfoil.contexts.values import derived
from counterfoil.interchange import asarray
from counterfoil.numbers import loose_of_values
from counterfoil.views import NUMPY_DTYPES, strided
from counterfoil_spec.arguments import instance, read
from counterfoil_spec.programs.nodes import Intent, Node, integer_node_index
from counterfoil_spec.programs.placements import Mode
from counterfoil_spec.refusals import refuse, shown

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context

_DECLARED_LOCAL = 22
"""The code of the reason of a node that is only declared Local."""


def check_writable(value: Context, node: Node, operation: str) -> None:
    """What writes refuse of the node: released, poisoned, discarded, slice view, Local, in this order."""
    check_released(value, operation)
    value._root.check_poison(operation)
    check_kept(operation, node)
    check_no_view(node, operation)
    check_not_local(value, node, operation)


def check_no_view(node: Node, operation: str) -> None:
    """Refuse transfers/slice-view, naming the parent."""
    if node.slice_of is not None:
        raise refuse("transfers/slice-view", operation=operation, node=node.label, parent=node.slice_of[0].label)


def check_not_local(value: Context, node: Node, operation: str) -> None:
    """Refuse transfers/local: placed Local by the lineage, or declared so and not decided."""
    placement = value.placement_of(node)
    if placement is None and node.intent is Intent.LOCAL:
        raise refuse("transfers/local", operation=operation, node=node.label, provenance=_DECLARED_LOCAL)
    if placement is not None and placement.mode is Mode.LOCAL:
        raise refuse("transfers/local", operation=operation, node=node.label, provenance=placement.provenance)


def from_host(value: Context, node: Node, given: object) -> Context:
    """The array's elements in the node's buffer; what it holds in the margins is ignored.

    Refuses transfers/array-differs, and memory/* of the array and of the buffer.
    """
    array = array_of(given)
    with value._root.entered():
        check_writable(value, node, "from_host")
        if array.dtype is not node.dtype or array.shape != node.dims:
            expected, found = [node.dtype.name, node.dims], [array.dtype.name, array.shape]
            raise refuse("transfers/array-differs", node=node.label, expected=expected, given=found)
        buffer = array.buffer
        buffer.claimed("from_host")
        try:
            if array.size and not (buffer._c.addressable or buffer.device is value.device.memory):
                raise refuse("memory/off-host", function="from_host", device=array.device.name)
            buffer.require_found(False)
            return uploaded(value, node, lambda: read_under_claim(array, node), "from_host")
        finally:
            lib.cf_release(buffer._c)


def array_of(given: object) -> Array:
    """An array, or what ``asarray`` takes as one; refuses arguments/wrong-type."""
    foreign = any(hasattr(type(given), name) for name in ("__array_interface__", "__dlpack__", "__array__"))
    return asarray(given) if foreign and not isinstance(given, Array) else instance("array", given, Array)


def read_under_claim(array: Array, node: Node) -> Elements | Array:
    """The unpadded elements of an array of the node's padded extents, after what a read must follow; the array itself
    where only its device addresses it."""
    if not array.buffer._c.addressable:
        return array
    array.buffer.reach(False)
    return moving.unpadded(node, strided(array, False, NUMPY_DTYPES[node.dtype]))


def set_values(value: Context, node: Node, values: Iterable[float]) -> Context:
    """The values in the node's buffer, in C order of the unpadded shape.

    Refuses arrays/values-count, dtypes/value-type, dtypes/value-range.
    """
    with value._root.entered():
        check_writable(value, node, "set_values")
        given = read(values, None if hasattr(type(values), "__len__") else node.size + 1)
        if given is None:
            expected = "a sequence of values"
            raise refuse("arguments/wrong-type", argument="values", expected=expected, value=shown(values))
        if len(given) != node.size:
            raise refuse("arrays/values-count", values=len(given), shape=node.shape)
        loose = loose_of_values(node.dtype, given)
        elements = np.frombuffer(loose, NUMPY_DTYPES[node.dtype]).reshape(node.shape)
        return uploaded(value, node, lambda: elements, "set_values")


def set_value(value: Context, node: Node, index: Sequence[int], element: float) -> Context:
    """One element in the node's buffer: a write from outside of all of it (C11).

    Refuses arrays/index-rank, arrays/index-range, dtypes/value-*, transfers/absent, transfers/unwritten-value.
    """
    with value._root.entered():
        check_writable(value, node, "set_value")
        entry = integer_node_index(node, index)
        stored = np.frombuffer(loose_of_values(node.dtype, [element]), NUMPY_DTYPES[node.dtype])[0]
        check_released(value, "set_value")
        location = value.buffers.get(node)
        if location is None:
            raise refuse("transfers/absent", operation="set_value", node=node.label, backend=value.device.backend)
        if not (value._root.vouches(location) or node.zero_valid):
            raise refuse("transfers/unwritten-value", node=node.label)

        _overwrite(location, lambda: moving.store_element(location, entry, stored), "set_value")
        return written(value, location)


def uploaded(
    value: Context, node: Node, elements: Callable[[], Elements | Array], operation: str, vouched: bool = True
) -> Context:
    """The value behind an upload of the unpadded elements: into the buffer there is, or a fresh pool of its own.

    Refuses memory/dead, exclusive, read-only, lost, exhausted; a fresh pool is freed whatever fails (context:132).
    """
    check_released(value, operation)  # what was read of the caller's may have released it
    location = value.buffers.get(node)
    if location is not None:
        _overwrite(location, lambda: moving.store(location, elements()), operation)
        return written(value, location, vouched)
    pool = pools.new_pool(value.device, [(node, 0)])
    fresh = pool.locations[node]
    try:
        census.passed("transfer-pool-allocated")
        _overwrite(fresh, lambda: moving.store(fresh, elements()), operation)
    except BaseException:
        pool.free()
        raise
    return allocated(value, fresh, vouched)


def _overwrite(location: Location, work: Callable[[], None], operation: str) -> None:
    """Store in a buffer under a claim, past the seams of an upload."""
    buffer = location.pool.buffer
    buffer.claimed(operation, writing=True)
    try:
        buffer.require_found(True)
        census.passed("from-host-before-copy")
        if location.pool.addressable:
            buffer.reach(True)
        work()
    finally:
        lib.cf_release(buffer._c)
    census.passed("from-host-before-await")


def allocated(value: Context, location: Location, vouched: bool) -> Context:
    """The value that binds a freshly allocated node: the tip's unit extended, or a fork (C16)."""
    unit = extended(value, location.pool)
    buffers = {**value.buffers, location.node: location}
    return written(derived(value, unit, count=unit.allocations, buffers=buffers), location, vouched)


def written(value: Context, location: Location, vouched: bool = True) -> Context:
    """The books of a write from outside, and a value that waits for no earlier writer or reader of the node."""
    value._root.written_from_outside(location, vouched)
    return superseded(value, location.node, vouched)


def superseded(value: Context, node: Node, vouched: bool = True) -> Context:
    """The value in which the node is marked initialized (where somebody wrote it) and left out of the frontier."""
    marked = value.initialized | {node} if vouched else value.initialized - {node}
    return derived(value, initialized=marked, frontier=value.frontier.without(node))
