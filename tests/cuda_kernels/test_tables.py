"""Calls whose parameters are more than a launch takes: they lie in memory of the device."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

import counterfoil as cf
from counterfoil.cuda import launch
from counterfoil.cuda.kernels import operands
from counterfoil_spec.answers import Answer
from counterfoil_spec.expressions import Apply, Input
from counterfoil_spec.limits import MAX_MAP_INPUTS

RANK = 10


def scattered(values: np.ndarray[Any, Any], order: list[int]) -> cf.Array:
    """The values on the device with their axes in that order in memory, every second element another's."""
    strides, step = [0] * values.ndim, 2
    for axis in order:
        strides[axis] = step
        step *= values.shape[axis]
    layout = cf.Layout(values.shape, strides)
    memory = np.zeros(layout.span[1], values.dtype)
    for index in np.ndindex(*values.shape):
        memory[sum(k * stride for k, stride in zip(index, strides, strict=True))] = values[index]
    buffer = cf.cuda(0).buffer(memory.nbytes)
    cf.inspection.poke(buffer, memory.tobytes())
    return cf.Array(cf.int32, layout, buffer)


@pytest.mark.parametrize("wide", [False, True])
def test_a_map_of_most_inputs_in_most_layouts(monkeypatch: pytest.MonkeyPatch, wide: bool) -> None:
    """The widest numbers, the largest capacity and all inputs that a map takes: right, by launches that any driver
    takes."""
    monkeypatch.setattr(operands, "always_wide", wide)
    monkeypatch.setattr(operands, "CAPACITIES", (32,))
    sent: list[int] = []
    function = launch.Function.launch

    def noted(self: Any, grid: Any, block: Any, arguments: bytes, shared: int = 0) -> None:
        sent.append(len(arguments))
        function(self, grid, block, arguments, shared)

    monkeypatch.setattr(launch.Function, "launch", noted)
    random = np.random.default_rng(7)
    shape = (2,) * RANK
    values = [random.integers(0, 1000, shape).astype(np.int32) for _ in range(MAX_MAP_INPUTS)]
    inputs = [scattered(each, list(random.permutation(RANK))) for each in values]
    dst = scattered(np.zeros(shape, np.int32), list(random.permutation(RANK)))
    total: Any = reduce(lambda left, right: Apply("add", left, right), map(Input, range(MAX_MAP_INPUTS)))
    assert cf.kernels.map(dst, total, inputs) is Answer.DONE
    assert np.array_equal(np.array(dst.to_device(cf.host()).to_values()).reshape(shape), sum(values))
    assert sent and max(sent) <= launch.MOST_PARAMETERS and (8 in sent) is wide
