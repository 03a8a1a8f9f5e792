"""Leaves: constants, literals, parameters, data, positions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from itertools import chain

from counterfoil_spec.arguments import integers, text
from counterfoil_spec.dtypes import Dtype, Kind, float32
from counterfoil_spec.limits import MAX_FILL
from counterfoil_spec.programs.assignments import Accumulate, Constant, Fetch, Fill, Offsets, Read, in_sequence
from counterfoil_spec.programs.comps import Comp, Fragment, comp, sequence
from counterfoil_spec.programs.nodes import Intent
from counterfoil_spec.programs.specs import pointwise
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.operation import Draft, Written, draft, leaf_diff, operation
from counterfoil_spec.tensors.tensor import CodeState, Tensor, set_forward_state, usable

Values = float | Sequence["Values"]
"""A number, or nested sequences of numbers."""


def constant(value: float, label: str | None = None, dtype: Dtype = float32) -> Tensor:
    """A scalar that the code itself defines; refuses programs/literal."""
    made = draft("constant", (), dtype, label if label is not None else f"{value}", literal=(value,))
    return operation("constant", made, (), Written(Fetch(made.value, Constant(float(value)))), owns=False)


def literal(
    values: Values, shape: Sequence[int] | None = None, label: str | None = None, dtype: Dtype = float32
) -> Tensor:
    """Host values: in C order where a shape is given, else nested lists. Without a gradient.

    Up to MAX_FILL of them stand in the code too. Refuses arrays/values-count and programs/literal.
    """
    flat, extents = _flat(values)
    extents = extents if shape is None else integers("shape", shape)
    made = draft("literal", extents, dtype, label, literal=flat)
    return operation("literal", made, (), _fill(made, flat), owns=False)


def data(label: str, shape: Sequence[int], dtype: Dtype = float32) -> Tensor:
    """A leaf without code or gradient: the program uploads its values (``set_values``, ``from_host``)."""
    return operation("data", draft("data", shape, dtype, text("label", label)), (), Written(), owns=False)


def leaf(label: str, shape: Sequence[int], dtype: Dtype = float32) -> Tensor:
    """As ``data``, with a gradient (Require_grad). It is no parameter: no helper initializes or trains it.

    Refuses frontend/not-differentiable for an integer dtype.
    """
    made = _float_draft("leaf", label, shape, dtype)
    return Tensor(made.session, made.id, made.value, (), comp(embedded=[made.value]), leaf_diff(made))


def param(
    label: str,
    shape: Sequence[int] | None = None,
    values: Values | None = None,
    init: Tensor | None = None,
    dtype: Dtype = float32,
) -> Tensor:
    """A parameter: kept on the device, with a gradient, trained by ``sgd_update``.

    Its first value is ``values`` (a number: everywhere), or ``init``'s, computed by ``init_params``; with neither the
    program uploads it. Its code stays apart from that of consumers. Refuses frontend/not-differentiable for an integer
    dtype, frontend/shapes, arrays/values-count.
    """
    if init is not None:
        usable("param", init)
    made = _float_draft("param", label, _param_shape(shape, values, init), dtype)
    made.value.require(Intent.ON_DEVICE)
    made.value.set_context_owned()
    forward = _initialization(made, _initial(made, values, init))
    return Tensor(made.session, made.id, made.value, (), forward, leaf_diff(made), is_param=True)


def arange(extent: int, label: str | None = None, dtype: Dtype = float32) -> Tensor:
    """0, 1, 2 ... ``extent`` - 1."""
    made = draft("arange", (extent,), dtype, label)
    return operation("arange", made, (), Written(Fetch(made.value, Offsets())), owns=False)


def random_values(shape: Sequence[int], seed: int, bound: float = 1.0) -> list[float]:
    """Reproducible numbers, uniform in [-bound, bound], in C order: first values for a parameter."""
    source = random.Random(seed)
    return [source.uniform(-bound, bound) for _ in range(math.prod(shape))]


def _float_draft(name: str, label: str, shape: Sequence[int], dtype: Dtype) -> Draft:
    if dtype.kind is not Kind.FLOAT:
        raise refuse("frontend/not-differentiable", operation=name, tensor=text("label", label))
    return draft(name, shape, dtype, text("label", label))


def _param_shape(shape: Sequence[int] | None, values: Values | None, init: Tensor | None) -> tuple[int, ...]:
    if init is not None and shape is not None and tuple(shape) != init.shape:
        raise refuse("frontend/shapes", operation="param", shapes=[tuple(shape), init.shape])
    if shape is not None:
        return integers("shape", shape)
    return init.shape if init is not None else _flat(() if values is None else values)[1]


def _initial(made: Draft, values: Values | None, init: Tensor | None) -> Tensor | None:
    """What a parameter is copied from."""
    if init is not None or values is None:
        return init
    if isinstance(values, (int, float)):
        return constant(values, f"{made.value.label}.init", made.value.dtype)
    return literal(values, made.value.shape, f"{made.value.label}.init", made.value.dtype)


def _initialization(made: Draft, initial: Tensor | None) -> Comp:
    """The code of a parameter: its initial value's, if nobody consumed it yet, and the copy."""
    if initial is None:
        return comp(embedded=[made.value])
    copy = Accumulate(made.value, "arg2", "identity", (Read(initial.value),), pointwise(made.value, [initial.value]))
    own = comp(in_sequence(copy), [made.value], [Fragment(made.value.uid, "forward", made.value.label)])
    if not initial.is_forward_root:
        return own
    set_forward_state(initial, CodeState.EMBEDDED)
    return sequence(initial.forward, own)


def _fill(made: Draft, values: Sequence[float]) -> Written:
    return Written(Fetch(made.value, Fill(tuple(values)))) if 0 < len(values) <= MAX_FILL else Written()


def _flat(values: Values) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Nested sequences as values in C order and a shape; refuses frontend/shapes where rows differ."""
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        return (values,), ()  # type: ignore[return-value]
    rows = [_flat(row) for row in values]
    shapes = {shape for _, shape in rows}
    if len(shapes) > 1:
        raise refuse("frontend/shapes", operation="literal", shapes=sorted(shapes))
    return _chained(row for row, _ in rows), (len(rows), *(rows[0][1] if rows else ()))


def _chained(rows: Iterable[Sequence[float]]) -> tuple[float, ...]:
    return tuple(chain.from_iterable(rows))
