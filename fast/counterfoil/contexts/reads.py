"""From a node to the host (context:121-144; docs/contexts.md, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.contexts import census, moving, pools, recomputing
from counterfoil.contexts.frontend import check_kept
from counterfoil.contexts.observing import Finding, classify, refusal
from counterfoil.contexts.pools import Location
from counterfoil.contexts.units import check_released
from counterfoil.contexts.uploads import check_no_view
from counterfoil.creation import host_array
from counterfoil_spec.arguments import integer
from counterfoil_spec.programs.nodes import Node, integer_node_index
from counterfoil_spec.programs.placements import Observability
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context


def check_readable(value: Context, node: Node, operation: str) -> Finding:
    """What a read refuses before it moves a byte, in order: released, discarded, poisoned, slice view, unobservable."""
    check_released(value, operation)
    check_kept(operation, node)
    value._root.check_poison(operation)
    check_no_view(node, operation)
    finding = classify(value, node)
    refused = refusal(node, finding)
    if refused is not None:
        raise refused
    return finding


def to_host(value: Context, node: Node, operation: str = "to_host") -> Array:
    """A fresh host array of the node's padded extents: stored bytes, the literal, or a recompute."""
    with value._root.entered():
        finding = check_readable(value, node, operation)
        if finding.kind is not Observability.RECOMPUTABLE:
            return _served(value, node, finding, operation)
    return recomputing.recomputed(value, [node])[node]


def to_host_all(value: Context, nodes: Sequence[Node]) -> list[Array]:
    """to_host of each node, all virtual ones recomputed by one routine; every node is classified first (context:130).

    A node listed twice is one array.
    """
    with value._root.entered():
        findings = {node: check_readable(value, node, "to_host_all") for node in nodes}
    virtual = [node for node, finding in findings.items() if finding.kind is Observability.RECOMPUTABLE]
    arrays = recomputing.recomputed(value, virtual) if virtual else {}
    with value._root.entered():
        for node, finding in findings.items():
            if node not in arrays:
                arrays[node] = _served(value, node, finding, "to_host_all")
        return [arrays[node] for node in nodes]


def _served(value: Context, node: Node, finding: Finding, operation: str) -> Array:
    if finding.kind is Observability.STORED:
        return copied(value.buffers[node], operation)
    return literal_array(node)


def copied(location: Location, operation: str) -> Array:
    """A fresh host array with a buffer's bits, past the seam of a read; refuses memory/*."""
    buffer, node = location.pool.buffer, location.node
    buffer.claimed(operation)
    try:
        buffer.require_found(False)
        array = host_array(node.dtype, node.dims)
        census.passed("to-host-before-copy")
        moving.load(location, array)
    finally:
        lib.cf_release(buffer._c)
    return array


def literal_array(node: Node) -> Array:
    """A fresh host array of the node's literal, its margins included."""
    array = host_array(node.dtype, node.dims)
    if node.nbytes:
        elements = moving.elements_of(node, array.buffer)
        if node.is_padded:
            elements.fill(moving.margin_value(node))
        if node.size:
            moving.unpadded(node, elements)[...] = pools.stored_literal(node)
    return array


def array_in_place(value: Context, node: Node) -> Array:
    """The array over the node's buffer; refuses as to_host, then transfers/absent."""
    if check_readable(value, node, "array").kind is not Observability.STORED:
        raise refuse("transfers/absent", operation="array", node=node.label, backend=value.device.backend)
    return value.buffers[node].array


def get_values(value: Context, node: Node, operation: str = "get_values") -> list[Any]:
    """The unpadded elements in C order."""
    return _unpadded(to_host(value, node, operation), node).ravel().tolist()


def get_value(value: Context, node: Node, index: Sequence[int]) -> Any:
    """One element; refuses arrays/index-rank, arrays/index-range."""
    check_readable(value, node, "get_value")
    entry = integer_node_index(node, index)
    return _unpadded(to_host(value, node, "get_value"), node)[entry].item()


def points_1d(value: Context, node: Node, column: int) -> list[Any]:
    """All elements of a node of rank 1, that column of one of rank 2; refuses arrays/index-rank, arrays/index-range."""
    column = integer("column", column)
    check_readable(value, node, "points_1d")
    if node.rank == 1:
        return get_values(value, node, "points_1d")
    _check_columns(node, [column])
    found = _unpadded(to_host(value, node, "points_1d"), node)
    return list(found[:, column].tolist())


def points_2d(value: Context, node: Node, x: int, y: int) -> list[tuple[Any, Any]]:
    """Pairs of two columns of a node of rank 2; refuses arrays/index-rank, arrays/index-range."""
    x, y = integer("x", x), integer("y", y)
    check_readable(value, node, "points_2d")
    _check_columns(node, [x, y])
    found = _unpadded(to_host(value, node, "points_2d"), node)
    return list(zip(found[:, x].tolist(), found[:, y].tolist(), strict=True))


def _check_columns(node: Node, columns: list[int]) -> None:
    if node.rank != 2:
        raise refuse("arrays/index-rank", index=columns, rank=node.rank)
    if not all(0 <= column < node.shape[1] for column in columns):
        raise refuse("arrays/index-range", index=columns, shape=node.shape)


def _unpadded(array: Array, node: Node) -> np.ndarray[Any, Any]:
    return moving.unpadded(node, moving.elements_of(node, array.buffer))
