"""The C of matrix products: calls of the core's own, or of a BLAS where the run has one and the size pays."""

from __future__ import annotations

from typing import Final

from counterfoil.compile.emit import Function
from counterfoil.compile.literals import CTYPES, SUFFIX
from counterfoil.compile.matmul import Product, arranged
from counterfoil.compile.nests import Nest
from counterfoil.compile.sharing import close_loops, open_loops
from counterfoil_spec.dtypes import float32

PACKED_BYTES: Final = 1 << 18
"""Most bytes of a right operand copied to have its columns contiguous."""

SHARED_PRODUCTS: Final = 1 << 24
"""Fewer multiplications of one product are not worth waking a second thread for; half of it is the least share."""

CACHED_BYTES: Final = 1 << 19
"""A right operand larger than this goes to a BLAS, where there is one: its blocking pays."""


def product_of(nest: Nest) -> Product | None:
    """The nest as a product worth a call, the columns of its right operand contiguous or such that can be made so."""
    product = arranged(nest)
    if product is None or (_needs_packing(product) and _packed_bytes(product) > PACKED_BYTES):
        return None
    return product


def write_product(function: Function, product: Product) -> None:
    """A call per point of the outer loops; of a single large one, each thread takes a share of the rows."""
    nest = product.nest
    function.uses_services = True
    packs = _needs_packing(product)
    ahead = product.outer_of_b if packs else len(product.outer)
    shareable = nest.is_disjoint and bool(product.outer) and product.outer[0][0] not in nest.reductions
    open_loops(function, product.outer[:ahead], nest.points // 8 if shareable and ahead else 0, False)
    b = function.address(product.b.node, product.b.index, product.inner, False)
    if packs:
        b = _write_packing(function, product, b)
        open_loops(function, product.outer[ahead:], 0, False)
    a = function.address(product.a.node, product.a.index, product.inner, False)
    c = function.address(nest.node, nest.store.index, product.inner, True)
    function.line(_call(function, product, (a, b, c)))
    close_loops(function, len(product.outer))


def _call(function: Function, product: Product, places: tuple[str, str, str]) -> str:
    a, b, c = places
    rows, line = str(product.rows), ""
    if _is_large(product):
        line = _library_call(function, product, places)
    elif not product.outer and product.nest.points >= SHARED_PRODUCTS:
        function.shared = product.rows, max(6, SHARED_PRODUCTS * product.rows // product.nest.points // 2)
        rows = "last - first"
        a, c = f"{a} + {product.a_row} * first", f"{c} + {product.c_row} * first"
    step = _padded(product) if _needs_packing(product) else product.b_term
    zero = int(product.starts_at_zero)
    return (
        f"{line}v->product_{SUFFIX[product.nest.node.dtype]}({rows}, {product.columns}, {product.terms}, {a}, "
        f"{product.a_row}, {product.a_term}, {b}, {step}, {c}, {product.c_row}, {zero});"
    )


def _write_packing(function: Function, product: Product, b: str) -> str:
    """The right operand copied with its columns contiguous, up to whole vectors."""
    row, ctype = _padded(product), CTYPES[product.nest.node.dtype]
    strides = f"{product.b_term}, {product.b_column}"
    function.line(f"{ctype} packed[{product.terms * row}];")
    function.line(
        f"v->pack_{SUFFIX[product.nest.node.dtype]}({product.terms}, {product.columns}, {b}, {strides}, packed, {row});"
    )
    return "packed"


def _is_large(product: Product) -> bool:
    """Whether a BLAS is asked first: the right operand is larger than the cache, and neither is scattered."""
    contiguous = product.a_term == 1 or product.a_row == 1
    size = product.terms * product.columns * product.nest.node.dtype.bits // 8
    return contiguous and not _needs_packing(product) and size > CACHED_BYTES


def _library_call(function: Function, product: Product, places: tuple[str, str, str]) -> str:
    """The call of the BLAS where the run has one; what follows it is the call of our own."""
    name = "sgemm" if product.nest.node.dtype is float32 else "dgemm"
    transposed = product.a_term != 1
    a, b, c = places
    lead = product.a_term if transposed else product.a_row
    return (
        f"if (v->{name}) v->{name}({int(transposed)}, 0, {product.rows}, {product.columns}, {product.terms}, 1, "
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
