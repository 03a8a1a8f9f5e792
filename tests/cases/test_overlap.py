"""(a) Operands that overlap what is written."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.cases.scenario import counted, fresh, is_fast, raw, refuses, sliced, transposed, unchanged_after


def test_b01_in_place_with_the_transpose(cf: Any) -> None:
    """x += transpose(x) is refused at every size, and right with a copy."""
    for extent in (2, 3, 91, 512) if is_fast(cf) else (2, 3, 91):
        x = counted(cf, cf.int32, [extent, extent])
        refuses(cf, "OVERLAPPING", [x, x, transposed(cf, x)], partial(cf.kernels.add, x, x, transposed(cf, x)))
    x = counted(cf, cf.int32, [3, 3])
    assert cf.kernels.add(x, x, transposed(cf, x).copy()) == cf.Answer.DONE
    assert x.to_values() == [0, 4, 8, 4, 8, 12, 8, 12, 16]


def test_b01_one_element_is_its_transpose(cf: Any) -> None:
    """A [1, 1] array is identical to its transpose."""
    x = fresh(cf, cf.int32, [5], [1, 1])
    assert cf.kernels.add(x, x, transposed(cf, x)) == cf.Answer.DONE
    assert x.to_values() == [10]


def test_b02_first_difference_in_place(cf: Any) -> None:
    """A difference of neighbours in place is refused both ways round."""
    x = fresh(cf, cf.float32, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    tail, head = sliced(cf, x, (1, 5)), sliced(cf, x, (0, 5))
    refuses(cf, "OVERLAPPING", [tail, tail, head], lambda: cf.kernels.sub(tail, tail, head))
    refuses(cf, "OVERLAPPING", [head, tail, head], lambda: cf.kernels.sub(head, tail, head))
    out = cf.host_array(cf.float32, [5])
    assert cf.kernels.sub(out, tail, head) == cf.Answer.DONE
    assert out.to_values() == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_b03_matrix_product_into_its_operand(cf: Any) -> None:
    """matmul into one of its operands is right or declined, never a mixture."""
    a, b = fresh(cf, cf.int32, [1, 2, 3, 4], [2, 2]), fresh(cf, cf.int32, [0, 1, 1, 1], [2, 2])
    answer = cf.kernels.matmul(a, a, b)
    right = {cf.Answer.DONE: [2, 3, 4, 7], cf.Answer.DECLINED: [1, 2, 3, 4]}
    assert a.to_values() == right[answer]
    a = fresh(cf, cf.int32, [1, 2, 3, 4], [2, 2])
    answer = cf.kernels.matmul(a, b, a)
    assert a.to_values() == {cf.Answer.DONE: [3, 4, 4, 6], cf.Answer.DECLINED: [1, 2, 3, 4]}[answer]


def test_b03_scan_and_reduction_into_their_source(cf: Any) -> None:
    """cumsum and a reduction into their own source are right or declined."""
    x = fresh(cf, cf.int32, [1, 2, 3])
    answer = cf.kernels.cumsum(x, x, 0)
    assert x.to_values() == {cf.Answer.DONE: [1, 3, 6], cf.Answer.DECLINED: [1, 2, 3]}[answer]
    one = fresh(cf, cf.int32, [7], [1])
    assert cf.kernels.sum(one, one, []) in (cf.Answer.DONE, cf.Answer.DECLINED)
    assert one.to_values() == [7]


def test_b04_division_by_its_own_row(cf: Any) -> None:
    """Dividing an array by its own broadcast row is refused; by a copy of the row it is right."""
    x = fresh(cf, cf.float32, [2.0, 4.0, 8.0, 6.0, 8.0, 4.0], [2, 3])
    row = sliced(cf, x, (0, 1), (0, 3)).move(cf.Broadcast([2, 3]))
    refuses(cf, "OVERLAPPING", [x, x, row], lambda: cf.kernels.fdiv(x, x, row))
    out = cf.host_array(cf.float32, [2, 3])
    assert cf.kernels.fdiv(out, x, row) == cf.Answer.DONE
    assert out.to_values() == [1.0, 1.0, 1.0, 3.0, 2.0, 0.5]


def test_b04_a_single_row_is_its_own_row(cf: Any) -> None:
    """An axis of extent 1 broadcast to 1 changes nothing: the row is identical."""
    x = fresh(cf, cf.float32, [2.0, 4.0, 8.0], [1, 3])
    assert cf.kernels.fdiv(x, x, x.move(cf.Broadcast([1, 3]))) == cf.Answer.DONE
    assert x.to_values() == [1.0, 1.0, 1.0]


def test_b05_shifting_columns_by_transfer(cf: Any) -> None:
    """A transfer shifted inside one buffer is refused; onto itself it is accepted and changes nothing."""
    x = counted(cf, cf.float32, [4, 5])
    left, right = sliced(cf, x, (0, 4), (0, 4)), sliced(cf, x, (0, 4), (1, 4))
    unchanged_after(cf, "arrays/overlapping", [x], lambda: cf.transfer(left, right))
    before = raw(cf, x)
    cf.transfer(x, x)
    assert raw(cf, x) == before


@pytest.mark.parametrize("name", ["int32", "int8"])
def test_b06_interleaved_elements_share_no_byte(cf: Any, name: str) -> None:
    """Even and odd elements interleave without sharing a byte."""
    x = counted(cf, getattr(cf, name), [8])
    even, odd = sliced(cf, x, (0, 4, 2)), sliced(cf, x, (1, 4, 2))
    assert cf.kernels.add(even, even, odd) == cf.Answer.DONE
    assert x.to_values() == [1, 1, 5, 3, 9, 5, 13, 7]


def test_b06_interleaved_nibbles_share_bytes(cf: Any) -> None:
    """Even and odd nibbles share their bytes."""
    x = counted(cf, cf.int4, [8])
    even, odd = sliced(cf, x, (0, 4, 2)), sliced(cf, x, (1, 4, 2))
    refuses(cf, "OVERLAPPING", [even, even, odd], lambda: cf.kernels.add(even, even, odd))
