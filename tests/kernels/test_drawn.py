"""Every kernel over drawn dtypes, shapes and layouts of rank up to 5."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.battery import Maker
from tests.kernels.operands import Operand, Shape, Way, contiguous, way
from tests.kernels.twins import agree
from tests.kernels.values import draw

from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS


class Drawn(Maker):
    """A maker whose layouts Hypothesis draws: axes in any order, steps of either sign, gaps, broadcast sources."""

    def __init__(self, data: st.DataObject) -> None:
        super().__init__(data.draw(st.integers(0, 1 << 32)))
        self.data = data

    def source(self, dtype: Dtype, shape: Shape, modest: bool = False, repeated: bool = True) -> Operand:
        lying = self._way(shape, repeated)
        places = list(lying.positions())
        stored = dict(zip(places, draw(dtype, len(places), self.random, modest), strict=True))
        return Operand(dtype, lying, [stored[place] for place in places], self.random.randrange(256))

    def _way(self, shape: Shape, repeated: bool) -> Way:
        order = self.data.draw(st.permutations(range(len(shape))))
        packed = contiguous([shape[axis] for axis in order])
        gap = self.data.draw(st.sampled_from((1, 1, 2, 3)))
        steps = {axis: step * gap for axis, step in zip(order, packed, strict=True)}
        signs = self.data.draw(st.tuples(*[st.sampled_from((1, 1, -1, 0 if repeated else 1))] * len(shape)))
        strides = [steps[axis] * sign for axis, sign in enumerate(signs)]
        return way(shape, strides, self.data.draw(st.integers(0, 9)), self.data.draw(st.integers(0, 3)))


shapes = st.lists(st.sampled_from((1, 2, 3, 4, 5, 7, 8, 9, 16, 0)), max_size=5).filter(lambda s: math.prod(s) <= 200)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=20)
@given(st.data())
def test_the_halves_agree_on_any_layout(name: str, data: st.DataObject) -> None:
    """Answers, values within their room and all other bits, whatever the layouts of the operands."""
    kernel = KERNELS[name]
    dtype = data.draw(st.sampled_from([each for each in Dtype.all if each in kernel.domain]))
    shape = tuple(data.draw(shapes))
    answer = agree(Drawn(data).call(kernel, dtype, shape))
    assert answer in (Answer.DONE, Answer.SHAPE_MISMATCH, Answer.DECLINED)
