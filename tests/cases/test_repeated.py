"""(b) Writes through arrays that reach an element twice."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.cases.scenario import counted, fresh, host_buffer, over, refuses, unchanged_after

DISTINCT = {
    "nested in part": ([3, 4], (3, 2), False),
    "two by two": ([2, 2], (2, 3), True),
    "not nested, never met": ([3, 3, 2], (6, 10, 15), True),
    "windows": ([4, 3], (1, 1), False),
    "rows": ([4, 2], (2, 1), True),
    "one row": ([1, 4], (0, 1), True),
    "no element": ([0, 5], (0, 0), True),
}


def test_b07_in_place_on_a_broadcast(cf: Any) -> None:
    """Adding to a broadcast view, or filling it, is refused; an axis of extent 1 repeats nothing."""
    t = fresh(cf, cf.int32, [5, 6, 7])
    wide, ones = t.move(cf.Broadcast([2, 3])), fresh(cf, cf.int32, [1] * 6, [2, 3])
    refuses(cf, "REPEATED_ELEMENTS", [wide, wide, ones], lambda: cf.kernels.add(wide, wide, ones))
    refuses(cf, "REPEATED_ELEMENTS", [wide], lambda: cf.kernels.fill(wide, 1))
    row = t.move(cf.Broadcast([1, 3]))
    assert cf.kernels.fill(row, 1) == cf.Answer.DONE
    assert t.to_values() == [1, 1, 1]


def test_b08_a_range_into_a_zero_stride(cf: Any) -> None:
    """Neither transfer nor iota writes a zero stride of more than one index; without an index nothing is wrong."""
    d = fresh(cf, cf.float32, [9.0])
    wide = d.move(cf.Broadcast([4]))
    unchanged_after(cf, "arrays/repeated", [d], lambda: cf.transfer(counted(cf, cf.float32, [4]), wide))
    refuses(cf, "REPEATED_ELEMENTS", [wide], lambda: cf.kernels.iota(wide, 0))
    none = d.move(cf.Broadcast([0]))
    cf.transfer(cf.from_values(cf.float32, [0], []), none)
    assert cf.kernels.iota(none, 0) == cf.Answer.DONE
    assert d.to_values() == [9.0]


def test_b09_windows_are_read_and_not_written(cf: Any) -> None:
    """Windows that share elements are not written; reading them is fine."""
    x = counted(cf, cf.int32, [5])
    w = x.move(cf.Window(cf.WindowAxis(0, 3)))
    unchanged_after(cf, "arrays/repeated", [x], lambda: w.set([0, 2], 9))
    refuses(cf, "REPEATED_ELEMENTS", [w, w, w], lambda: cf.kernels.add(w, w, w))
    assert w.to_values() == [0, 1, 2, 1, 2, 3, 2, 3, 4]


def test_b09_windows_side_by_side_are_written(cf: Any) -> None:
    """Windows that step past themselves reach every element once."""
    x = counted(cf, cf.int32, [6])
    v = x.move(cf.Window(cf.WindowAxis(0, 3, step=3)))
    assert cf.kernels.add(v, v, v) == cf.Answer.DONE
    assert x.to_values() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("case", DISTINCT)
def test_b10_repeated_is_exact(cf: Any, case: str) -> None:
    """What is written is refused exactly if two indices meet, for either sign of each stride."""
    shape, strides, distinct = DISTINCT[case]
    buffer = host_buffer(cf, bytes(4 * 48))
    for flips in range(2 ** len(shape)):
        signs = [-1 if flips >> axis & 1 else 1 for axis in range(len(shape))]
        offset = sum((d - 1) * s for d, s, sign in zip(shape, strides, signs, strict=True) if sign < 0 and d)
        signed = [sign * stride for sign, stride in zip(signs, strides, strict=True)]
        x = over(cf, cf.int32, buffer, shape, signed, offset if 0 not in shape else 0)
        assert x.layout.is_distinct is distinct
        if distinct:
            assert cf.kernels.fill(x, 1) == cf.Answer.DONE
        else:
            refuses(cf, "REPEATED_ELEMENTS", [x], partial(cf.kernels.fill, x, 1))
