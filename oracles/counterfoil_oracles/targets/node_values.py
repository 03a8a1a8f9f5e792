"""What reads of contexts return, as the protocol writes elements: bits of the node's dtype."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

from counterfoil_oracles.actions.programs import node_of, nodes_of
from counterfoil_oracles.environment import Environment
from counterfoil_oracles.reads import READS as READS
from counterfoil_oracles.targets.inprocess import elements
from counterfoil_spec.commands import Command, decode_number
from counterfoil_spec.dtypes import Dtype

_FORMATS: Final = {"float32": "<f", "float64": "<d", "int32": "<i", "int64": "<q"}
"""The dtypes that nodes have."""


def shown(env: Environment, command: Command, value: Any) -> Any:
    """The value of one of ``READS``: elements for a list or a single one, a list of those where there are several."""
    if command.do == "to_host_all":
        nodes = nodes_of(env, command.args["nodes"])
        return [_elements(node.dtype, values) for node, values in zip(nodes, value, strict=True)]
    dtype = node_of(env, command.args["node"]).dtype
    if command.do == "points_2d":
        return [_elements(dtype, point) for point in value]
    if command.do == "get_value":
        [text] = _elements(dtype, [value])["bits"]
        return {"dtype": dtype.name, "bits": text}
    return _elements(dtype, value)


def _elements(dtype: Dtype, values: Iterable[Any]) -> dict[str, Any]:
    return elements(dtype, [_code(dtype, decode_number(value)) for value in values])


def _code(dtype: Dtype, value: Any) -> int:
    return int.from_bytes(struct.pack(_FORMATS[dtype.name], value), "little")
