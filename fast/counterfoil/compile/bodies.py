"""The C of nests: elementwise groups, and sums into one element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.compile.emit import Function
from counterfoil.compile.fuse import is_accumulated_inside
from counterfoil.compile.literals import CTYPES, SUFFIX, is_float, number
from counterfoil.compile.nests import Loops, Nest
from counterfoil.compile.products import product_of, write_product
from counterfoil.compile.schedule import collapsed
from counterfoil.compile.sharing import close_loops, open_loops
from counterfoil_spec.dtypes import float32, float64, int32, int64
from counterfoil_spec.programs.loops import Apply, Loop, Number, Scalar, Store
from counterfoil_spec.programs.loops import statements as all_statements

WORTH_VECTORS: Final = 16
"""A shorter sum is added up one term after the other."""

RANKED: Final = ("max", "min")
"""Accumulators that search for an extreme."""

RANKS: Final = {float32: int32, float64: int64}
"""The dtype of floats' ranks (``prelude``)."""

HOT_POINTS: Final = 1024
"""Loops over fewer points are left to the compiler's own judgement, which is quick."""


def prepared(group: Sequence[Nest]) -> list[list[Nest]]:
    """A group that shares its loops, ready to be written: fills that its accumulations need in front of it."""
    nests = collapsed(group)
    needy = [nest for nest in nests if _needs_fill(nest, len(nests) == 1)]
    fills = [collapsed([_fill(nest)]) for nest in needy]
    return [*fills, [replace(nest, start=None) if nest in needy else nest for nest in nests]]


def write_group(function: Function, nests: Sequence[Nest]) -> None:
    """What ``prepared`` gives: nests that share their loops, or one nest of any kind."""
    first = nests[0]
    product = product_of(first) if len(nests) == 1 else None
    if product is not None:
        write_product(function, product)
    elif len(nests) == 1 and first.is_regular and is_accumulated_inside(first):
        _write_sum(function, first)
    else:
        _write_elements(function, nests)


def _needs_fill(nest: Nest, alone: bool) -> bool:
    """Whether the accumulation goes through memory, so that its start has to be there."""
    if nest.start is None or not nest.reductions:
        return False
    product = product_of(nest) if alone else None
    if product is not None:
        return not product.starts_at_zero
    if alone and is_accumulated_inside(nest):
        return any(iterator in nest.reductions for iterator, _ in nest.loops[: len(nest.loops) - _trailing(nest)])
    return True


def _fill(nest: Nest) -> Nest:
    assert nest.start is not None
    loops = tuple(loop for loop in nest.loops if loop[0] not in nest.reductions)
    return Nest(loops, Store(nest.node, nest.store.index, Number(nest.start)))


def _write_elements(function: Function, nests: Sequence[Nest]) -> None:
    """Every store at each point of the shared loops."""
    loops, points = nests[0].loops, nests[0].points
    hot = points >= HOT_POINTS and not _has_loops(nests) and all(_moves_innermost(nest) for nest in nests)
    open_loops(function, loops, points * len(nests) if _is_shareable(loops, nests) else 0, hot)
    for nest in nests:
        store = nest.store
        value: Scalar = store.value
        if nest.start is not None and nest.accumulator is not None:
            value = Apply(nest.accumulator, (Number(nest.start), nest.term))
        function.statements((Store(store.node, store.index, value),))
    close_loops(function, len(loops))


def _write_sum(function: Function, nest: Nest) -> None:
    """The innermost loops add to one element: kept in a register."""
    inside = _trailing(nest)
    outer, inner = nest.loops[: len(nest.loops) - inside], nest.loops[len(nest.loops) - inside :]
    open_loops(function, outer, nest.points if _is_shareable(outer, [nest]) else 0, False)
    dtype, node, index = nest.node.dtype, nest.node, nest.store.index
    start = function.element(node, index, True) if nest.start is None else number(nest.start, dtype)
    vectors = is_float(dtype) and inner[-1][1] >= WORTH_VECTORS and not _has_loops([nest])
    running = _running(function, nest, vectors)
    function.line(running.opened.format(start))
    for iterator, extent in inner[:-1]:
        function.loop(iterator, extent)
    if vectors:
        function.line(f"#pragma omp simd reduction({running.reduction}:r)")
    function.loop(*inner[-1])
    function.line(f"r = {running.step(function.value(nest.term, dtype))};")
    close_loops(function, len(inner))
    function.line(f"{function.element(node, index, True)} = {running.result};")
    close_loops(function, len(outer))


@dataclass(frozen=True)
class _Running:
    """What is kept in the register r while terms arrive: its declaration (of ``{}``, what it starts from), what OpenMP
    calls the way partial results are joined, what a term makes of it, and the element that it stands for."""

    opened: str
    reduction: str
    step: Callable[[str], str]
    result: str


def _running(function: Function, nest: Nest, vectors: bool) -> _Running:
    """The sum itself; of extremes in vector code, its rank. Partial results of differences are added up."""
    operators, operator, dtype = function.operators, nest.accumulator, nest.node.dtype
    assert operator is not None
    if vectors and operator in RANKED:
        whole = RANKS[dtype]
        opened = f"{CTYPES[whole]} r = {operators.rank(operator, '{}', dtype)};"
        return _Running(
            opened,
            operator,
            lambda term: operators.applied(operator, ("r", operators.rank(operator, term, dtype)), whole),
            f"cf_ranked_{SUFFIX[dtype]}(r)",
        )
    signs = {"add": "+", "sub": "+", "mul": "*"}
    return _Running(
        f"{CTYPES[dtype]} r = {{}};",
        signs.get(operator, ""),
        lambda term: operators.applied(operator, ("r", term), dtype),
        "r",
    )


def _trailing(nest: Nest) -> int:
    """How many innermost loops are reductions."""
    count = 0
    while count < len(nest.loops) and nest.loops[-1 - count][0] in nest.reductions:
        count += 1
    return count


def _moves_innermost(nest: Nest) -> bool:
    """Whether no point of the innermost loop depends on another."""
    return nest.is_regular and bool(nest.loops) and not is_accumulated_inside(nest)


def _is_shareable(loops: Loops, nests: Sequence[Nest]) -> bool:
    """Whether the points of the outermost loop write different elements."""
    regular = all(nest.is_regular and nest.is_disjoint for nest in nests)
    return regular and bool(loops) and all(loops[0][0] not in nest.reductions for nest in nests)


def _has_loops(nests: Sequence[Nest]) -> bool:
    """Whether some value is computed by loops of its own."""
    return any(isinstance(inner, Loop) for nest in nests for inner in all_statements((nest.store,)))
