"""Host reads that recompute what they return: values within the reference's room count as its own (N5)."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import Any, Final

from counterfoil_oracles.actions.programs import node_of, nodes_of
from counterfoil_oracles.driver import Driver
from counterfoil_spec.commands import Command, Outcome, Returned, decode_number
from counterfoil_spec.dtypes import Dtype

READS: Final = frozenset({"to_host", "to_host_all", "get_values", "get_value", "points_1d", "points_2d"})
"""Commands that return values, and store nothing."""

_FORMATS: Final = {"float32": "<f", "float64": "<d", "int32": "<i", "int64": "<q"}


def settled_read(
    records: list[Any], reference: Driver, command: Command, expected: Outcome, actual: Outcome
) -> Outcome:
    """The subject's outcome, or the reference's where every value that differs lies within its room."""
    if not (isinstance(expected, Returned) and isinstance(actual, Returned)):
        return actual
    env, args = reference.environment, command.args
    if command.do == "to_host_all":
        nodes = list(dict.fromkeys(nodes_of(env, args["nodes"])))
        rooms = _rooms_of_all(nodes, records, reference, command)
        pairs = [(node, rooms.get(node)) for node in nodes_of(env, args["nodes"])]
        values = list(zip(pairs, expected.value, actual.value, strict=True))
    else:
        node = node_of(env, args["node"])
        values = [((node, records[-1]), _flat(expected.value), _flat(actual.value))]
    for (node, record), ours, theirs in values:
        if record is None:
            if ours != theirs:
                return actual
        elif not _near(record, node.dtype, _indices(command, node), ours, theirs):
            return actual
    return expected


def _rooms_of_all(nodes: list[Any], records: list[Any], reference: Driver, command: Command) -> dict[Any, Any]:
    """The records by node: those recomputed, in the order of the nodes asked for."""
    context = reference.names[command.args["context"]["ref"]]
    recomputed = sorted(
        (node for node in nodes if context.observability(node).value == "recomputable"), key=lambda node: node.uid
    )
    return dict(zip(recomputed, records, strict=True)) if len(recomputed) == len(records) else {}


def _near(record: Any, dtype: Dtype, indices: Sequence[Sequence[int]], ours: list[Any], theirs: list[Any]) -> bool:
    if len(indices) != len(ours) or len(ours) != len(theirs):
        return False
    shape = record.dst.layout.shape
    room = dict(zip(itertools.product(*map(range, shape)), record.accepts, strict=True))
    for index, one, other in zip(indices, ours, theirs, strict=True):
        accept = room[tuple(index)]
        if one != other and (accept is None or not accept.accepts(dtype, _code(dtype, decode_number(other)))):
            return False
    return True


def _code(dtype: Dtype, value: Any) -> int:
    return int.from_bytes(struct.pack(_FORMATS[dtype.name], value), "little")


def _indices(command: Command, node: Any) -> list[tuple[int, ...]]:
    """The padded indices of the values that a read returns, in its order."""
    every = list(itertools.product(*map(range, node.shape)))
    match command.do:
        case "to_host" | "to_host_all":
            return list(itertools.product(*map(range, node.dims)))
        case "get_value":
            every = [tuple(command.args["index"])]
        case "points_1d" if node.rank == 2:
            every = [index for index in every if index[1] == command.args.get("column", 0)]
        case "points_2d":
            x, y = command.args.get("x", 0), command.args.get("y", 1)
            every = [index for row in range(node.shape[0]) for index in ((row, x), (row, y))]
    lefts = [left for left, _ in node.padding]
    return [tuple(entry + left for entry, left in zip(index, lefts, strict=True)) for index in every]


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [entry for part in value for entry in (part if isinstance(part, list) else [part])]
