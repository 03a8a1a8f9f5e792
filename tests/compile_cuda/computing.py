"""Assignments carried out by emitted kernels on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tests.compile.running import buffer
from tests.compile_cuda.hosting import run

import counterfoil.compile as fast
from counterfoil.compile.cuda import CudaProgram, generate
from counterfoil_spec.dtypes import Dtype, float32
from counterfoil_spec.programs.assignments import Assignment
from counterfoil_spec.programs.assignments import Sequence as Code
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.symbols import Symbol


def bound(label: str, shape: Sequence[int], dtype: Dtype = float32) -> Node:
    """A node with a buffer."""
    node = Node(label, shape, dtype)
    node.require(Intent.ON_DEVICE)
    return node


def planned(*assignments: Assignment) -> fast.Plan:
    """The plan of assignments in sequence."""
    return fast.plan(Code(assignments), fast.NOTHING_DECIDED, "r")


def emitted(*assignments: Assignment) -> CudaProgram:
    """The kernels of assignments in sequence."""
    plan = planned(*assignments)
    return generate([plan.lowered], plan)


def computed(
    assignments: Sequence[Assignment],
    given: Mapping[Node, np.ndarray],
    bindings: Mapping[Symbol, int] | None = None,
) -> tuple[dict[Node, np.ndarray], CudaProgram]:
    """The buffers after the assignments ran, and the kernels that did it."""
    plan = planned(*assignments)
    program = generate([plan.lowered], plan)
    buffers = {node: buffer(node) for node in plan.arguments}
    for node, values in given.items():
        buffers[node][...] = values
    run(program, plan, buffers, bindings)
    return buffers, program


def small(shape: Sequence[int], seed: int) -> np.ndarray:
    """Integers from -3 to 3, which products and sums of some thousands keep exact."""
    return np.random.default_rng(seed).integers(-3, 4, tuple(shape)).astype(np.float64)
