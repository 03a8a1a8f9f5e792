"""Every kernel and dtype with operands flush against inaccessible pages, over two poisons."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.kernels.battery import SHAPES, Maker
from tests.kernels.operands import Call
from tests.memory_safety.calling import Prepared
from tests.memory_safety.guarded import Guarded, Side

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS

SIZES = (0, 1, 7, 8, 63, 65, 512, 513)
POISONS = (0x00, 0xFF)
GUARDS = [Guarded() for _ in range(4)]
PAIRS = [(name, dtype) for name, kernel in KERNELS.items() for dtype in Dtype.all if dtype in kernel.domain]


def calls(name: str, dtype: Dtype) -> Iterator[Call]:
    """One call for each size, its shape one of that size's."""
    for place, size in enumerate(SIZES):
        shapes = SHAPES[size]
        yield Maker((name, dtype.name, size)).call(KERNELS[name], dtype, shapes[place % len(shapes)])


@pytest.mark.parametrize(("name", "dtype"), PAIRS, ids=[f"{name}-{dtype}" for name, dtype in PAIRS])
def test_kernels_touch_only_their_elements(name: str, dtype: Dtype) -> None:
    """No byte outside the operands is touched, no bit beside the elements changes, no result depends on either."""
    for call in calls(name, dtype):
        prepared = Prepared(call)
        runs = [prepared.run(GUARDS, side, poison) for side in Side for poison in POISONS]
        results = {bits for answer, bits in runs if answer == 0}
        assert len(results) <= 1
        assert len({answer for answer, _ in runs}) == 1
