"""Running emitted code on plain buffers, as a dispatch does."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from counterfoil._native import ffi
from counterfoil.compile import Kernel, Plan
from counterfoil.contexts import backends
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol

ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Services(ctypes.Structure):
    """cf_services: the last three may be null."""

    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("product_f32", "product_f64", "pack_f32", "pack_f64", "sgemm", "dgemm", "parallel_for")
    ]


def services(parallel_for: ctypes.c_void_p | None = None) -> Services:
    """The core's products for this CPU; no BLAS."""
    table = backends.SERVICES
    found = (table.product_f32, table.product_f64, table.pack_f32, table.pack_f64)
    return Services(*(int(ffi.cast("uintptr_t", each)) for each in found), None, None, parallel_for)


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
    table: Services | None = None,
) -> None:
    """One call of a kernel over the buffers of its plan's arguments."""
    addresses = (ctypes.c_void_p * len(plan.arguments))(*(buffers[node].ctypes.data for node in plan.arguments))
    bound = (ctypes.c_int64 * len(plan.symbols))(*((bindings or {})[symbol] for symbol in plan.symbols))
    merge = None if merged is None else merged.ctypes.data
    table = services() if table is None else table
    ENTRY(kernel.entry)(ctypes.addressof(addresses), ctypes.addressof(bound), merge, ctypes.addressof(table))
