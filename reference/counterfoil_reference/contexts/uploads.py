"""From the host into a node's buffer (context:132, context:136, context:140; docs/contexts.md, §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from counterfoil_reference import checks, elements, numbers
from counterfoil_reference.arguments import entries
from counterfoil_reference.arrays import Array
from counterfoil_reference.contexts import census, contents, pools
from counterfoil_reference.contexts.frontend import check_kept
from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.contexts.units import check_released, extended
from counterfoil_spec.arguments import instance
from counterfoil_spec.interface import Access
from counterfoil_spec.programs.nodes import Intent, Node, integer_node_index
from counterfoil_spec.programs.placements import Mode
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context

_DECLARED_LOCAL = 22
"""The code of the reason of a node that is only declared Local."""


def check_writable(context: Context, node: Node, operation: str) -> None:
    """What uploads and copies refuse of the node: released, poisoned, discarded, slice view, Local, in this order."""
    check_released(context, operation)
    context.ledger.check_poison(operation)
    check_kept(operation, node)
    check_no_view(node, operation)
    check_not_local(context, node, operation)


def check_no_view(node: Node, operation: str) -> None:
    """Refuse transfers/slice-view, naming the parent."""
    if node.slice_of is not None:
        raise refuse("transfers/slice-view", operation=operation, node=node.label, parent=node.slice_of[0].label)


def check_not_local(context: Context, node: Node, operation: str) -> None:
    """Refuse transfers/local: placed Local by the lineage, or declared so and not decided."""
    placement = context.placements.get(node)
    if placement is None and node.intent is Intent.LOCAL:
        raise refuse("transfers/local", operation=operation, node=node.label, provenance=_DECLARED_LOCAL)
    if placement is not None and placement.mode is Mode.LOCAL:
        raise refuse("transfers/local", operation=operation, node=node.label, provenance=placement.provenance)


def from_host(context: Context, node: Node, array: Array) -> Context:
    """The array's elements in the node's buffer; what it holds in the margins is ignored.

    Refuses transfers/array-differs, memory/dead, exclusive, off-host, lost of the array.
    """
    array = instance("array", array, Array)
    check_writable(context, node, "from_host")
    check_array(node, array)
    checks.check_access("from_host", array.buffer, Access.READ)
    if array.layout.size > 0 and not _addresses(context, array):
        checks.check_on_host("from_host", array.buffer)
    checks.check_unlost(array.buffer, Access.READ)
    return uploaded(context, node, lambda: read(array, node), "from_host")


def _addresses(context: Context, array: Array) -> bool:
    """Whether the context's device computes and addresses the array's memory (docs/cuda.md, §6)."""
    place = context.device.place
    return place.computes and place in (array.buffer.device, array.buffer.memory.device)


def check_array(node: Node, array: Array) -> None:
    """Refuse transfers/array-differs: another dtype or other extents than the padded ones."""
    if array.dtype is not node.dtype or array.shape != node.dims:
        expected, given = [node.dtype.name, node.dims], [array.dtype.name, array.shape]
        raise refuse("transfers/array-differs", node=node.label, expected=expected, given=given)


def read(array: Array, node: Node) -> list[int]:
    with checks.claimed(array.buffer):
        checks.wait(array.buffer, Access.READ)
        return contents.interior_codes(array, node)


def set_values(context: Context, node: Node, values: Iterable[float]) -> Context:
    """The values in the node's buffer, in C order of the unpadded shape.

    Refuses arrays/values-count, dtypes/value-type, dtypes/value-range.
    """
    check_writable(context, node, "set_values")
    most = None if hasattr(type(values), "__len__") else node.size + 1
    given = entries("values", values, "a sequence of values", most)
    if len(given) != node.size:
        raise refuse("arrays/values-count", values=len(given), shape=node.shape)
    codes = [numbers.code_of_value(node.dtype, value) for value in given]
    return uploaded(context, node, lambda: codes, "set_values")


def set_value(context: Context, node: Node, index: Sequence[int], value: float) -> Context:
    """One element in the node's buffer: a write from outside of all of it (C11).

    Refuses arrays/index-rank, arrays/index-range, dtypes/value-*, transfers/absent, transfers/unwritten-value.
    """
    check_writable(context, node, "set_value")
    entry = integer_node_index(node, index)
    code = numbers.code_of_value(node.dtype, value)
    check_released(context, "set_value")
    location = context.buffers.get(node)
    if location is None:
        raise refuse("transfers/absent", operation="set_value", node=node.label, backend=context.device.backend)
    if not (context.ledger.vouches(location) or node.zero_valid):
        raise refuse("transfers/unwritten-value", node=node.label)
    padded = tuple(i + left for i, (left, _) in zip(entry, node.padding, strict=True))
    _overwrite(location, lambda: elements.store_code(location.array, padded, code), "set_value")
    return written(context, location)


def uploaded(
    context: Context, node: Node, codes: Callable[[], Sequence[int]], operation: str, vouched: bool = True
) -> Context:
    """The value behind an upload of the unpadded elements: into the buffer there is, or a fresh pool of its own.

    Refuses memory/dead, exclusive, read-only, lost, exhausted; a fresh pool is freed whatever fails (context:132).
    """
    check_released(context, operation)  # what was read of the caller's may have released it
    location = context.buffers.get(node)
    if location is not None:
        array = location.array
        _overwrite(location, lambda: contents.store_interior(array, node, codes()), operation)
        return written(context, location, vouched)
    pool = pools.allocate(context.device, ((node, 0),))
    try:
        census.passed("transfer-pool-allocated")
        array = pool.locations[node].array
        _overwrite(pool.locations[node], lambda: contents.store_interior(array, node, codes()), operation)
    except BaseException:
        pool.free()
        raise
    return allocated(context, pool.locations[node], vouched)


def _overwrite(location: Location, work: Callable[[], None], operation: str) -> None:
    """Store in a buffer, past the seams of an upload."""
    checks.check_access(operation, location.buffer, Access.READ_WRITE)
    checks.check_unlost(location.buffer, Access.READ_WRITE)
    census.passed("from-host-before-copy")
    with checks.claimed(location.buffer):
        checks.wait(location.buffer, Access.READ_WRITE)
        work()
    census.passed("from-host-before-await")


def allocated(context: Context, location: Location, vouched: bool) -> Context:
    """The value that binds a freshly allocated node: the tip's unit extended, or a fork (C16)."""
    unit, count = extended(context, location.pool)
    buffers = MappingProxyType({**context.buffers, location.node: location})
    return written(replace(context, unit=unit, count=count, buffers=buffers), location, vouched)


def written(context: Context, location: Location, vouched: bool = True) -> Context:
    """The books of a write from outside: the records, and a value that waits for no earlier writer or reader."""
    context.ledger.written_from_outside(location, vouched)
    return superseded(context, location.node, vouched)





def superseded(context: Context, node: Node, vouched: bool = True) -> Context:
    """The value in which the node is marked initialized (where somebody wrote it) and left out of the frontier."""
    marked = context.initialized | {node} if vouched else context.initialized - {node}
    return replace(context, initialized=marked, frontier=context.frontier.written_from_outside(node))
