"""Running emitted code on plain buffers, as a dispatch does."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from counterfoil.compile import Kernel, Plan
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol

ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Services(ctypes.Structure):
    """cf_services: any of them may be null."""

    _fields_ = [("sgemm", ctypes.c_void_p), ("dgemm", ctypes.c_void_p), ("parallel_for", ctypes.c_void_p)]


def buffer(node: Node, values: Sequence[float] | None = None) -> np.ndarray:
    """The buffer of a node in its padded dims: the values (of the padded dims in C order), or zeros in its margins."""
    found = np.full(node.dims, node.margin, node.dtype.name)
    if values is not None:
        found[...] = np.array(values, node.dtype.name).reshape(node.dims)
    else:
        unpadded(node, found)[...] = 0
    return found


def unpadded(node: Node, array: np.ndarray) -> np.ndarray:
    """The part of a node's buffer inside its margins."""
    inside = [slice(left, left + extent) for (left, _), extent in zip(node.padding, node.shape, strict=True)]
    return array[(*inside, ...)]


def run(
    kernel: Kernel,
    plan: Plan,
    buffers: Mapping[Node, np.ndarray],
    bindings: Mapping[Symbol, int] | None = None,
    merged: np.ndarray | None = None,
    services: Services | None = None,
) -> None:
    """One call of a kernel over the buffers of its plan's arguments."""
    addresses = (ctypes.c_void_p * len(plan.arguments))(*(buffers[node].ctypes.data for node in plan.arguments))
    bound = (ctypes.c_int64 * len(plan.symbols))(*((bindings or {})[symbol] for symbol in plan.symbols))
    merge = None if merged is None else merged.ctypes.data
    table = Services() if services is None else services
    ENTRY(kernel.entry)(ctypes.addressof(addresses), ctypes.addressof(bound), merge, ctypes.addressof(table))
