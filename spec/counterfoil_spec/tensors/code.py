"""Handing code out: the forward and the backprop of a tensor, as comps with a label to compile."""

from __future__ import annotations

from collections.abc import Iterable

from counterfoil_spec.programs.comps import Comp, sequence
from counterfoil_spec.refusals import Refusal, refuse
from counterfoil_spec.tensors.ordering import read
from counterfoil_spec.tensors.tensor import (
    CodeState,
    Tensor,
    differentiable,
    set_backprop_state,
    set_forward_state,
    usable,
)


def consume_forward_code(tensor: Tensor) -> Comp:
    """The code computing a tensor that nothing embeds, labelled ``forward <tensor>``; taken again, the same comp.

    Refuses frontend/discarded-tensor, frontend/code-taken (a parameter's, one embedded elsewhere) and
    frontend/conflicting-roots: another root embeds what this code reads and does not embed.
    """
    take_forward("consume_forward_code", tensor)
    if tensor.handed_forward is None:
        tensor.handed_forward = tensor.forward.named(f"forward {tensor.label}")
    return tensor.handed_forward


def consume_backprop_code(tensor: Tensor) -> Comp:
    """What propagates a tensor's gradient, labelled ``backprop <tensor>``; taken again, the same comp.

    It neither zeroes (``zero_grads``) nor seeds. Where gradients it adds into are propagated by other code, that must
    be compiled into the same lineage: run/fragment-not-owned. Refuses frontend/discarded-tensor,
    frontend/not-differentiable, frontend/code-taken (a parameter's, embedded elsewhere, discarded).
    """
    backprop = take_backprop("consume_backprop_code", tensor)
    if tensor.handed_backprop is None:
        tensor.handed_backprop = backprop.named(f"backprop {tensor.label}")
    return tensor.handed_backprop


def zero_grads(tensor: Tensor) -> Comp:
    """The zeroing of the gradients this tensor owns, its own last, labelled ``zero gradients of <tensor>``.

    Refuses frontend/discarded-tensor and frontend/not-differentiable.
    """
    return differentiable("zero_grads", tensor).zero_grads.named(f"zero gradients of {tensor.label}")


def discard_backprop(tensor: Tensor) -> None:
    """Give up a tensor's backprop: nothing will hand it out or embed it. A tensor without gradient has none."""
    usable("discard_backprop", tensor)
    if tensor.is_backprop_root:
        set_backprop_state(tensor, CodeState.DISCARDED)


def take_forward(operation: str, tensor: Tensor) -> Comp:
    """A tensor's forward code, taken; the refusals of ``consume_forward_code``, naming the operation."""
    check_forward(operation, tensor)
    if tensor.is_forward_root:
        set_forward_state(tensor, CodeState.TAKEN)
    return tensor.forward


def take_backprop(operation: str, tensor: Tensor) -> Comp:
    """A tensor's backprop code, taken; the refusals of ``consume_backprop_code``, naming the operation."""
    backprop = check_backprop(operation, tensor)
    if tensor.is_backprop_root:
        set_backprop_state(tensor, CodeState.TAKEN)
    return backprop


def check_forward(operation: str, tensor: Tensor) -> None:
    """The refusals of ``take_forward``, which changes something."""
    usable(operation, tensor)
    if tensor.forward_state not in (CodeState.ROOT, CodeState.TAKEN):
        raise _taken(operation, tensor, tensor.forward_state)
    others = _conflicting(tensor) if tensor.is_forward_root else []
    if others:
        raise refuse("frontend/conflicting-roots", operation=operation, tensor=tensor.label, others=others)


def check_backprop(operation: str, tensor: Tensor) -> Comp:
    """The refusals of ``take_backprop``, which changes something."""
    diff = differentiable(operation, tensor)
    if tensor.is_param:
        raise _taken(operation, tensor, CodeState.APART)
    if tensor.backprop_state not in (CodeState.ROOT, CodeState.TAKEN):
        raise _taken(operation, tensor, tensor.backprop_state)
    return diff.backprop


def initialization(params: Iterable[Tensor]) -> Comp:
    """The code that computes the first values of parameters that have one, labelled ``init <params>``."""
    given = [param for param in params if param.forward.owned]
    return sequence(*(param.forward for param in given)).named(f"init {' '.join(param.label for param in given)}")


def _conflicting(tensor: Tensor) -> list[str]:
    needed = read(tensor.forward.code) - set(tensor.forward.embedded)
    roots = (root for root in tensor.session.forward_roots.values() if root is not tensor)
    return [root.label for root in roots if needed.intersection(root.forward.embedded)]


def _taken(operation: str, tensor: Tensor, state: CodeState) -> Refusal:
    return refuse("frontend/code-taken", operation=operation, tensor=tensor.label, why=state.value)
