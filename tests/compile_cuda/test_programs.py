"""Emitted kernels compute what the reference says, fused and shared out as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from tests.compile.running import buffer
from tests.compile.test_emission import assert_accepted
from tests.compile_cuda.hosting import run
from tests.compile_cuda.races import races
from tests.programs.building import Buffers, Drawn, padded, programs

import counterfoil.compile as fast
import counterfoil_reference.programs as reference
from counterfoil.compile.cuda import generate
from counterfoil_reference.intervals import watching
from counterfoil_spec.programs.assignments import Sequence
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import Refusal


def assert_same_values(drawn: Drawn) -> None:
    """Each routine of a lineage on equal buffers; the reference goes on with the emitted code's values (N5).

    No thread of a kernel touches what another one writes.
    """
    values = {node: padded(node, drawn.given[node]) for node in drawn.nodes}
    ours, theirs = replace(fast.NOTHING_DECIDED, inline=drawn.decisions.inline), drawn.decisions
    for routine in drawn.routines:
        code = Sequence(tuple(routine))
        try:
            mine, other = fast.plan(code, ours, "r"), reference.plan(code, theirs, "r")
        except Refusal:
            return
        assert_one(drawn, mine, other, values)
        ours, theirs = mine.decisions, other.decisions


def assert_one(drawn: Drawn, mine: fast.Plan, other: reference.Plan, values: dict[Node, list[float]]) -> None:
    store = Buffers(other.arguments, drawn.merged, {node: values[node] for node in other.arguments})
    with watching() as records:
        reference.execute(other, store, drawn.bindings)
    buffers = {node: buffer(node, values[node]) for node in mine.arguments}
    merged = None if mine.merge is None else np.array(drawn.merged, mine.merge.dtype.name)
    assert races([mine.lowered], drawn.bindings) == []
    run(generate([mine.lowered], mine), mine, buffers, drawn.bindings, merged)
    accepts = {record.dst: record.accepts for record in records}
    for node in mine.arguments:
        assert_accepted(node, buffers[node], store.values[node], accepts.get(node))
        values[node] = buffers[node].reshape(-1).tolist()


@settings(max_examples=25, deadline=None)
@given(programs(routines=2, merges=True))
def test_random_programs(drawn: Drawn) -> None:
    """Functions, odd numbers, padding, symbols, merge buffers: bits the reference accepts."""
    assert_same_values(drawn)


@settings(max_examples=25, deadline=None)
@given(programs(routines=2, loose=False))
def test_small_integers_bit_for_bit(drawn: Drawn) -> None:
    """Small integers leave no room: the very bits."""
    assert_same_values(drawn)
