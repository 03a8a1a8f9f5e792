"""Kernels of more parameters than a launch takes."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from tests.compile.running import buffer
from tests.compile_cuda.computing import bound, planned, small
from tests.compile_cuda.hosting import run
from tests.programs.building import copy

from counterfoil.compile.cuda import CudaProgram, generate
from counterfoil.compile.cuda.program import MOST_PARAMETERS
from counterfoil.compile.decisions import Plan
from counterfoil_spec.programs.assignments import Accumulate, Read
from counterfoil_spec.programs.loops import Apply, Load, Loop, Lowered, Scalar, Store
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Projections, at
from counterfoil_spec.programs.symbols import Iterator, Symbol


def summing(count: int) -> tuple[CudaProgram, Plan, Node, list[Node]]:
    """One kernel of a transform that adds up so many nodes, element by element."""
    y, terms = bound("y", (5,)), [bound(f"x{place}", (5,)) for place in range(count)]
    plan = planned(*(copy(y, x) for x in terms))
    i = Iterator("i")
    loads: list[Scalar] = [Load(x, (at(i),)) for x in terms]
    total = reduce(lambda left, right: Apply("add", (left, right)), loads)
    return generate([Lowered((Loop(i, 5, (Store(y, (at(i),), total),)),))], plan), plan, y, terms


@pytest.mark.parametrize("count", [MOST_PARAMETERS - 1, MOST_PARAMETERS, 3 * MOST_PARAMETERS])
def test_no_launch_has_more_parameters_than_any_driver_takes(count: int) -> None:
    """What is more lies in a table, and the values are those of one kernel with all of them."""
    program, plan, y, terms = summing(count)
    assert max(len(launch.parameters) for launch in program.launches) <= MOST_PARAMETERS
    assert (len(program.launches) > 1) is (count + 1 > MOST_PARAMETERS)
    buffers = {node: buffer(node) for node in plan.arguments}
    for place, node in enumerate(terms):
        buffers[node][...] = small((5,), place)
    want = sum(small((5,), place) for place in range(count))
    run(program, plan, buffers)
    assert np.array_equal(buffers[y], want)


def test_bindings_lie_in_a_table_too() -> None:
    """They are those of the run."""
    count = MOST_PARAMETERS
    y, terms = bound("y", (8,)), [bound(f"x{place}", (8,)) for place in range(count)]
    rows, i = Symbol("rows", 8, extent=True), Iterator("i")
    some = Accumulate(y, "arg2", "identity", (Read(terms[0]),), Projections(((i, rows),), (at(i),), ((at(i),),)), False)
    plan = planned(*(copy(y, each) for each in terms), some)
    loads: list[Scalar] = [Load(each, (at(i),)) for each in terms]
    total = reduce(lambda left, right: Apply("add", (left, right)), loads)
    program = generate([Lowered((Loop(i, rows, (Store(y, (at(i),), total),)),))], plan)
    buffers = {node: buffer(node) for node in plan.arguments}
    for node in terms:
        buffers[node][...] = 1
    buffers[y][...] = -1
    run(program, plan, buffers, {rows: 3})
    assert buffers[y].tolist() == [count] * 3 + [-1] * 5
