"""Calls of every kernel, dtype and way of lying, for sizes around blocks, vectors and bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from tests.kernels.operands import Call, Operand, Shape, Way, contiguous, way
from tests.kernels.values import draw

from counterfoil_reference.numbers import value_of_code
from counterfoil_spec.dtypes import Dtype, bool_, float32, int32
from counterfoil_spec.expressions import Apply, Cast, Constant, Input, Node
from counterfoil_spec.kernels import ARITIES, KERNELS, Family, Kernel

SIZES: Final = (0, 1, 7, 8, 63, 64, 65, 511, 512, 513)

SHAPES: Final[dict[int, tuple[Shape, ...]]] = {
    0: ((0,), (3, 0), (0, 4, 2)), 1: ((), (1,), (1, 1, 1)), 7: ((7,), (1, 7), (7, 1)), 8: ((8,), (2, 4), (2, 2, 2)),
    63: ((63,), (7, 9), (3, 7, 3)), 64: ((64,), (8, 8), (4, 4, 4)), 65: ((65,), (5, 13), (13, 5)),
    511: ((511,), (7, 73), (73, 7)), 512: ((512,), (16, 32), (2, 8, 32)), 513: ((513,), (27, 19), (3, 9, 19)),
}  # fmt: skip
"""Shapes of each size."""


def ways(shape: Shape, repeated: bool) -> list[Way]:
    """Contiguous; from inside a byte or line; reversed; with gaps; turned; steep; if ``repeated``, broadcast too."""
    plain = contiguous(shape)
    wide = contiguous([*shape[1:], 1]) if shape else ()
    turned = tuple(reversed(contiguous(tuple(reversed(shape)))))
    found = [
        way(shape, plain),
        way(shape, plain, before=3, after=1),
        way(shape, [-stride for stride in plain], before=1),
        way(shape, [3 * stride for stride in plain], before=2, after=3),
        way(shape, turned, before=1),
        way(shape, [-2 * stride for stride in turned], after=2),
        way(shape, [stride * (1 if place % 2 else -1) for place, stride in enumerate(plain)], before=5),
    ]
    if repeated and shape:
        found.append(way(shape, (0, *contiguous(shape[1:])), before=1))
        found.append(way(shape, (*wide[:-1], 0), before=1))
    return found


class Maker:
    """Operands of calls, drawn from one seed."""

    def __init__(self, seed: object) -> None:
        self.random = random.Random(repr(seed))

    def source(self, dtype: Dtype, shape: Shape, modest: bool = False, repeated: bool = True) -> Operand:
        """An operand that is read."""
        lying = self.random.choice(ways(shape, repeated))
        places = list(lying.positions())
        stored = dict(zip(places, draw(dtype, len(places), self.random, modest), strict=True))
        codes = [stored[place] for place in places]
        return Operand(dtype, lying, codes, self.random.randrange(256))

    def written(self, dtype: Dtype, shape: Shape) -> Operand:
        """An operand that is written."""
        return self.source(dtype, shape, repeated=False)

    def call(self, kernel: Kernel, dtype: Dtype, shape: Shape) -> Call:
        """A call with sources of ``dtype`` and, for kernels along axes, of ``shape``."""
        match kernel.family:
            case Family.REDUCE | Family.ARG:
                return self._along_axes(kernel, dtype, shape)
            case Family.SCAN | Family.SOFTMAX:
                return self._along_axis(kernel, dtype, shape)
            case Family.MATMUL:
                return self._product(kernel, dtype, shape)
            case Family.MAP:
                return self._expression(dtype, shape)
            case Family.FILL | Family.IOTA:
                return self._without_source(kernel, dtype, shape)
        return self._pointwise(kernel, dtype, shape)

    def _pointwise(self, kernel: Kernel, dtype: Dtype, shape: Shape) -> Call:
        sources = [self.source(dtype, shape) for _ in range(ARITIES[kernel.family])]
        if kernel.condition:
            condition = self.random.choice(sorted(kernel.condition, key=lambda each: each.code))
            sources[0] = self.source(condition, shape)
        result = kernel.result or dtype
        if kernel.family is Family.CAST:
            result = self.random.choice(Dtype.all)
        if self.random.random() < 0.3:
            same = [k for k, each in enumerate(sources) if each.dtype.bits == result.bits and each.way.distinct()]
            if same:
                return _identical(kernel.name, sources, self.random.choice(same), result)
        return Call(kernel.name, self.written(result, shape), sources)

    def _along_axes(self, kernel: Kernel, dtype: Dtype, shape: Shape) -> Call:
        axes = [axis for axis in range(len(shape)) if self.random.random() < 0.6]
        self.random.shuffle(axes)
        kept = tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
        tame = kernel.name == "prod" and self.random.random() < 0.8
        source = self.source(dtype, shape, modest=tame)
        return Call(kernel.name, self.written(kernel.result or dtype, kept), [source], (axes,))

    def _along_axis(self, kernel: Kernel, dtype: Dtype, shape: Shape) -> Call:
        axis = self.random.randrange(max(len(shape), 1))
        source = self.source(dtype, shape)
        if self.random.random() < 0.3 and source.way.distinct():
            return _identical(kernel.name, [source], 0, dtype, (axis,))
        return Call(kernel.name, self.written(dtype, shape), [source], (axis,))

    def _product(self, kernel: Kernel, dtype: Dtype, shape: Shape) -> Call:
        """The shape's last extent is the number of terms, up to 130; rows and columns are few."""
        terms = min(shape[-1], 130) if shape else 1
        rows, columns = self.random.choice([(1, 1), (2, 3), (1, 5), (5, 1), (9, 2), (0, 2)])
        batch = self.random.choice([((), ()), ((2,), (2,)), ((2,), (1,)), ((), (2,)), ((2, 1), (3,))])
        x = self.source(dtype, (*batch[0], rows, terms), modest=self.random.random() < 0.7)
        y = self.source(dtype, (*batch[1], terms, columns), modest=self.random.random() < 0.7)
        joint = {0: (), 1: (2,), 2: (2, 3)}[max(map(len, batch))]
        return Call(kernel.name, self.written(dtype, (*joint, rows, columns)), [x, y])

    def _without_source(self, kernel: Kernel, dtype: Dtype, shape: Shape) -> Call:
        dst = self.written(dtype, shape)
        if kernel.family is Family.IOTA:
            return Call(kernel.name, dst, [], (self.random.randrange(max(len(shape), 1)),))
        code = draw(dtype, 1, self.random)[0]
        return Call(kernel.name, dst, [], (value_of_code(dtype, code),))

    def _expression(self, dtype: Dtype, shape: Shape) -> Call:
        made = expression(dtype)
        flags = self.source(bool_, shape)
        sources = [self.source(dtype, shape), self.source(dtype, shape), flags]
        result = made.dtype if isinstance(made, Cast) else dtype
        if result is dtype and self.random.random() < 0.3 and sources[0].way.distinct():
            return _identical("map", sources, 0, result, (), made)
        return Call("map", self.written(result, shape), sources, (), made)


def expression(dtype: Dtype) -> Node:
    """An expression of exactly rounded nodes over inputs 0 and 1 of ``dtype`` and 2 of bool."""
    x, y, c = Input(0), Input(1), Input(2)
    if dtype not in KERNELS["add"].domain:
        return Apply("where", c, x, y)
    one = Constant(dtype, 1)
    if dtype not in KERNELS["maximum"].domain:
        return Apply("where", c, Apply("mul", x, y), Apply("sub", Apply("neg", x), one))
    chosen = Apply("where", Apply("less", x, y), Apply("add", x, one), Apply("fma", x, y, one))
    if dtype is float32:
        return Cast(int32, Apply("maximum", chosen, Apply("where", c, x, y)))
    return Apply("maximum", chosen, Apply("where", c, x, Apply("neg", y)))


def _identical(
    kernel: str,
    sources: Sequence[Operand],
    which: int,
    result: Dtype,
    parameters: tuple[int, ...] = (),
    expression: Node | None = None,
) -> Call:
    """A call whose destination is one of its sources, read at the result's dtype."""
    same = sources[which]
    return Call(kernel, Operand(result, same.way, same.codes, same.filler), sources, parameters, expression, which)


def calls(kernel: Kernel, dtype: Dtype, sizes: Sequence[int] = SIZES) -> Iterator[Call]:
    """One call for each shape of each size, of the large sizes for one shape."""
    for size in sizes:
        shapes = SHAPES[size]
        if size > 100:
            shapes = (random.Random(f"{kernel.name} {dtype.name} {size}").choice(shapes),)
        for place, shape in enumerate(shapes):
            yield Maker((kernel.name, dtype.name, size, place)).call(kernel, dtype, shape)
