"""The order of the fragments that a tensor's code is put together from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from counterfoil_spec.programs.assignments import Accumulate, Code, Read, Row, leaves
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.tensor import Tensor


def forward_order(label: str, operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands so that a root's fragment that defines a node precedes one that reads it without embedding it.

    Others keep their places. Refuses frontend/fragment-cycle.
    """
    roots = [operand for operand in operands if operand.is_forward_root]
    if len(roots) < 2:
        return list(operands)
    defined = {root.id: written(root.forward.code) for root in roots}
    needed = {root.id: read(root.forward.code) - set(root.forward.embedded) for root in roots}
    ordered = iter(_ordered(label, roots, lambda first, then: bool(defined[first.id] & needed[then.id])))
    return [next(ordered) if operand.is_forward_root else operand for operand in operands]


def backprop_order(label: str, fragments: Sequence[Tensor]) -> list[Tensor]:
    """Backprop roots so that one that adds into a gradient precedes the one that propagates from it.

    Refuses frontend/fragment-cycle.
    """
    if len(fragments) < 2:
        return list(fragments)
    into: dict[int, set[Node]] = {}
    out_of: dict[int, set[Node]] = {}
    for tensor in fragments:
        assert tensor.diff is not None
        backprop = tensor.diff.backprop
        into[tensor.id] = set(backprop.accumulates) - set(backprop.embedded)
        out_of[tensor.id] = {fragment.gradient for fragment in backprop.owned if fragment.gradient is not None}
    return _ordered(label, fragments, lambda first, then: bool(into[first.id] & out_of[then.id]))


def written(code: Code) -> set[Node]:
    """The nodes it defines or adds into."""
    return {leaf.target for leaf in leaves(code)}


def read(code: Code) -> set[Node]:
    """The nodes that its operands read, slice views and their parents both."""
    found: set[Node] = set()
    for leaf in leaves(code):
        if isinstance(leaf, Accumulate):
            found.update(operand.node for operand in leaf.operands if isinstance(operand, Read))
        elif isinstance(leaf.definition, Row):
            found.add(leaf.definition.parent)
    return found | {node.slice_of[0] for node in found if node.slice_of is not None}


def _ordered(label: str, tensors: Sequence[Tensor], before: Callable[[Tensor, Tensor], bool]) -> list[Tensor]:
    """A stable topological order: the first whose predecessors are all placed comes next."""
    left = list(tensors)
    placed: list[Tensor] = []
    while left:
        ready = next((one for one in left if not any(before(other, one) for other in left if other is not one)), None)
        if ready is None:
            raise _cycle(label, left, before)
        left.remove(ready)
        placed.append(ready)
    return placed


def _cycle(label: str, left: Sequence[Tensor], before: Callable[[Tensor, Tensor], bool]) -> Exception:
    """Every one left has a predecessor left: walking back finds the cycle."""
    path = [left[0]]
    while path.count(path[-1]) == 1:
        path.append(next(other for other in left if other is not path[-1] and before(other, path[-1])))
    cycle = path[path.index(path[-1]) : -1]
    first, *others = sorted(cycle, key=lambda tensor: tensor.id)
    return refuse("frontend/fragment-cycle", operation=label, tensor=first.label, others=[t.label for t in others])
