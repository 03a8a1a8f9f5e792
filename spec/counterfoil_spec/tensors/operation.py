"""How an operation's code is put together from its operands': who embeds what, zeroes what, propagates what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.programs.assignments import NOTHING, Code, Constant, Fetch
from counterfoil_spec.programs.comps import Comp, Fragment, comp, sequence
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.tensors.ordering import backprop_order, forward_order, written
from counterfoil_spec.tensors.session import Session, current_session
from counterfoil_spec.tensors.tensor import (
    CodeState,
    Diff,
    GradSpec,
    Tensor,
    set_backprop_state,
    set_forward_state,
    usable,
)


@dataclass(frozen=True, slots=True)
class Written:
    """An operation's own code, and the nodes it embeds beside the operation's own."""

    code: Code = NOTHING
    embedded: tuple[Node, ...] = ()


Gradients = Callable[[Node], Written]
"""Given the gradient of an operation, its own additions into the gradients of its operands."""


def no_gradients(grad: Node) -> Written:
    """Of a leaf, or of an operation that nothing flows through."""
    return Written()


@dataclass(frozen=True, slots=True)
class Draft:
    """A value node still without code: its session, display id and node."""

    session: Session
    id: int
    value: Node


def draft(
    name: str,
    shape: Sequence[int],
    dtype: Dtype,
    label: str | None = None,
    *,
    literal: Sequence[float] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    margin: float = 0.0,
) -> Draft:
    """A value node labelled ``label``, or by the operation's name and its display id. Refuses what Node refuses."""
    session = current_session()
    id = session.next_id()
    text = f"{name}{id}" if label is None else label
    return Draft(session, id, session.node(text, shape, dtype, literal=literal, padding=padding, margin=margin))


def operation(
    name: str,
    made: Draft,
    operands: Sequence[Tensor],
    own: Written,
    gradients: Gradients = no_gradients,
    spec: GradSpec = GradSpec.IF_NEEDED,
    *,
    owns: bool = True,
) -> Tensor:
    """The tensor of a value node; its operands' code is consumed where they are roots.

    ``owns``: whether its own forward code is a fragment of a computation (a literal's is not).
    Refuses frontend/discarded-tensor and frontend/fragment-cycle before anything is consumed.
    """
    usable(name, *operands)
    distinct = sorted({operand.value.uid: operand for operand in operands}.values(), key=lambda each: each.value.uid)
    ordered = forward_order(name, distinct)
    spliced = _backprop_fragments(name, ordered)
    forward = _forward(made, ordered, own, owns)
    diff = _diff(made, ordered, spliced, gradients) if _has_gradient(made.value, distinct, spec) else None
    for operand in distinct:
        if operand.is_forward_root:
            set_forward_state(operand, CodeState.EMBEDDED)
        if diff is not None and operand.is_backprop_root:
            set_backprop_state(operand, CodeState.EMBEDDED)
    return Tensor(made.session, made.id, made.value, tuple(operands), forward, diff)


def zeroing(gradient: Node) -> Fetch:
    """The assignment that resets a gradient."""
    return Fetch(gradient, Constant(0.0))


def gradient_of(value: Node, session: Session) -> Node:
    """A gradient's node: of the value's shape, over the margins too where it has any, and valid at zero."""
    grad = session.node(f"{value.label}.grad", value.dims, value.dtype)
    grad.mark_zero_valid()
    return grad


def leaf_diff(made: Draft) -> Diff:
    """The diff of a leaf: nothing propagates from its gradient, which its first consumer zeroes."""
    grad = gradient_of(made.value, made.session)
    fragment = Fragment(made.value.uid, "backprop", made.value.label, grad, empty=True)
    return Diff(grad, comp(zeroing(grad), [grad], zeroes=[grad]), comp(embedded=[grad]), fragment)


def _has_gradient(value: Node, operands: Sequence[Tensor], spec: GradSpec) -> bool:
    if spec is GradSpec.PROHIBIT_GRAD or value.dtype.kind is not Kind.FLOAT:
        return False
    return spec is GradSpec.REQUIRE_GRAD or any(operand.diff is not None for operand in operands)


def _forward(made: Draft, operands: Sequence[Tensor], own: Written, owns: bool) -> Comp:
    fragments = [Fragment(made.value.uid, "forward", made.value.label)] if owns else []
    last = comp(own.code, [made.value, *own.embedded], fragments)
    return sequence(*(operand.forward for operand in operands if operand.is_forward_root), last)


def _diff(made: Draft, operands: Sequence[Tensor], spliced: Sequence[Tensor], gradients: Gradients) -> Diff:
    """The zeroing and the backprop of an operation: it zeroes and propagates what no earlier consumer does."""
    grad = gradient_of(made.value, made.session)
    roots = [operand.diff for operand in operands if operand.is_backprop_root and operand.diff is not None]
    zero_grads = sequence(*(root.zero_grads for root in roots), comp(zeroing(grad), [grad], zeroes=[grad]))
    own = gradients(grad)
    reached = written(own.code)
    flows = [each.diff for each in operands if each.diff is not None and each.diff.grad in reached]
    fragment = Fragment(made.value.uid, "backprop", made.value.label, grad, empty=not flows)
    terminal = [flow.grad for flow in flows if flow.fragment.empty]  # whoever adds into it may allocate it
    contribution = comp(
        own.code,
        [grad, *own.embedded, *(root.grad for root in roots), *terminal],
        [fragment] if flows else [],
        accumulates=[diff.grad for diff in flows],
        requires=[diff.fragment for diff in flows],
    )
    further = [operand.diff.backprop for operand in spliced if operand.diff is not None]
    return Diff(grad, zero_grads, sequence(contribution, *further), fragment)


def _backprop_fragments(name: str, operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands whose backprop is spliced after the operation's own additions, last first where order is free."""
    fragments = [operand for operand in reversed(operands) if operand.is_backprop_root and not operand.is_param]
    return backprop_order(name, fragments)
