"""Training: the comps of a gradient update and of what is done with the gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.programs.assignments import Accumulate, Constant, Fetch, Read, in_sequence, leaves
from counterfoil_spec.programs.comps import Comp, comp, sequence
from counterfoil_spec.programs.nodes import Intent, Node, joined_intent
from counterfoil_spec.programs.specs import pointwise
from counterfoil_spec.refusals import refuse, shown
from counterfoil_spec.tensors.code import (
    check_backprop,
    check_forward,
    consume_forward_code,
    take_backprop,
    take_forward,
)
from counterfoil_spec.tensors.operation import zeroing
from counterfoil_spec.tensors.tensor import Diff, Tensor, differentiable, usable


def forward(tensor: Tensor) -> Comp:
    """The code computing a tensor: ``consume_forward_code``."""
    return consume_forward_code(tensor)


def trainable_params(loss: Tensor) -> tuple[Tensor, ...]:
    """The parameters whose gradient the loss's backprop writes, in the order they were made.

    Refuses frontend/discarded-tensor and frontend/not-differentiable.
    """
    written = differentiable("trainable_params", loss).backprop.accumulates
    return tuple(param for param in loss.params if param.grad in written)


def grad_update(
    loss: Tensor,
    accum_steps: int | None = None,
    loss_scale: float = 1.0,
    accum_loss: Tensor | None = None,
    materialize_gradients: bool = True,
) -> Comp:
    """Forward, zero, seed, backprop: the gradients of a loss, labelled ``gradients of <loss>``.

    The seed is ``loss_scale``. With ``accum_steps`` k the parameters' gradients are not zeroed here
    (``zero_params_grads`` does), the seed is ``loss_scale / k`` and k runs are allowed per reset, after which they hold
    the mean. ``accum_loss``: a tensor of the loss's shape that the loss is added into. The loss and the trained
    gradients are kept on the device, for other routines and the host to read; without ``materialize_gradients``, and
    without ``accum_steps``, the placement policy decides for the gradients.

    Refuses frontend/accum-steps, frontend/shapes, frontend/learning-rate, frontend/discarded-tensor,
    frontend/not-differentiable; with ``accum_steps`` frontend/missing-zeroing (a gradient other than a parameter's that
    this loss does not zero) and frontend/trains-nothing; frontend/code-taken, frontend/conflicting-roots.
    """
    steps = _steps(accum_steps)
    _check_total(loss, accum_loss)
    seed = finite("grad_update", "loss_scale", loss_scale) / steps
    diff = differentiable("grad_update", loss)
    gradients = [param.diff.grad for param in trainable_params(loss) if param.diff is not None]
    zeroed = diff.zero_grads if accum_steps is None else _without(diff, gradients)
    if accum_steps is not None:
        trained("grad_update", loss)
    check_forward("grad_update", loss)
    check_backprop("grad_update", loss)
    kept = gradients if materialize_gradients or accum_steps is not None else []
    keep_on_device([loss.value, *kept, *([] if accum_loss is None else [accum_loss.value])])
    loss.value.set_observable()
    parts = [
        take_forward("grad_update", loss),
        *([] if accum_loss is None else [_total(loss, accum_loss)]),
        zeroed,
        comp(Fetch(diff.grad, Constant(seed))),
        _allowing(take_backprop("grad_update", loss), gradients if accum_steps else (), steps),
    ]
    return sequence(*parts).named(f"gradients of {loss.label}")


def zero_params_grads(loss: Tensor, params: Iterable[Tensor] | None = None) -> Comp:
    """The reset of the gradients of the trained parameters (or of those given), at the start of each accumulation.

    Labelled ``zero gradients of <loss>``; it may allocate them. Compile it first. Refuses frontend/not-differentiable,
    frontend/trains-nothing, frontend/discarded-tensor.
    """
    chosen = trained("zero_params_grads", loss) if params is None else list(params)
    grads = [differentiable("zero_params_grads", instance("param", param, Tensor)).grad for param in chosen]
    if not grads:
        raise refuse("frontend/trains-nothing", operation="zero_params_grads", tensor=loss.label)
    keep_on_device(grads)
    reset = comp(in_sequence(*map(zeroing, grads)), grads, zeroes=grads)
    return reset.named(f"zero gradients of {loss.label}")


def finite(operation: str, argument: str, value: object) -> float:
    """A finite number of at least 0; refuses frontend/learning-rate."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and number >= 0):
        raise refuse("frontend/learning-rate", operation=operation, argument=argument, value=shown(value))
    return float(number)


def trained(operation: str, loss: Tensor) -> list[Tensor]:
    """The parameters that a loss trains; refuses frontend/trains-nothing where there is none."""
    differentiable(operation, loss)
    params = list(trainable_params(loss))
    if not params:
        raise refuse("frontend/trains-nothing", operation=operation, tensor=loss.label)
    return params


def _steps(accum_steps: int | None) -> int:
    steps = 1 if accum_steps is None else integer("accum_steps", accum_steps)
    if steps < 1:
        raise refuse("frontend/accum-steps", steps=steps)
    return steps


def _without(diff: Diff, gradients: Sequence[Node]) -> Comp:
    """The zeroing of a loss, short of those gradients; every other one it adds into must be zeroed each run."""
    for gradient in diff.backprop.accumulates:
        if gradient not in gradients and gradient not in diff.zero_grads.zeroes:
            raise refuse("frontend/missing-zeroing", gradient=gradient.label)
    kept = [leaf for leaf in leaves(diff.zero_grads.code) if leaf.target not in gradients]
    nodes = [node for node in diff.zero_grads.zeroes if node not in gradients]
    return comp(in_sequence(*kept), diff.zero_grads.embedded, zeroes=nodes)


def _allowing(backprop: Comp, gradients: Sequence[Node], steps: int) -> Comp:
    """The backprop with so many runs per reset for those gradients (C4)."""
    runs = dict.fromkeys(gradients, steps)
    return comp(backprop.code, backprop.embedded, backprop.owned, backprop.accumulates, backprop.zeroes, runs,
                backprop.requires)  # fmt: skip


def _check_total(loss: Tensor, accum_loss: Tensor | None) -> None:
    if accum_loss is None:
        return
    if instance("accum_loss", accum_loss, Tensor).shape != loss.shape:
        raise refuse("frontend/shapes", operation="grad_update", shapes=[loss.shape, accum_loss.shape])
    usable("grad_update", accum_loss)


def _total(loss: Tensor, accum_loss: Tensor) -> Comp:
    """``accum_loss += loss``; a leaf without code is embedded, and so may start from zero."""
    total = accum_loss.value
    added = Accumulate(total, "add", "identity", (Read(loss.value),), pointwise(total, [loss.value]))
    return comp(added, [total] if not any(leaves(accum_loss.forward.code)) else [])


def keep_on_device(nodes: Sequence[Node]) -> None:
    """Declare nodes On_device; where one refuses (placement/virtual-conflict, placement/intent-change), none is."""
    for node in sorted(nodes, key=lambda each: joined_intent(each.intent, Intent.ON_DEVICE) is not None):
        node.require(Intent.ON_DEVICE)
