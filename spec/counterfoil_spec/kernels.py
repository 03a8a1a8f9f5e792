"""The kernel table (K1): for each kernel the dtypes it loads and stores, its parameters, and what it declines.

A call is ``name(dst, *sources, **parameters)``. Destinations are written, sources read. A dtype outside the row is
Wrong_dtype; shapes or axes that do not fit are Shape_mismatch; Declined is given only where ``declines`` says so.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from counterfoil_spec.dtypes import Dtype, Kind, bit, bool_, int64

FLOATS: Final = frozenset(d for d in Dtype.all if d.kind is Kind.FLOAT)
INTEGERS: Final = frozenset(d for d in Dtype.all if d.kind in (Kind.SIGNED, Kind.UNSIGNED))
COMPLEXES: Final = frozenset(d for d in Dtype.all if d.kind is Kind.COMPLEX)
BOOLEANS: Final = frozenset({bool_, bit})
REALS: Final = FLOATS | INTEGERS
ORDERED: Final = REALS | BOOLEANS
NUMBERS: Final = REALS | COMPLEXES
ALL: Final = frozenset(Dtype.all)


class Family(enum.Enum):
    """How a kernel walks its operands, and its call.

    FILL ``(dst, value)``; IOTA ``(dst, axis)``; COPY, CAST, UNARY ``(dst, x)``; BINARY, COMPARE ``(dst, x, y)``;
    WHERE ``(dst, c, x, y)``; FMA ``(dst, x, y, z)``; MAP ``(dst, expression, inputs)``; REDUCE, ARG
    ``(dst, x, axes)`` with the reduced axes (each named once) removed from the destination's shape; SCAN, SOFTMAX
    ``(dst, x, axis)``; MATMUL ``(dst, x, y)`` over the last two axes, earlier axes broadcast, rank 2 or more.
    """

    FILL = "fill"
    IOTA = "iota"
    COPY = "copy"
    CAST = "cast"
    UNARY = "unary"
    BINARY = "binary"
    COMPARE = "compare"
    WHERE = "where"
    FMA = "fma"
    MAP = "map"
    REDUCE = "reduce"
    ARG = "arg"
    SCAN = "scan"
    SOFTMAX = "softmax"
    MATMUL = "matmul"

    @property
    def pointwise(self) -> bool:
        """Whether result index i reads its sources at index i alone."""
        return self not in (Family.REDUCE, Family.ARG, Family.SCAN, Family.SOFTMAX, Family.MATMUL)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One row. ``domain``: dtypes of the sources, all equal (of ``dst`` for fill and iota; of ``x`` alone for cast).

    ``result``: the one dtype written, or None where it is the sources' own (any at all for cast, any of its
    expression's result for map). ``condition``: dtypes of ``where``'s first source. ``ulps``: the bound of N2 as
    (computed in float32, computed in float64), None for results rounded once or bounded by N3.
    ``declines_identical``: the kernel declines a destination identical to a source, where they have an element.
    """

    name: str
    family: Family
    domain: frozenset[Dtype]
    result: Dtype | None = None
    condition: frozenset[Dtype] = frozenset()
    ulps: tuple[int, int] | None = None
    declines_identical: bool = False


def _rows() -> list[Kernel]:
    functions = {
        "exp": (2, 2), "exp2": (2, 2), "log": (1, 2), "log2": (1, 2), "log1p": (1, 2), "expm1": (1, 2),
        "sin": (2, 2), "cos": (2, 2), "tan": (4, 2), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2),
        "sinh": (3, 2), "cosh": (2, 2), "tanh": (2, 2), "erf": (2, 2),
    }  # fmt: skip
    rows = [
        Kernel("fill", Family.FILL, ALL),
        Kernel("iota", Family.IOTA, NUMBERS),
        Kernel("copy", Family.COPY, ALL),
        Kernel("cast", Family.CAST, ALL),
        Kernel("neg", Family.UNARY, NUMBERS),
        *(Kernel(name, Family.UNARY, REALS) for name in ("recip", "abs", "sign")),
        *(Kernel(name, Family.UNARY, FLOATS) for name in ("sqrt", "floor", "ceil", "round", "trunc")),
        *(Kernel(name, Family.UNARY, FLOATS, ulps=ulps) for name, ulps in functions.items()),
        *(Kernel(name, Family.BINARY, NUMBERS) for name in ("add", "sub", "mul")),
        Kernel("fdiv", Family.BINARY, FLOATS),
        Kernel("idiv", Family.BINARY, INTEGERS),
        Kernel("mod", Family.BINARY, REALS),
        Kernel("pow", Family.BINARY, REALS, ulps=(4, 2)),
        Kernel("atan2", Family.BINARY, FLOATS, ulps=(3, 2)),
        *(Kernel(name, Family.BINARY, ORDERED) for name in ("maximum", "minimum")),
        *(Kernel(f"bitwise_{name}", Family.BINARY, INTEGERS | BOOLEANS) for name in ("and", "or", "xor")),
        *(Kernel(name, Family.COMPARE, ALL, result=bool_) for name in ("equal", "not_equal", "less", "less_equal")),
        Kernel("where", Family.WHERE, ALL, condition=BOOLEANS),
        Kernel("fma", Family.FMA, REALS),
        Kernel("map", Family.MAP, ALL),
        Kernel("sum", Family.REDUCE, NUMBERS, declines_identical=True),
        Kernel("prod", Family.REDUCE, REALS, declines_identical=True),
        *(Kernel(name, Family.REDUCE, ORDERED, declines_identical=True) for name in ("max", "min")),
        Kernel("mean", Family.REDUCE, FLOATS | COMPLEXES, declines_identical=True),
        *(Kernel(name, Family.ARG, ORDERED, result=int64, declines_identical=True) for name in ("argmax", "argmin")),
        Kernel("cumsum", Family.SCAN, NUMBERS),
        Kernel("softmax", Family.SOFTMAX, FLOATS),
        Kernel("matmul", Family.MATMUL, REALS, declines_identical=True),
    ]
    return rows


KERNELS: Final[dict[str, Kernel]] = {kernel.name: kernel for kernel in _rows()}
"""Every kernel by name, in the order of the C enum."""

MAP_KERNELS: Final = frozenset(
    kernel.name
    for kernel in KERNELS.values()
    if kernel.family in (Family.UNARY, Family.BINARY, Family.COMPARE, Family.WHERE, Family.FMA)
)
"""The kernels an expression's Apply may name."""

ARITIES: Final[dict[Family, int]] = {
    Family.COPY: 1, Family.CAST: 1, Family.UNARY: 1, Family.BINARY: 2, Family.COMPARE: 2, Family.WHERE: 3,
    Family.FMA: 3, Family.REDUCE: 1, Family.ARG: 1, Family.SCAN: 1, Family.SOFTMAX: 1, Family.MATMUL: 2,
    Family.FILL: 0, Family.IOTA: 0,
}  # fmt: skip
"""Sources per family; map takes as many as it is given."""
