"""map: expressions evaluated node by node, and what it answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.raw import (
    array,
    result,
    zeros,
)

import counterfoil_reference as cf
from counterfoil_reference import elements
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import (
    Dtype,
    bool_,
    float16,
    float32,
    int8,
    int32,
)
from counterfoil_spec.expressions import Apply, Cast, Constant, Input, Node
from counterfoil_spec.kernels import KERNELS, MAP_KERNELS, Family
from counterfoil_spec.refusals import Refusal


def mapped(dtype: Dtype, expression: Node, *inputs: Any) -> list[Any]:
    """The values of an expression over inputs of one shape."""
    dst = cf.host_array(dtype, inputs[0].shape)
    assert cf.kernels.map(dst, expression, inputs) is Answer.DONE
    values: list[Any] = dst.to_values()
    return values


def test_each_node_rounds_to_its_dtype() -> None:
    """In float16, 2048 + 1 + 1 stays 2048, since each sum is rounded; in one fma of float64 nothing is lost."""
    x = cf.from_values(float16, [1], [2048.0])
    one = Constant(float16, 1.0)
    assert mapped(float16, Apply("add", Apply("add", Input(0), one), one), x) == [2048.0]
    assert mapped(float16, Apply("add", Input(0), Apply("add", one, one)), x) == [2050.0]


@given(st.data())
def test_a_single_node_is_its_kernel(data: st.DataObject) -> None:
    """map of Apply(kernel, inputs) gives the kernel's own bits."""
    name = data.draw(st.sampled_from(sorted(MAP_KERNELS)))
    row = KERNELS[name]
    dtype = data.draw(st.sampled_from(sorted(row.domain, key=lambda each: each.code)))
    loaded = [dtype] * {Family.UNARY: 1, Family.WHERE: 2, Family.FMA: 3}.get(row.family, 2)
    loaded = [bool_, *loaded] if row.family is Family.WHERE else loaded
    sources = [array(each, [data.draw(st.integers(0, 2**each.bits - 1))]) for each in loaded]
    dst = cf.host_array(row.result or dtype, [1])
    assert cf.kernels.map(dst, Apply(name, *map(Input, range(len(sources)))), sources) is Answer.DONE
    assert elements.codes(dst) == result(name, row.result or dtype, *sources)


def test_an_expression_casts_compares_and_picks() -> None:
    """relu written with where, and a cast that truncates."""
    x = cf.from_values(float32, [3], [-1.5, 0.0, 2.5])
    zero = Constant(float32, 0)
    relu = Apply("where", Apply("less", Input(0), zero), zero, Input(0))
    assert mapped(float32, relu, x) == [0.0, 0.0, 2.5]
    assert mapped(int8, Cast(int8, Input(0)), x) == [-1, 0, 2]


def chain(length: int) -> Node:
    """An expression of ``2 * length + 1`` nodes."""
    node: Node = Input(0)
    for _ in range(length):
        node = Apply("add", node, Constant(int32, 1))
    return node


def doubled(times: int) -> Node:
    """An expression whose tree has 2^(times + 1) - 1 nodes, of few objects."""
    node: Node = Input(0)
    for _ in range(times):
        node = Apply("add", node, node)
    return node


@pytest.mark.parametrize(
    ("expression", "count", "answer"),
    [
        (Input(0), 1, Answer.DONE), (Input(1), 1, Answer.SHAPE_MISMATCH), (Input(0), 16, Answer.DONE),
        (Input(0), 17, Answer.DECLINED), (chain(31), 1, Answer.DONE), (chain(32), 1, Answer.DECLINED),
        (doubled(5), 1, Answer.DONE), (doubled(6), 1, Answer.DECLINED), (doubled(300), 1, Answer.DECLINED),
        (chain(5000), 1, Answer.DECLINED), (Cast(float32, Input(0)), 1, Answer.WRONG_DTYPE),
        (Apply("add", Input(0), Constant(int8, 1)), 1, Answer.WRONG_DTYPE),
        (Apply("add", Input(9), Constant(int8, 1)), 1, Answer.WRONG_DTYPE),
        (Apply("add", Input(9), Constant(int32, 1)), 1, Answer.SHAPE_MISMATCH),
        (Cast(int32, Apply("exp", Input(0))), 1, Answer.WRONG_DTYPE),
        (Apply("where", Input(0), Input(0), Input(0)), 1, Answer.WRONG_DTYPE),
    ],
)  # fmt: skip
def test_map_answers(expression: Node, count: int, answer: Answer) -> None:
    """Misfits anywhere are Wrong_dtype, missing inputs Shape_mismatch, and too much is Declined."""
    assert cf.kernels.map(zeros(int32, 2), expression, [zeros(int32, 2)] * count) is answer


def test_map_refuses_what_is_no_expression_and_bad_constants() -> None:
    """A foreign expression, and a constant that its dtype does not take, are argument facts."""
    for expression, rule in ((3, "kernels/expression"), (Constant(int8, 300), "dtypes/value-range")):
        with pytest.raises(Refusal) as refused:
            cf.kernels.map(zeros(int8, 2), expression, [])
        assert refused.value.rule == rule
