"""The C of nests: elementwise groups, sums into one element, matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from counterfoil.compile.emit import Function
from counterfoil.compile.fuse import is_accumulated_inside
from counterfoil.compile.literals import CTYPES, SUFFIX, is_float, number
from counterfoil.compile.matmul import Product, product_of
from counterfoil.compile.nests import Loops, Nest
from counterfoil.compile.schedule import collapsed
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs.loops import Apply, Loop, Number, Scalar, Store
from counterfoil_spec.programs.loops import statements as all_statements

WORTH_VECTORS: Final = 16
"""A shorter sum is added up one term after the other."""

HOT_POINTS: Final = 1024
"""Loops over fewer points are left to the compiler's own judgement, which is quick."""

PARALLEL_POINTS: Final = 1 << 17
"""Fewer points are not worth a second thread."""

CHUNK_POINTS: Final = 1 << 15
"""The least points of one thread's share."""

PACKED_BYTES: Final = 1 << 18
"""Most bytes of a right operand copied to have its columns contiguous."""

PARALLEL_PRODUCTS: Final = 1 << 21
"""Fewer multiplications of a matrix product are not worth a second thread; half of it is the least share."""

CACHED_BYTES: Final = 1 << 19
"""A right operand larger than this goes to a BLAS, where there is one: its blocking pays."""


def write_group(function: Function, group: Sequence[Nest]) -> None:
    """A group of nests that share their loops, or one nest of any kind."""
    nests = collapsed(group)
    first = nests[0]
    product = product_of(first) if len(nests) == 1 else None
    if product is not None and _pays(product):
        _write_product(function, product)
    elif len(nests) == 1 and first.is_regular and is_accumulated_inside(first):
        _write_sum(function, first)
    else:
        _write_elements(function, nests)


def _write_elements(function: Function, nests: Sequence[Nest]) -> None:
    """Every store at each point of the shared loops."""
    nests = [_filled(function, nest) for nest in nests]
    loops = nests[0].loops
    regular = all(nest.is_regular for nest in nests)
    parallel = regular and bool(loops) and all(loops[0][0] not in nest.reductions for nest in nests)
    hot = regular and nests[0].points >= HOT_POINTS and not _has_loops(nests)
    _open(function, loops, parallel, nests[0].points * len(nests), hot)
    for nest in nests:
        store = nest.store
        value: Scalar = store.value
        if nest.start is not None and nest.accumulator is not None:
            value = Apply(nest.accumulator, (Number(nest.start), nest.term))
        function.statements((Store(store.node, store.index, value),))
    _close(function, len(loops))


def _filled(function: Function, nest: Nest) -> Nest:
    """The nest adding to what is stored, a fill in front of it; as it is where each point starts by itself."""
    if nest.start is None or not nest.reductions:
        return nest
    loops = tuple(loop for loop in nest.loops if loop[0] not in nest.reductions)
    fill = collapsed([Nest(loops, Store(nest.node, nest.store.index, Number(nest.start)))])[0]
    _open(function, fill.loops, False, 0, False)
    function.statements((fill.store,))
    _close(function, len(fill.loops))
    return replace(nest, start=None)


def _write_sum(function: Function, nest: Nest) -> None:
    """The innermost loops add to one element: kept in a register."""
    inside = _trailing(nest)
    outer, inner = nest.loops[: len(nest.loops) - inside], nest.loops[len(nest.loops) - inside :]
    if any(iterator in nest.reductions for iterator, _ in outer):
        nest = _filled(function, nest)
    parallel = bool(outer) and outer[0][0] not in nest.reductions
    _open(function, outer, parallel, nest.points, False)
    dtype, node, index = nest.node.dtype, nest.node, nest.store.index
    start = function.element(node, index, True) if nest.start is None else number(nest.start, dtype)
    function.line(f"{CTYPES[dtype]} r = {start};")
    for iterator, extent in inner[:-1]:
        function.loop(iterator, extent)
    assert nest.accumulator is not None
    if is_float(dtype) and inner[-1][1] >= WORTH_VECTORS and not _has_loops([nest]):
        function.line(f"#pragma omp simd reduction({_reduction(function, nest)}:r)")
    function.loop(*inner[-1])
    term = function.value(nest.term, dtype)
    function.line(f"r = {function.operators.applied(nest.accumulator, ('r', term), dtype)};")
    _close(function, len(inner))
    function.line(f"{function.element(node, index, True)} = r;")
    _close(function, len(outer))


def _reduction(function: Function, nest: Nest) -> str:
    """What OpenMP calls the accumulator; partial results of differences are added up."""
    signs = {"add": "+", "sub": "+", "mul": "*"}
    assert nest.accumulator is not None
    if nest.accumulator in signs:
        return signs[nest.accumulator]
    suffix = SUFFIX[nest.node.dtype]
    function.operators.used |= {f"{nest.accumulator}_{suffix}", f"reduce_{nest.accumulator}_{suffix}"}
    return f"cf_{nest.accumulator}_{suffix}"


def _trailing(nest: Nest) -> int:
    """How many innermost loops are reductions."""
    count = 0
    while count < len(nest.loops) and nest.loops[-1 - count][0] in nest.reductions:
        count += 1
    return count


# --- matrix products -------------------------------------------------------------------------------------------------


def _pays(product: Product) -> bool:
    """Whether the columns of the right operand are contiguous, or can be made so."""
    return not _needs_packing(product) or _packed_bytes(product) <= PACKED_BYTES


def _write_product(function: Function, product: Product) -> None:
    """A call per point of the outer loops; of a single large one, each thread takes a share of the rows."""
    nest = product.nest
    if not product.starts_at_zero:
        nest = _filled(function, nest)
    suffix = SUFFIX[nest.node.dtype]
    function.operators.used.add(f"product_{suffix}")
    _open(function, product.outer, False, 0, False)
    a, b = (function.address(load.node, load.index, product.inner, False) for load in (product.a, product.b))
    c = function.address(nest.node, nest.store.index, product.inner, True)
    if _needs_packing(product):
        b = _write_packing(function, product, b)
    row = _padded(product) if _needs_packing(product) else product.b_term
    zero = int(product.starts_at_zero)
    rows = str(product.rows)
    if _is_large(product):
        line = _library_call(function, product, (a, b, c))
    elif not product.outer and nest.points >= PARALLEL_PRODUCTS:
        function.shared = product.rows, max(6, PARALLEL_PRODUCTS * product.rows // nest.points // 2)
        line, rows = "", "last - first"
        a, c = f"{a} + {product.a_row} * first", f"{c} + {product.c_row} * first"
    else:
        line = ""
    function.line(
        f"{line}cf_product_{suffix}({rows}, {product.columns}, {product.terms}, {a}, {product.a_row}, "
        f"{product.a_term}, {b}, {row}, {c}, {product.c_row}, {zero});"
    )
    _close(function, len(product.outer))


def _write_packing(function: Function, product: Product, b: str) -> str:
    """The right operand copied with its columns contiguous, up to whole vectors."""
    row, ctype = _padded(product), CTYPES[product.nest.node.dtype]
    function.line(f"{ctype} packed[{product.terms * row}];")
    function.line(f"const {ctype} *whole = {b};")
    function.open(f"for (i64 p = 0; p < {product.terms}; p++)")
    function.open(f"for (i64 j = 0; j < {row}; j++)")
    value = f"whole[{product.b_term} * p + {product.b_column} * j]"
    chosen = value if row == product.columns else f"j < {product.columns} ? {value} : 0"
    function.line(f"packed[{row} * p + j] = {chosen};")
    _close(function, 2)
    return "packed"


def _is_large(product: Product) -> bool:
    """Whether a BLAS is asked first: the right operand is larger than the cache, and neither is scattered."""
    contiguous = product.a_term == 1 or product.a_row == 1
    size = product.terms * product.columns * product.nest.node.dtype.bits // 8
    return contiguous and not _needs_packing(product) and size > CACHED_BYTES


def _library_call(function: Function, product: Product, places: tuple[str, str, str]) -> str:
    """The call of the BLAS where the run has one; what follows it is the call of our own."""
    function.uses_services = True
    name = "sgemm" if product.nest.node.dtype is float32 else "dgemm"
    transposed = product.a_term != 1
    a, b, c = places
    lead = product.a_term if transposed else product.a_row
    return (
        f"if (v && v->{name}) v->{name}({int(transposed)}, 0, {product.rows}, {product.columns}, {product.terms}, 1, "
        f"{a}, {lead}, {b}, {product.b_term}, {int(not product.starts_at_zero)}, {c}, {product.c_row}); else "
    )


def _needs_packing(product: Product) -> bool:
    return product.b_column != 1 or _padded(product) != product.columns


def _padded(product: Product) -> int:
    """The columns, up to whole vectors."""
    lanes = 64 * 8 // product.nest.node.dtype.bits
    return -(-product.columns // lanes) * lanes


def _packed_bytes(product: Product) -> int:
    return product.terms * _padded(product) * product.nest.node.dtype.bits // 8


# --- loops -----------------------------------------------------------------------------------------------------------


def _open(function: Function, loops: Loops, parallel: bool, points: int, hot: bool) -> None:
    """The heads of loops; the outermost of a large nest over the share of a thread. ``hot``: no point of the innermost
    depends on another, and vector code pays."""
    for level, (iterator, extent) in enumerate(loops):
        if hot and level == len(loops) - 1:
            function.line("#pragma omp simd")
        if level == 0 and parallel and points >= PARALLEL_POINTS and extent > 1:
            function.share(iterator, extent, max(1, -(-CHUNK_POINTS * extent // points)))
        else:
            function.loop(iterator, extent)


def _close(function: Function, count: int) -> None:
    for _ in range(count):
        function.close()


def _has_loops(nests: Sequence[Nest]) -> bool:
    """Whether some value is computed by loops of its own."""
    return any(isinstance(inner, Loop) for nest in nests for inner in all_statements((nest.store,)))

