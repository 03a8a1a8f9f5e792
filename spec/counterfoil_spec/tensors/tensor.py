"""Tensors: a value node, the code that computes it, and what propagates its gradient."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.comps import Comp, Fragment
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.operators import Operators

if TYPE_CHECKING:
    from counterfoil_spec.tensors.session import Session


class GradSpec(enum.Enum):
    """Whether a tensor gets a gradient: if an operand has one, always, or never."""

    IF_NEEDED = "if_needed"
    REQUIRE_GRAD = "require_grad"
    PROHIBIT_GRAD = "prohibit_grad"


class CodeState(enum.Enum):
    """Where a tensor's forward or backprop code is."""

    ROOT = "is a root"
    TAKEN = "was handed out"
    EMBEDDED = "is embedded in the code of another tensor"
    DISCARDED = "was discarded"
    APART = "is a parameter"


@dataclass(frozen=True, slots=True)
class Diff:
    """The gradient's node, the zeroing of the gradients this tensor owns, and the code that propagates from it."""

    grad: Node
    zero_grads: Comp
    backprop: Comp
    fragment: Fragment


class Tensor(Operators):
    """A value of a program. ``+ - * / @ **`` and the methods of ``Operators`` build new ones.

    ``value``: its node. ``forward``: the code computing it with that of the operands it embeds. ``diff``: None where it
    has no gradient. ``children``: its operands. ``id``: for display, restarting with the session.
    """

    def __init__(
        self,
        session: Session,
        id: int,
        value: Node,
        children: tuple[Tensor, ...],
        forward: Comp,
        diff: Diff | None,
        *,
        is_param: bool = False,
    ) -> None:
        self.session = session
        self.id = id
        self.value = value
        self.children = children
        self.forward = forward
        self.diff = diff
        self.is_param = is_param
        self.handed_forward: Comp | None = None
        self.handed_backprop: Comp | None = None
        self._below = _ordered({param for child in children for param in child.params})
        self.forward_state = CodeState.APART if is_param else CodeState.ROOT
        self.backprop_state = CodeState.ROOT
        if not is_param:
            session.forward_roots[id] = self
        if diff is not None:
            session.backprop_roots[id] = self

    @property
    def label(self) -> str:
        """The label of its value."""
        return self.value.label

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents, the padding excluded."""
        return self.value.shape

    @property
    def rank(self) -> int:
        """Its number of axes."""
        return self.value.rank

    @property
    def dtype(self) -> Dtype:
        """The dtype of its value."""
        return self.value.dtype

    @property
    def params(self) -> tuple[Tensor, ...]:
        """The parameters it depends on, in the order they were made; a parameter is its own, which it does not hold."""
        return _ordered({*self._below, self}) if self.is_param else self._below

    @property
    def grad(self) -> Node | None:
        """The node of its gradient, None where it has none."""
        return None if self.diff is None else self.diff.grad

    @property
    def discarded(self) -> bool:
        """Whether its session was rewound past it."""
        return self.value.discarded

    @property
    def is_forward_root(self) -> bool:
        """Whether its forward code is still to be consumed."""
        return self.forward_state is CodeState.ROOT

    @property
    def is_backprop_root(self) -> bool:
        """Whether its backprop code is still to be consumed."""
        return self.diff is not None and self.backprop_state is CodeState.ROOT

    def __repr__(self) -> str:
        return f"<{self.label} {list(self.shape)}>"


def _ordered(params: Iterable[Tensor]) -> tuple[Tensor, ...]:
    return tuple(sorted(params, key=lambda param: param.value.uid))


def set_forward_state(tensor: Tensor, state: CodeState) -> None:
    """Its forward code is no root any more."""
    tensor.session.remember(tensor)
    tensor.session.forward_roots.pop(tensor.id, None)
    tensor.forward_state = state


def set_backprop_state(tensor: Tensor, state: CodeState) -> None:
    """Its backprop code is no root any more."""
    tensor.session.remember(tensor)
    tensor.session.backprop_roots.pop(tensor.id, None)
    tensor.backprop_state = state


def usable(operation: str, *tensors: Tensor) -> None:
    """Refuses frontend/discarded-tensor: the first of the tensors that a rewind discarded."""
    for tensor in tensors:
        if tensor.discarded:
            raise refuse("frontend/discarded-tensor", operation=operation, tensor=tensor.label)


def differentiable(operation: str, tensor: Tensor) -> Diff:
    """What propagates its gradient; refuses frontend/discarded-tensor, frontend/not-differentiable."""
    usable(operation, tensor)
    if tensor.diff is None:
        raise refuse("frontend/not-differentiable", operation=operation, tensor=tensor.label)
    return tensor.diff
