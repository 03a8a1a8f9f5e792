"""(d) Views or copies, negative strides, chains of movements."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.cases.scenario import codes_of, counted, fresh, host_buffer, is_fast, over, sliced, transposed

POINTWISE = ["neg", "abs", "sign", "add", "sub", "mul", "maximum", "minimum", "fma", "where", "equal", "less"]


def test_b16_flattening_a_transpose(cf: Any) -> None:
    """A transpose flattens to no view; its copy flattens in its own order."""
    p = transposed(cf, fresh(cf, cf.int32, [1, 2, 3, 4, 5, 6], [2, 3]))
    assert p.move(cf.Reshape([6])) is None
    assert p.copy().move(cf.Reshape([6])).to_values() == [1, 4, 2, 5, 3, 6]


def test_b17_negative_strides(cf: Any) -> None:
    """A negative stride walks down from the offset, and below 0 there is no layout."""
    buffer = counted(cf, cf.int32, [16]).buffer
    assert over(cf, cf.int32, buffer, [4], [-3], 9).to_values() == [9, 6, 3, 0]
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.Layout([4], [-3], 8)
    assert caught.value.rule == "layouts/negative-position"


def test_b18_reversed_views(cf: Any) -> None:
    """A reversed view is not contiguous; kernels follow its indices; it flattens only where one stride does."""
    x = counted(cf, cf.float32, [2, 3])
    rows, both = sliced(cf, x, (0, 2), (2, 3, -1)), sliced(cf, x, (1, 2, -1), (2, 3, -1))
    assert not rows.layout.is_contiguous and not both.layout.is_contiguous
    for view, expected in ((rows, [-2.0, -1.0, -0.0, -5.0, -4.0, -3.0]), (both, [-5.0, -4.0, -3.0, -2.0, -1.0, -0.0])):
        out = cf.host_array(cf.float32, [2, 3])
        assert cf.kernels.neg(out, view) == cf.Answer.DONE
        assert [str(value) for value in out.to_values()] == [str(value) for value in expected]
    assert rows.move(cf.Reshape([6])) is None
    flat = both.move(cf.Reshape([6]))
    assert flat.layout.strides == (-1,) and flat.to_values() == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]


def test_b19_an_offset_without_strides(cf: Any) -> None:
    """The offset of a one-element view survives reshape and broadcast."""
    x = over(cf, cf.uint8, host_buffer(cf, bytes(range(100))), [1, 1, 1, 1], [0, 0, 0, 0], 91)
    y = x.move(cf.Reshape([1, 1]))
    z = y.move(cf.Broadcast([2, 3]))
    assert x.layout.offset == y.layout.offset == z.layout.offset == 91
    assert z.to_values() == [91] * 6


@pytest.mark.parametrize("seed", range(20))
def test_b19_chains_of_movements(cf: Any, seed: int) -> None:
    """A chain of slices, flips and reshapes reads what the same chain does to a list of values."""
    draw = random.Random(seed)
    shape, values = [4, 6], list(range(24))
    view = counted(cf, cf.int32, shape)
    for _ in range(8):
        if draw.random() < 0.5:
            rows, columns = ((draw.randrange(2), draw.choice([1, -1])) for _ in range(2))
            kept = [_indices(extent, *how) for extent, how in zip(shape, (rows, columns), strict=True)]
            ranges = [(k[0], len(k), [*k, k[0] + 1][1] - k[0]) for k in kept]
            values = [values[i * shape[1] + j] for i in kept[0] for j in kept[1]]
            view, shape = sliced(cf, view, *ranges), [len(k) for k in kept]
        else:
            shape = [shape[1], shape[0]]
            moved = view.move(cf.Reshape(shape))
            view = view.copy().move(cf.Reshape(shape)) if moved is None else moved
        assert list(view.shape) == shape and view.to_values() == values


def _indices(extent: int, cut: int, step: int) -> list[int]:
    kept = list(range(min(cut, extent - 1), extent))
    return kept[::step]


def test_b20_matmul_with_a_broadcast_batch(cf: Any) -> None:
    """A stride-0 batch axis on either side, or both, multiplies as the copied operand does."""
    one = fresh(cf, cf.int32, [1, 2, 3, 4], [1, 2, 2]).move(cf.Broadcast([3, 2, 2]))
    scaled = fresh(cf, cf.int32, [1, 0, 0, 1, 2, 0, 0, 2, 3, 0, 0, 3], [3, 2, 2])
    expected = [1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12]
    for left, right in ((one, scaled), (scaled, one)):
        out = cf.host_array(cf.int32, [3, 2, 2])
        assert cf.kernels.matmul(out, left, right) == cf.Answer.DONE
        assert out.to_values() == expected
    out = cf.host_array(cf.int32, [3, 2, 2])
    assert cf.kernels.matmul(out, one, one) == cf.Answer.DONE
    assert out.to_values() == [7, 10, 15, 22] * 3


def test_b21_a_column_slice(cf: Any) -> None:
    """Kernels on a column slice see the slice, reductions and products alike."""
    v = sliced(cf, counted(cf, cf.int32, [3, 4]), (0, 3), (1, 2))
    out, best, at = (cf.host_array(d, s) for d, s in ((cf.int32, [3, 2]), (cf.int32, []), (cf.int64, [])))
    assert cf.kernels.mul(out, v, fresh(cf, cf.int32, [10], []).move(cf.Broadcast([3, 2]))) == cf.Answer.DONE
    assert out.to_values() == [10, 20, 50, 60, 90, 100]
    assert cf.kernels.max(best, v, [0, 1]) == cf.Answer.DONE and best.to_values() == [10]
    assert cf.kernels.argmax(at, v, [0, 1]) == cf.Answer.DONE and at.to_values() == [5]


@pytest.mark.parametrize("name", POINTWISE)
def test_b21_every_kernel_on_strided_operands(cf: Any, name: str) -> None:
    """A kernel gives the same bits on strided views and on their copies."""
    extent = 40 if is_fast(cf) else 5
    base = fresh(cf, cf.float32, [float((7 * k) % 11 - 5) for k in range(2 * extent * extent)], [extent, 2 * extent])
    views = [
        sliced(cf, base, (0, extent), (1, extent)),
        sliced(cf, base, (0, extent), (2 * extent - 1, extent, -2)),
        transposed(cf, sliced(cf, base, (0, extent), (0, extent, 2))),
        sliced(cf, base, (1, 1), (0, extent)).move(cf.Broadcast([extent, extent])),
    ]
    count = {"neg": 1, "abs": 1, "sign": 1, "fma": 3, "where": 3}.get(name, 2)
    result = cf.bool_ if name in ("equal", "less") else cf.float32
    for first in range(len(views)):
        sources = [views[(first + k) % len(views)] for k in range(count)]
        if name == "where":
            sources[0] = _positive(cf, sources[0])
        outs = [cf.host_array(result, [extent, extent]) for _ in range(2)]
        assert getattr(cf.kernels, name)(outs[0], *sources) == cf.Answer.DONE
        assert getattr(cf.kernels, name)(outs[1], *(x.copy() for x in sources)) == cf.Answer.DONE
        assert codes_of(cf, outs[0]) == codes_of(cf, outs[1])


def _positive(cf: Any, x: Any) -> Any:
    flags = cf.host_array(cf.bool_, list(reversed(x.shape)))
    zero = fresh(cf, cf.float32, [0.0], []).move(cf.Broadcast(list(x.shape)))
    assert cf.kernels.less(transposed(cf, flags), zero, x) == cf.Answer.DONE
    return transposed(cf, flags)
