"""Recompute at read: a throwaway routine copies virtual nodes into fresh ones (context:125, context:130)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterfoil.arrays import Array
from counterfoil.contexts import compiling, reads, releasing, running
from counterfoil_spec.programs.assignments import Accumulate, Read, in_sequence
from counterfoil_spec.programs.comps import comp
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.specs import pointwise

if TYPE_CHECKING:
    from counterfoil.contexts.roots import Root
    from counterfoil.contexts.surface import Context
    from counterfoil.contexts.units import Unit

NAME = "recompute"
"""The throwaway routine's name, as its refusals show it."""


def recomputed(value: Context, nodes: Sequence[Node]) -> dict[Node, Array]:
    """Each virtual node's value, its definition over its leaves as they are now, by one routine.

    The value is left as it was, and its ledger too: the routine's context is released with its records. What fails
    propagates; a release that failed is tried again by the next recompute of the root. The caller has not entered the
    root: releasing constants may enter others.
    """
    root = value._root
    for left in list(root.leftovers):
        _release(root, left)
    fresh = {node: _copy_of(node) for node in nodes}
    code = in_sequence(*(_copying(node, copy) for node, copy in fresh.items()))
    asked = compiling.Request(comp(code, fresh.values()), (), NAME, None, None, None)
    child, routine = compiling.compiled(value, asked)
    try:
        running.run(child, routine, False)
        return {node: reads.copied(child.buffers[copy], "to_host") for node, copy in fresh.items()}
    finally:
        _release(root, child._unit)


def _release(root: Root, unit: Unit) -> None:
    """Release a throwaway context; one that fails is left over, for the next recompute, of whichever thread."""
    try:
        releasing.release(root, unit)
    except BaseException:
        with root.entered():
            if unit not in root.leftovers:
                root.leftovers.append(unit)
        raise
    with root.entered():
        if unit in root.leftovers:
            root.leftovers.remove(unit)


def _copy_of(node: Node) -> Node:
    """A fresh materialized node like it."""
    copy = Node(node.label, node.shape, node.dtype, padding=node.padding, margin=node.margin)
    copy.require(Intent.ON_DEVICE)
    return copy


def _copying(node: Node, copy: Node) -> Accumulate:
    return Accumulate(copy, "arg2", "identity", (Read(node),), pointwise(copy, [node]))
