"""map: an expression evaluated at every index, each node rounded once to its dtype."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil_reference import door, elements
from counterfoil_reference.arguments import sequence
from counterfoil_reference.arrays import Array
from counterfoil_reference.intervals import Accept
from counterfoil_reference.kernels.choices import accepted
from counterfoil_reference.kernels.operations import Core, cast_core, core
from counterfoil_reference.kernels.output import write
from counterfoil_reference.numbers import code_of_value
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.expressions import Apply, Cast, Constant, Input, Node, node
from counterfoil_spec.kernels import KERNELS
from counterfoil_spec.limits import MAX_MAP_INPUTS, MAX_MAP_NODES

Steps = list[tuple[Node, tuple[int, ...]]]
"""The nodes of an expression, each with the places of its arguments earlier in the list."""


def map_(dst: Array, expression: Node, inputs: Sequence[Array]) -> Answer:
    """``expression`` at every index of the inputs, whose shapes equal the destination's.

    Argument facts first: dst, expression, inputs, then the constants' values from left to right. A dtype misfit
    anywhere, or a result of another dtype than the destination's, is Wrong_dtype (an Input past the inputs fits any);
    an Input past the inputs is Shape_mismatch; more than 64 nodes, counted as a tree, or more than 16 inputs are
    Declined. A node shared by several is evaluated once.
    """
    instance("dst", dst, Array)
    steps = _steps(node(expression))
    sources = sequence("inputs", inputs, Array)
    constants = {
        place: code_of_value(each.dtype, each.value)
        for place, (each, _) in enumerate(steps)
        if isinstance(each, Constant)
    }
    dtypes, fit = _dtypes(steps, [source.dtype for source in sources])
    return door.run(
        [dst],
        sources,
        fit and dtypes[-1] in (None, dst.dtype),
        lambda: all(source.shape == dst.shape for source in sources) and _positions_fit(steps, len(sources)),
        lambda: _tree_size(steps) > MAX_MAP_NODES or len(sources) > MAX_MAP_INPUTS,
        lambda: _work(dst, steps, sources, dtypes, constants),
    )


def _steps(expression: Node) -> Steps:
    """Arguments before what they are given to, left before right, each object once."""
    places: dict[int, int] = {}
    steps: Steps = []
    waiting = [expression]
    while waiting:
        each = waiting[-1]
        missing = [argument for argument in _arguments(each) if id(argument) not in places]
        if missing:
            waiting.extend(reversed(missing))
            continue
        waiting.pop()
        if id(each) not in places:
            places[id(each)] = len(steps)
            steps.append((each, tuple(places[id(argument)] for argument in _arguments(each))))
    return steps


def _arguments(each: Node) -> tuple[Node, ...]:
    if isinstance(each, Apply):
        return each.arguments
    return (each.argument,) if isinstance(each, Cast) else ()


def _tree_size(steps: Steps) -> int:
    sizes: list[int] = []
    for _, arguments in steps:
        sizes.append(1 + sum(sizes[place] for place in arguments))
    return sizes[-1]


def _positions_fit(steps: Steps, count: int) -> bool:
    return all(each.position < count for each, _ in steps if isinstance(each, Input))


def _dtypes(steps: Steps, inputs: Sequence[Dtype]) -> tuple[list[Dtype | None], bool]:
    """The dtype of each node (None: unknown, of an input not given) and whether all arguments are within the rows."""
    dtypes: list[Dtype | None] = []
    fit = True
    for each, arguments in steps:
        if isinstance(each, Input):
            dtypes.append(inputs[each.position] if each.position < len(inputs) else None)
        elif isinstance(each, Apply):
            dtype, fits = _applied(each.kernel, [dtypes[place] for place in arguments])
            dtypes.append(dtype)
            fit = fit and fits
        else:
            dtypes.append(each.dtype)
    return dtypes, fit


def _applied(name: str, dtypes: list[Dtype | None]) -> tuple[Dtype | None, bool]:
    row = KERNELS[name]
    condition_fits = True
    if row.condition:
        condition = dtypes.pop(0)
        condition_fits = condition is None or condition in row.condition
    known = {dtype for dtype in dtypes if dtype is not None}
    fits = condition_fits and len(known) <= 1 and known <= row.domain
    first = next((dtype for dtype in dtypes if dtype is not None), None)
    return row.result or first, fits


def _work(
    dst: Array, steps: Steps, sources: Sequence[Array], dtypes: Sequence[Dtype | None], constants: dict[int, int]
) -> None:
    cores = [_core(each, [dtypes[place] for place in arguments]) for each, arguments in steps]
    columns = [elements.codes(source) for source in sources]
    rows = [[column[i] for column in columns] for i in range(dst.layout.size)]
    values = [_evaluated(steps, cores, constants, row) for row in rows]

    def rooms() -> list[Accept | None]:
        return [accepted(steps, cores, dtypes, row) for row in values]

    write(dst, [row[-1] for row in values], rooms)


def _core(each: Node, dtypes: list[Dtype | None]) -> Core | None:
    source = dtypes[-1] if dtypes else None
    if isinstance(each, Apply) and source is not None:
        return core(each.kernel, source)
    return cast_core(source, each.dtype) if isinstance(each, Cast) and source is not None else None


def _evaluated(steps: Steps, cores: list[Core | None], constants: dict[int, int], row: list[int]) -> list[int]:
    """The codes of all nodes at one index."""
    codes: list[int] = []
    for place, (each, arguments) in enumerate(steps):
        compute = cores[place]
        if isinstance(each, Input):
            codes.append(row[each.position])
        elif compute is None:
            codes.append(constants[place])
        else:
            codes.append(compute(*[codes[argument] for argument in arguments]))
    return codes
