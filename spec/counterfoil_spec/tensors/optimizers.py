"""What is done with gradients: descent, and keeping their norm in bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Constant, Fetch, Read, in_sequence
from counterfoil_spec.programs.comps import Comp, comp, sequence
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Projections
from counterfoil_spec.programs.specs import pointwise
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.code import take_forward
from counterfoil_spec.tensors.session import Session, current_session
from counterfoil_spec.tensors.tensor import Tensor, usable
from counterfoil_spec.tensors.train import finite, keep_on_device, trained


def sgd_update(loss: Tensor, lr: float | Tensor, momentum: float = 0.0, weight_decay: float = 0.0) -> Comp:
    """Per trained parameter: ``delta = grad + weight_decay * p``, with momentum ``m = momentum * m + delta`` in its
    place, then ``p -= lr * delta``. Labelled ``sgd of <loss>``.

    All deltas come before all updates: a gradient that is recomputed reads parameters. ``lr`` is a number or a tensor
    of one element. Momentum buffers stay on the device and start at zero. Refuses frontend/learning-rate,
    frontend/shapes, frontend/not-differentiable, frontend/trains-nothing, frontend/discarded-tensor.
    """
    _check_rate(lr)
    rates = _Rates(finite("sgd_update", "momentum", momentum), finite("sgd_update", "weight_decay", weight_decay))
    params = trained("sgd_update", loss)
    keep_on_device([param.value for param in params])
    writing = _Writing(current_session())
    deltas = [_delta(writing, param, rates) for param in params]
    ahead, rate = _rate(writing, lr, params[0].dtype)
    for param, delta in zip(params, deltas, strict=True):
        writing.add(param.value, "sub", "mul", rate, delta)
    return sequence(*ahead, writing.comp()).named(f"sgd of {loss.label}")


def clip_grads(loss: Tensor, max_norm: float) -> Comp:
    """Scale the trained gradients so that their joint Euclidean norm is at most ``max_norm``.

    Labelled ``clip gradients of <loss>``; it belongs between ``grad_update`` and ``sgd_update``, in one comp or in
    routines of their own. Refuses frontend/learning-rate, frontend/not-differentiable, frontend/trains-nothing.
    """
    most = finite("clip_grads", "max_norm", max_norm)
    grads = [param.diff.grad for param in trained("clip_grads", loss) if param.diff is not None]
    keep_on_device(grads)
    writing = _Writing(current_session())
    dtype = grads[0].dtype
    squares, norm = writing.node("norm.squared", (), dtype), writing.node("norm", (), dtype)
    limit, one = writing.number(most, dtype), writing.number(1.0, dtype)
    writing.fetch(squares, 0.0)
    for grad in grads:
        writing.reduce(squares, grad)
    writing.set(norm, "sqrt", squares)
    over, ratio, factor = (writing.node(label, (), dtype) for label in ("norm.over", "norm.ratio", "norm.factor"))
    writing.set(over, "cmplt", limit, norm)
    writing.set(ratio, "div", limit, norm)
    writing.set(factor, "where", over, ratio, one)
    for grad in grads:
        writing.add(grad, "mul", "identity", factor)
    return writing.comp().named(f"clip gradients of {loss.label}")


@dataclass(frozen=True, slots=True)
class _Rates:
    momentum: float
    weight_decay: float


@dataclass
class _Writing:
    """Assignments written one after the other, and the nodes they embed."""

    session: Session
    code: list[Assignment] = field(default_factory=list)
    embedded: list[Node] = field(default_factory=list)
    numbers: dict[tuple[float, str], Node] = field(default_factory=dict)

    def node(self, label: str, shape: Sequence[int], dtype: Dtype) -> Node:
        made = self.session.node(label, shape, dtype)
        self.embedded.append(made)
        return made

    def number(self, value: float, dtype: Dtype) -> Node:
        if (value, dtype.name) not in self.numbers:
            made = self.numbers[value, dtype.name] = self.node(f"{value:g}", (), dtype)
            self.fetch(made, value)
        return self.numbers[value, dtype.name]

    def fetch(self, target: Node, value: float) -> None:
        self.code.append(Fetch(target, Constant(value)))

    def set(self, target: Node, operation: str, *operands: Node) -> None:
        self.add(target, "arg2", operation, *operands)

    def add(self, target: Node, accumulator: str, operation: str, *operands: Node) -> None:
        reads = tuple(Read(node) for node in operands)
        self.code.append(Accumulate(target, accumulator, operation, reads, pointwise(target, operands)))

    def reduce(self, total: Node, node: Node) -> None:
        """``total += node * node`` over all its elements."""
        loops = pointwise(node, [node, total])
        projections = Projections(loops.product, (), (loops.target, loops.target))
        self.code.append(Accumulate(total, "add", "mul", (Read(node), Read(node)), projections))

    def comp(self) -> Comp:
        return comp(in_sequence(*self.code), self.embedded)


def _delta(writing: _Writing, param: Tensor, rates: _Rates) -> Node:
    """What is subtracted from a parameter, short of the learning rate."""
    assert param.diff is not None
    value, grad = param.value, param.diff.grad
    delta = writing.node(f"{value.label}.delta", value.shape, value.dtype)
    if rates.weight_decay:
        decay = writing.number(rates.weight_decay, value.dtype)
        writing.set(delta, "fma", decay, value, grad)
    else:
        writing.set(delta, "identity", grad)
    if not rates.momentum:
        return delta
    buffer = writing.node(f"{value.label}.momentum", value.shape, value.dtype)
    keep_on_device([buffer])
    writing.set(buffer, "fma", writing.number(rates.momentum, value.dtype), buffer, delta)
    return buffer


def _check_rate(lr: float | Tensor) -> None:
    if not isinstance(lr, Tensor):
        finite("sgd_update", "lr", lr)
        return
    usable("sgd_update", lr)
    if lr.value.size != 1 or lr.rank:
        raise refuse("frontend/shapes", operation="sgd_update", shapes=[lr.shape])


def _rate(writing: _Writing, lr: float | Tensor, dtype: Dtype) -> tuple[list[Comp], Node]:
    """The learning rate's node, and the code that computes it where nobody consumed that yet."""
    if not isinstance(lr, Tensor):
        return [], writing.number(float(lr), dtype)
    return ([take_forward("sgd_update", lr)] if lr.is_forward_root else []), lr.value
