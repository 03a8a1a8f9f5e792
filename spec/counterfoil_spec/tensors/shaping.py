"""Margins, rows of a leading axis, and other ways to look at a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil_spec.arguments import instance
from counterfoil_spec.programs.assignments import Accumulate, Fetch, Read, Row
from counterfoil_spec.programs.comps import comp
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Projections, at
from counterfoil_spec.programs.specs import pointwise
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.tensors.operation import Draft, Gradients, Written, draft, operation
from counterfoil_spec.tensors.rules import RULES, by_rules
from counterfoil_spec.tensors.session import current_session
from counterfoil_spec.tensors.tensor import CodeState, Tensor, set_forward_state, usable


def pad(a: Tensor, margins: Sequence[tuple[int, int]], value: float = 0.0) -> Tensor:
    """A copy with (left, right) margins per axis that hold ``value``: convolutions index past its shape.

    Its shape is a's. What reaches the margins' gradients is not propagated. Refuses programs/padding.
    """
    usable("pad", instance("operand", a, Tensor))
    made = draft("pad", a.shape, a.dtype, padding=margins, margin=value)
    projections = pointwise(made.value, [a.value])
    own = Written(Accumulate(made.value, "arg2", "identity", (Read(a.value),), projections))
    return operation("pad", made, (a,), own, by_rules(RULES["identity"], made, (a,), projections))


def slice_of(a: Tensor, symbol: Symbol, label: str | None = None) -> Tensor:
    """Row ``symbol`` of the leading axis, the symbol bound at each run.

    Without a gradient: a view, which has no code and no buffer of its own. With one: a copy of the row, whose gradient
    is added into that row of a's. Refuses programs/slice-shape.
    """
    usable("slice_of", instance("operand", a, Tensor))
    instance("symbol", symbol, Symbol)
    return _view(a, symbol, label) if a.diff is None else row(a, symbol, label)


def row(a: Tensor, symbol: Symbol, label: str | None = None) -> Tensor:
    """A copy of row ``symbol`` of the leading axis. Refuses programs/slice-shape for a tensor without axes."""
    usable("row", a)
    Node("row", a.shape[1:], a.dtype, slice_of=(a.value, symbol))  # the refusals of a view
    made = draft("row", a.shape[1:], a.dtype, label)
    own = Written(Fetch(made.value, Row(a.value, symbol)))
    return operation("row", made, (a,), own, _into_row(made, a, symbol))


def _into_row(made: Draft, a: Tensor, symbol: Symbol) -> Gradients:
    """The gradient of a row's copy, added into that row."""

    def gradients(grad: Node) -> Written:
        if a.diff is None:
            return Written()
        loops = pointwise(made.value, [])
        index = (at(symbol), *loops.target)
        projections = Projections(loops.product, index, (loops.target,))
        return Written(Accumulate(a.diff.grad, "add", "identity", (Read(grad),), projections))

    return gradients


def _view(a: Tensor, symbol: Symbol, label: str | None) -> Tensor:
    """The view takes the code of its parent with it, where nobody consumed that yet."""
    session = current_session()
    view = Node(label or f"{a.label}[{symbol!r}]", a.shape[1:], a.dtype, slice_of=(a.value, symbol))
    forward = a.forward if a.is_forward_root else comp()
    if a.is_forward_root:
        set_forward_state(a, CodeState.EMBEDDED)
    return Tensor(session, session.next_id(), session.adopt(view), (a,), forward, None)
