"""Operators, indexing and named functions: numpy's results where numpy agrees, refusals where it is silent."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterfoil as cf

SMALL = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def counted(dtype: Any, *shape: int) -> cf.Array:
    """An array holding 0, 1, 2, ... in C order."""
    size = int(np.prod(shape))
    values = [float(k) for k in range(size)] if dtype.float_format else list(range(size))
    return cf.from_values(dtype, shape, values)


@st.composite
def keys(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """A shape and a key of integers from the front, slices, Nones and at most one ... that numpy accepts for it."""
    shape = draw(SMALL)
    bound = st.none() | st.integers(-7, 7)
    step = st.none() | st.integers(-3, 3).filter(bool)
    entries: list[Any] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        places = [st.integers(0, extent - 1)] if extent else []
        entries.append(draw(st.one_of(*places, st.builds(slice, bound, bound, step))))
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), None)
    if len(entries) - entries.count(None) == len(shape) or draw(st.booleans()):
        return shape, tuple(entries)
    return shape, (*entries, ...)


@given(keys())
def test_a_key_gives_numpys_view(drawn: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    """A key numpy reads as basic indexing gives the same elements in the same shape, over the array's own buffer."""
    shape, key = drawn
    array = counted(cf.int32, *shape)
    view, theirs = array[key], np.arange(int(np.prod(shape))).reshape(shape)[key]
    assert view.shape == theirs.shape
    assert view.to_values() == theirs.ravel().tolist()
    assert view.buffer is array.buffer


def test_an_index_of_every_axis_is_a_view_of_rank_0() -> None:
    """x[i, j] shows later writes to the element."""
    array = counted(cf.int32, 2, 3)
    element = array[1, 2]
    array.set([1, 2], 50)
    assert element.shape == () and element.item() == 50


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        (-1, "arrays/index-range"),
        (2, "arrays/index-range"),
        (2**70, "arrays/index-range"),
        ((0, 0, 0), "arrays/index-rank"),
        ((..., ...), "arrays/index-rank"),
        ([0, 1], "arguments/wrong-type"),
        (np.array([0]), "arguments/wrong-type"),
        (True, "arguments/wrong-type"),
        (1.0, "arguments/wrong-type"),
        ("x", "arguments/wrong-type"),
        (slice(0, 2, 0), "moves/slice-step"),
        (slice("a", None), "arguments/not-integer"),
    ],
)
def test_a_key_that_is_no_basic_index_is_refused(key: Any, rule: str) -> None:
    """Negative and far integers, arrays of indices and other objects are refused by name."""
    with pytest.raises(cf.InvalidArgument) as caught:
        counted(cf.int32, 2, 3)[key]
    assert caught.value.rule == rule


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod]


@pytest.mark.parametrize("op", BINARY)
def test_operators_broadcast_as_numpys(op: Any) -> None:
    """An operator of two float arrays of shapes that broadcast gives numpy's elements, up to rounding of pow."""
    x, y = counted(cf.float64, 3, 1), counted(cf.float64, 1, 4) + 1
    theirs = op(np.arange(3.0).reshape(3, 1), np.arange(4.0).reshape(1, 4) + 1)
    result = op(x, y)
    assert result.shape == (3, 4)
    assert np.allclose(result.to_values(), theirs.ravel(), rtol=1e-15, atol=0)


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor, operator.floordiv])
def test_integer_operators(op: Any) -> None:
    """Bitwise operators and division of non-negative integers are Python's."""
    x, y = cf.from_values(cf.uint8, [3], [12, 7, 255]), cf.from_values(cf.uint8, [3], [10, 3, 16])
    assert op(x, y).to_values() == [op(a, b) for a, b in zip([12, 7, 255], [10, 3, 16], strict=True)]


@pytest.mark.parametrize("op", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparisons_give_bool_arrays(op: Any) -> None:
    """A comparison is an array of bool, with a scalar on either side."""
    x = cf.from_values(cf.float32, [3], [1.0, 2.0, 3.0])
    assert op(x, 2.0).dtype is cf.bool_
    assert op(x, 2.0).to_values() == [op(value, 2.0) for value in (1.0, 2.0, 3.0)]
    assert op(2.0, x).to_values() == [op(2.0, value) for value in (1.0, 2.0, 3.0)]


def test_scalars_take_the_arrays_dtype_by_the_value_rules() -> None:
    """A scalar is stored at the array's dtype: a float beside integers and a value out of range are refused."""
    x = counted(cf.int8, 3)
    assert (x + 1).dtype is cf.int8 and (1 - x).to_values() == [1, 0, -1]
    with pytest.raises(cf.InvalidArgument, match="int8"):
        x + 1.5
    with pytest.raises(cf.InvalidArgument, match="int8"):
        x + 128
    assert (x + np.int64(2)).to_values() == [2, 3, 4]


def test_dtypes_are_never_converted_silently() -> None:
    """Operands of two dtypes are refused by the door, naming the function and both."""
    with pytest.raises(cf.DoorRefusal, match=r"add: .*int32 \[2\].*float32 \[2\]") as caught:
        counted(cf.int32, 2) + counted(cf.float32, 2)
    assert caught.value.answer is cf.Answer.WRONG_DTYPE


def test_shapes_that_do_not_broadcast_are_refused_after_death() -> None:
    """The door's order holds: a dead operand is dead although its shape does not fit either."""
    x, y = counted(cf.int32, 2), counted(cf.int32, 3)
    with pytest.raises(cf.DoorRefusal) as caught:
        x + y
    assert caught.value.answer is cf.Answer.SHAPE_MISMATCH
    y.buffer.free("given back")
    with pytest.raises(cf.DoorRefusal, match=r"int32 \[3\] was given back") as caught:
        x + y
    assert caught.value.answer is cf.Answer.DEAD_BUFFER


def test_a_vast_broadcast_is_refused() -> None:
    """Shapes that broadcast to more elements than a layout may have are refused as such."""
    row = cf.host_array(cf.int8, [1]).move(cf.Broadcast([2**30]))
    assert row is not None
    with pytest.raises(cf.InvalidArgument) as caught:
        row[:, None] + row[None, :]
    assert caught.value.rule == "layouts/too-many-elements"


def test_foreign_operands_are_pythons_type_error() -> None:
    """Operators step back before what they do not know, numpy's arrays included; named functions refuse it."""
    x = counted(cf.float64, 2)
    for foreign in ("a", None, [1, 2], np.ones(2)):
        with pytest.raises(TypeError):
            x + foreign
        with pytest.raises(TypeError):
            foreign + x
    assert (x == None) is False  # noqa: E711
    with pytest.raises(cf.InvalidArgument, match="y"):
        cf.add(x, "a")


def test_in_place_operators_write_the_array_itself() -> None:
    """x += y writes x's memory, also through a view, and shows in every other view."""
    x = counted(cf.int32, 2, 3)
    row, same = x[1], x
    row += 10
    x *= 2
    assert same is x and x.to_values() == [0, 2, 4, 26, 28, 30]
    with pytest.raises(cf.DoorRefusal) as caught:
        x += x.move(cf.Slice(cf.Range(1, 2, -1), cf.Range(0, 3)))
    assert caught.value.answer is cf.Answer.OVERLAPPING


def test_assignment_stores_scalars_and_arrays() -> None:
    """x[key] = value fills with a scalar, transfers an array of the dtype, broadcast, and changes nothing beside it."""
    x = counted(cf.int4, 2, 3)
    x[0, 1:] = -8
    x[1] = cf.from_values(cf.int4, [1], [7])
    assert x.to_values() == [0, -8, -8, 7, 7, 7]
    with pytest.raises(cf.InvalidArgument) as caught:
        x[0] = cf.from_values(cf.int8, [3], [1, 2, 3])
    assert caught.value.rule == "arrays/dtypes-differ"
    with pytest.raises(cf.InvalidArgument) as caught:
        x[0] = cf.from_values(cf.int4, [2], [1, 2])
    assert caught.value.rule == "arrays/shapes-differ"
    y = counted(cf.float64, 2)
    y[...] = np.array([5.0, 6.0])
    assert y.to_values() == [5.0, 6.0]


def test_out_takes_the_result() -> None:
    """out= is written and returned; a wrong shape or dtype of it is refused and nothing is written."""
    x, out = counted(cf.float32, 3), cf.from_values(cf.float32, [3], [9.0] * 3)
    assert cf.add(x, x, out=out) is out and out.to_values() == [0.0, 2.0, 4.0]
    with pytest.raises(cf.DoorRefusal):
        cf.mul(x, x, out=counted(cf.float32, 2))
    with pytest.raises(cf.InvalidArgument, match="out"):
        cf.mul(x, x, out=[1, 2, 3])


def test_reductions_scans_and_products() -> None:
    """Reductions remove their axes, all without any; scans and softmax keep the shape; @ multiplies matrices."""
    x = counted(cf.float64, 2, 3)
    theirs = np.arange(6.0).reshape(2, 3)
    assert cf.sum(x).item() == 15.0 and cf.sum(x, 0).to_values() == theirs.sum(0).tolist()
    assert cf.max(x, (0, 1)).shape == () and cf.mean(x, [1]).to_values() == theirs.mean(1).tolist()
    assert cf.argmax(x, 1).dtype is cf.int64 and cf.argmax(x, 1).to_values() == [2, 2]
    assert cf.cumsum(x, 1).to_values() == theirs.cumsum(1).ravel().tolist()
    assert np.allclose(np.asarray(cf.softmax(x, 1)).sum(1), 1.0)
    assert (x @ x.move(cf.Permute([1, 0]))).to_values() == (theirs @ theirs.T).ravel().tolist()
    for wrong in (lambda: cf.sum(x, 2), lambda: cf.sum(x, -1), lambda: cf.cumsum(x, 5), lambda: x @ x):
        with pytest.raises(cf.DoorRefusal) as caught:
            wrong()
        assert caught.value.answer is cf.Answer.SHAPE_MISMATCH


def test_the_other_functions() -> None:
    """where, fma, cast, map, fill and iota have their own parameters."""
    x = counted(cf.int32, 3)
    assert cf.where(x == 1, x, 7).to_values() == [7, 1, 7]
    assert cf.fma(x, 2, 1).to_values() == [1, 3, 5]
    assert cf.cast(x, cf.float16).dtype is cf.float16
    assert cf.map(cf.Apply("add", cf.Input(0), cf.Constant(cf.int32, 5)), [x]).to_values() == [5, 6, 7]
    assert cf.iota(cf.host_array(cf.int32, [2, 2]), 1).to_values() == [0, 1, 0, 1]
    assert cf.fill(cf.host_array(cf.bit, [3]), True).to_values() == [True] * 3
    assert (-x).to_values() == [0, -1, -2] and abs(-x).to_values() == [0, 1, 2]


def test_a_declined_case_is_refused_by_name() -> None:
    """A named function raises door/declined where its kernel declines."""
    x = counted(cf.float32, 2, 2)
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.matmul(x, x, out=x)
    assert caught.value.rule == "door/declined" and caught.value.subjects == {"function": "matmul"}


def test_one_element_is_a_number_and_an_axis_has_a_length() -> None:
    """float, int, bool and len ask what there is; an array of several elements has no truth."""
    one, many = cf.from_values(cf.int32, [], [3]), counted(cf.int32, 2, 2)
    assert (int(one), float(one), bool(one), operator.index(one)) == (3, 3.0, True, 3)
    assert len(many) == 2 and [row.to_values() for row in many] == [[0, 1], [2, 3]]
    with pytest.raises(cf.InvalidArgument):
        bool(many)
    with pytest.raises(cf.InvalidArgument):
        len(one)
    with pytest.raises(TypeError):
        operator.index(cf.from_values(cf.float32, [], [3.0]))


def test_arrays_are_hashed_by_identity() -> None:
    """== is element by element, so sets and dicts go by identity."""
    x = counted(cf.int32, 1)
    assert len({x, x, counted(cf.int32, 1)}) == 2


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (lambda: counted(cf.int32, 2, 2), "Array([[0, 1],\n       [2, 3]], int32)"),
        (lambda: cf.from_values(cf.float32, [2], [0.1, float("nan")]), "Array([0.1, nan], float32)"),
        (lambda: cf.from_values(cf.bit, [], [True]), "Array(true, bit)"),
        (lambda: cf.host_array(cf.int32, [0, 2]), "Array([], int32)"),
        (lambda: counted(cf.int32, 1001), "Array([0, 1, 2, ..., 998, 999, 1000], int32)"),
        (lambda: cf.empty(cf.simulated("gpu"), cf.int32, [2]), "Array(<on gpu>, shape=[2], int32)"),
    ],
)
def test_repr_shows_values(array: Any, text: str) -> None:
    """Values as numpy nests them, long axes elided past 1000 elements, or where they are."""
    assert repr(array()) == text


def test_repr_says_why_there_are_no_values() -> None:
    """Dead, exclusive, pending and lost arrays say so; nothing waits and nothing raises."""
    device = cf.simulated("gpu", addressable=True)
    array = cf.empty(device, cf.uint8, [2])
    cf.submit(device, lambda view: None, [], [array.buffer])
    assert "<pending>" in repr(array) and device.reached == 0
    device.lose("unplugged")
    assert "<lost>" in repr(array)
    given = counted(cf.int32, 2)
    with cf.claims(donate=[given.buffer]) as held:
        assert "<held exclusive>" in repr(given)
        held.consume(given.buffer, "donated to mul")
    assert repr(given) == "Array(<dead: donated to mul>, shape=[2], int32)"


def test_repr_of_a_vast_array_is_short() -> None:
    """A broadcast of more elements than memory has is shown without touching them all."""
    vast = cf.from_values(cf.int8, [1] * 10, [4]).move(cf.Broadcast([8] * 10))
    assert vast is not None and len(repr(vast)) < 5000
