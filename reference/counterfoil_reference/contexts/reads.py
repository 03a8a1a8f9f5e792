"""From a node to the host (context:121 to context:144; docs/contexts.md, §6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from counterfoil_reference import checks, elements, numbers
from counterfoil_reference.arrays import Array, host_array
from counterfoil_reference.contexts import census, contents, recomputing
from counterfoil_reference.contexts.frontend import check_kept
from counterfoil_reference.contexts.observing import Finding, classify, refusal
from counterfoil_reference.contexts.units import check_released
from counterfoil_reference.contexts.uploads import check_no_view
from counterfoil_spec.arguments import integer
from counterfoil_spec.interface import Access
from counterfoil_spec.programs.nodes import Node, integer_node_index
from counterfoil_spec.programs.placements import Observability
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context


def check_readable(context: Context, node: Node, operation: str) -> Finding:
    """What a read refuses before it moves a byte, in order: released, discarded, poisoned, slice view, unobservable."""
    check_released(context, operation)
    check_kept(operation, node)
    context.ledger.check_poison(operation)
    return check_observable(context, node, operation)


def check_observable(context: Context, node: Node, operation: str) -> Finding:
    """Refuse transfers/slice-view and observability/*."""
    check_no_view(node, operation)
    finding = classify(context, node)
    refused = refusal(node, finding)
    if refused is not None:
        raise refused
    return finding


def to_host(context: Context, node: Node, operation: str = "to_host") -> Array:
    """A fresh host array of the node's padded extents: stored bytes, the literal, or a recompute."""
    finding = check_readable(context, node, operation)
    if finding.kind is Observability.RECOMPUTABLE:
        return recomputing.recomputed(context, [node])[node]
    return _served(context, node, finding, operation)


def _served(context: Context, node: Node, finding: Finding, operation: str) -> Array:
    return _stored(context, node, operation) if finding.kind is Observability.STORED else literal_array(node)


def to_host_all(context: Context, nodes: Sequence[Node]) -> list[Array]:
    """to_host of each node, all virtual ones recomputed by one routine; every node is classified first (context:130).

    A node listed twice is one array.
    """
    findings = {node: check_readable(context, node, "to_host_all") for node in nodes}
    virtual = [node for node, finding in findings.items() if finding.kind is Observability.RECOMPUTABLE]
    arrays = recomputing.recomputed(context, virtual) if virtual else {}
    for node, finding in findings.items():
        if node not in arrays:
            arrays[node] = _served(context, node, finding, "to_host_all")
    return [arrays[node] for node in nodes]


def _stored(context: Context, node: Node, operation: str) -> Array:
    """A copy of the buffer; refuses memory/dead, exclusive, lost, exhausted."""
    return copied(context.buffers[node].array, operation)


def copied(source: Array, operation: str) -> Array:
    """A fresh host array with the source's bits, past the seam of a read."""
    checks.check_access(operation, source.buffer, Access.READ)
    checks.check_unlost(source.buffer, Access.READ)
    array = host_array(source.dtype, source.shape)
    census.passed("to-host-before-copy")
    with checks.claimed(source.buffer):
        checks.wait(source.buffer, Access.READ)
        array.buffer.memory.write(0, source.buffer.memory.read(source.buffer.first, source.buffer.nbytes))
    return array


def literal_array(node: Node) -> Array:
    """A fresh host array of the node's literal, its margins included."""
    array = host_array(node.dtype, node.dims)
    contents.fill_margins(array, node)
    contents.store_literal(array, node)
    return array


def array(context: Context, node: Node) -> Array:
    """The array over the node's buffer in place; refuses as to_host, then transfers/absent."""
    if check_readable(context, node, "array").kind is not Observability.STORED:
        raise refuse("transfers/absent", operation="array", node=node.label, backend=context.device.backend)
    return context.buffers[node].array


def get_values(context: Context, node: Node, operation: str = "get_values") -> list[Any]:
    """The unpadded elements in C order."""
    found = to_host(context, node, operation)
    return [numbers.value_of_code(node.dtype, code) for code in contents.interior_codes(found, node)]


def get_value(context: Context, node: Node, index: Sequence[int]) -> Any:
    """One element; refuses arrays/index-rank, arrays/index-range."""
    check_readable(context, node, "get_value")
    entry = integer_node_index(node, index)
    found = to_host(context, node, "get_value")
    padded = tuple(i + left for i, (left, _) in zip(entry, node.padding, strict=True))
    return numbers.value_of_code(node.dtype, elements.load_code(found, padded))


def points_1d(context: Context, node: Node, column: int) -> list[Any]:
    """All elements of a node of rank 1, that column of one of rank 2; refuses arrays/index-rank, arrays/index-range."""
    column = integer("column", column)
    check_readable(context, node, "points_1d")
    if node.rank == 1:
        return get_values(context, node, "points_1d")
    _check_columns(node, [column])
    return _column(node, get_values(context, node, "points_1d"), column)


def points_2d(context: Context, node: Node, x: int, y: int) -> list[tuple[Any, Any]]:
    """Pairs of two columns of a node of rank 2; refuses arrays/index-rank, arrays/index-range."""
    x, y = integer("x", x), integer("y", y)
    check_readable(context, node, "points_2d")
    _check_columns(node, [x, y])
    values = get_values(context, node, "points_2d")
    return list(zip(_column(node, values, x), _column(node, values, y), strict=True))


def _check_columns(node: Node, columns: list[int]) -> None:
    if node.rank != 2:
        raise refuse("arrays/index-rank", index=columns, rank=node.rank)
    if not all(0 <= column < node.shape[1] for column in columns):
        raise refuse("arrays/index-range", index=columns, shape=node.shape)


def _column(node: Node, values: list[Any], column: int) -> list[Any]:
    return values[column :: node.shape[1]]
