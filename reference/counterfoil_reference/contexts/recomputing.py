"""Recompute at read: a throwaway routine copies virtual nodes into fresh ones (context:125, context:130)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterfoil_reference.arrays import Array
from counterfoil_reference.contexts import compiling, reads, releasing, running
from counterfoil_reference.intervals import Record, watched, watching
from counterfoil_spec.programs.assignments import Accumulate, Read, in_sequence
from counterfoil_spec.programs.comps import comp
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.specs import pointwise

if TYPE_CHECKING:
    from counterfoil_reference.contexts.compiling import Routine
    from counterfoil_reference.contexts.values import Context

NAME = "recompute"
"""The throwaway routine's name, as its refusals show it."""


def recomputed(context: Context, nodes: Sequence[Node]) -> dict[Node, Array]:
    """Each virtual node's value, its definition over its leaves as they are now, by one routine.

    The value is left as it was, and its ledger too: the routine's context is released with its records. What fails
    propagates; a release that failed is tried again by the next recompute of the root.
    """
    for left in list(context.ledger.leftovers):
        releasing.release(left)
        context.ledger.leftovers.remove(left)
    fresh = {node: _copy_of(node) for node in nodes}
    code = in_sequence(*(_copying(node, copy) for node, copy in fresh.items()))
    child, routine = compiling.compiled(
        context, compiling.request(comp(code, fresh.values()), (), NAME, None, None, None)
    )
    context.ledger.leftovers.append(child.unit)
    try:
        return _run(child, routine, fresh)
    finally:
        releasing.release(child.unit)
        context.ledger.leftovers.remove(child.unit)


def _copy_of(node: Node) -> Node:
    """A fresh materialized node like it."""
    copy = Node(node.label, node.shape, node.dtype, padding=node.padding, margin=node.margin)
    copy.require(Intent.ON_DEVICE)
    return copy


def _copying(node: Node, copy: Node) -> Accumulate:
    return Accumulate(copy, "arg2", "identity", (Read(node),), pointwise(copy, [node]))


def _run(child: Context, routine: Routine, fresh: dict[Node, Node]) -> dict[Node, Array]:
    """Run it and read the copies; a watcher is told what else the arrays might have held (N5)."""
    if watched() is None:
        running.run(child, routine, timing=False)
        return {node: reads.copied(child.buffers[copy].array, "to_host") for node, copy in fresh.items()}
    with watching() as records:
        running.run(child, routine, timing=False)
        running.sync(child)
    arrays = {node: reads.copied(child.buffers[copy].array, "to_host") for node, copy in fresh.items()}
    log = watched()
    assert log is not None
    for node, copy in fresh.items():
        where = child.buffers[copy].buffer
        log += [Record(arrays[node], accepts) for dst, accepts in records if dst.buffer is where]
    return arrays
