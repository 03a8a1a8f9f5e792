"""Shapes that hot paths are chosen for: products, sums, fused neighbours; small integers make every order exact."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compile.running import Services, buffer, run
from tests.programs.building import copy, spec, store

import counterfoil.compile as fast
from counterfoil.compile.source import source
from counterfoil_spec.dtypes import Dtype, float32, float64, int32
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Constant, Fetch, Offsets
from counterfoil_spec.programs.assignments import Sequence as Code
from counterfoil_spec.programs.nodes import Intent, Node


def bound(label: str, shape: Sequence[int], dtype: Dtype = float32) -> Node:
    """A node with a buffer."""
    node = Node(label, shape, dtype)
    node.require(Intent.ON_DEVICE)
    return node


def computed(
    assignments: Sequence[Assignment], given: dict[Node, np.ndarray], table: Services | None = None
) -> tuple[dict[Node, np.ndarray], str]:
    """The buffers after the assignments ran, and the source that did it."""
    plan = fast.plan(Code(tuple(assignments)), fast.NOTHING_DECIDED, "r")
    buffers = {node: buffer(node) for node in plan.arguments}
    for node, values in given.items():
        buffers[node][...] = values
    run(fast.generate([plan.lowered], plan), plan, buffers, table=table)
    return buffers, source([plan.lowered], plan.arguments, plan.symbols)


def small(shape: Sequence[int], seed: int) -> np.ndarray:
    """Integers from -3 to 3, which products and sums of some thousands keep exact."""
    return np.random.default_rng(seed).integers(-3, 4, tuple(shape)).astype(np.float64)


CONTRACTIONS = [
    "ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij", "ik,kj->ji", "ki,jk->ji", "bik,bkj->bij", "bik,kj->bij",
    "ibk,jbk->bij", "bik,bjk->ij", "ik,k->i", "ik,k->k", "ik->k", "ik->i", "ik->", "i,j->ij", "ik,ik->i",
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(CONTRACTIONS), st.sampled_from([float32, float64, int32]), st.booleans(),
    st.tuples(*[st.sampled_from([1, 3, 6, 7, 16, 17, 20, 33])] * 4),
)  # fmt: skip
def test_contractions(text: str, dtype: Dtype, starts: bool, extents: tuple[int, ...]) -> None:
    """Products of matrices, transposed, batched and otherwise, into zeros or added to what is there: numpy's einsum."""
    sizes = dict(zip("ijkb", extents, strict=True))
    operands, result = text.split("->")
    words = operands.split(",")
    nodes = [bound(word, [sizes[letter] for letter in word], dtype) for word in words]
    target = bound("target", [sizes[letter] for letter in result], dtype)
    names = ",".join(" ".join(word) for word in words)
    it = spec(f"{names} -> {' '.join(result)}", target, *nodes, initialize=starts)
    given = {node: small(node.shape, place) for place, node in enumerate(nodes)}
    given[target] = small(target.shape, 7)
    buffers, _ = computed([it], given)
    want = np.einsum(text, *(given[node] for node in nodes)) + (0 if starts else given[target])
    assert np.array_equal(buffers[target], want)


def test_large_products_are_products() -> None:
    """A product of size is carried out in blocks, whatever its operands' orientation."""
    a, b, c = bound("a", (64, 40)), bound("b", (40, 48)), bound("c", (64, 48))
    _, text = computed([spec("ik,kj->ij", c, a, b)], {})
    assert "v->product_f32(64, 48, 40" in text


def test_a_zero_in_front_is_no_pass_of_its_own() -> None:
    """A gradient zeroed, then added to, starts from zero where it is added to."""
    x, y, g = bound("x", (6, 5)), bound("y", (5,)), bound("g", (6, 5))
    body = [Fetch(g, Constant(0.0)), spec("ij,j->ij", g, x, y, initialize=False)]
    given = {x: small((6, 5), 1), y: small((5,), 2)}
    buffers, text = computed(body, given)
    assert np.array_equal(buffers[g], given[x] * given[y])
    assert text.count("static void k") == 1


def test_neighbours_share_their_loops() -> None:
    """Elementwise stores over one space, and a sum over its rows, are one pass, after the fill the sum starts from."""
    shape = (32, 128)
    x, y, z, total = bound("x", shape), bound("y", shape), bound("z", shape), bound("t", (128,))
    body = [store(y, "relu", x), store(z, "neg", y), spec("ij->j", total, z)]
    given = {x: small(shape, 3)}
    buffers, text = computed(body, given)
    assert np.array_equal(buffers[total], -np.maximum(given[x], 0).sum(0))
    assert text.count("static void k") == 2


def test_what_is_read_elsewhere_is_not_fused() -> None:
    """A store that reads its neighbour's result at another position waits until all of it is there."""
    x, y, z = bound("x", (64,)), bound("y", (64,)), bound("z", (64,))
    reversed_copy = spec("-1*i+63->i", z, y, initialize=False, accumulator="arg2")
    given = {x: small((64,), 4)}
    buffers, _ = computed([store(y, "neg", x), reversed_copy], given)
    assert np.array_equal(buffers[z], -given[x][::-1])


@pytest.mark.parametrize("accumulator", ["add", "sub", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [float32, float64, int32])
def test_long_sums_start_from_their_neutral(accumulator: str, dtype: Dtype) -> None:
    """Rows of 1000 terms reduced, small integers: exact whatever the order."""
    x, t = bound("x", (5, 1000), dtype), bound("t", (5,), dtype)
    values = small((5, 1000), 5) if accumulator != "mul" else np.where(small((5, 1000), 5) > 0, -1.0, 1.0)
    buffers, _ = computed([spec("ij->i", t, x, accumulator=accumulator)], {x: values})
    want = {
        "add": values.sum(1), "sub": -values.sum(1), "mul": values.prod(1), "max": values.max(1), "min": values.min(1),
    }  # fmt: skip
    assert np.array_equal(buffers[t], want[accumulator])


def test_extremes_of_long_rows_keep_nan_and_the_sign_of_zero() -> None:
    """A NaN anywhere wins; -0 is below +0 wherever they stand."""
    x, high, low = bound("x", (3, 100)), bound("high", (3,)), bound("low", (3,))
    values = np.zeros((3, 100), np.float32)
    values[0, 77] = np.nan
    values[1, 50] = -0.0
    values[2] = -0.0
    values[2, 33] = 0.0
    body = [spec("ij->i", high, x, accumulator="max"), spec("ij->i", low, x, accumulator="min")]
    buffers, _ = computed(body, {x: values})
    assert np.isnan(buffers[high][0]) and np.isnan(buffers[low][0])
    assert not np.signbit(buffers[high][1:]).any() and np.signbit(buffers[low][1:]).all()


@pytest.mark.parametrize("dtype", [float32, float64])
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_extremes_of_any_floats(dtype: Dtype, data: st.DataObject) -> None:
    """Of 37 floats, NaN of either sign, infinities and subnormal ones among them, and one there before: the bits of
    the most and of the least, and NaN where one is NaN."""
    floats = st.floats(width=32 if dtype is float32 else 64, allow_nan=True)
    drawn = data.draw(st.lists(floats, min_size=38, max_size=38))
    x, high, low = bound("x", (37,), dtype), bound("high", (), dtype), bound("low", (), dtype)
    body = [spec("j->", node, x, accumulator=name, initialize=False) for node, name in ((high, "max"), (low, "min"))]
    values = np.array(drawn, dtype.name)
    buffers, _ = computed(body, {x: values[1:], high: values[0], low: values[0]})
    ordered = sorted(values.tolist(), key=lambda value: (value, math.copysign(1, value)))
    if np.isnan(values).any():
        assert np.isnan(buffers[high]).all() and np.isnan(buffers[low]).all()
    else:
        assert buffers[high].tobytes() == np.array(ordered[-1:], dtype.name).tobytes()
        assert buffers[low].tobytes() == np.array(ordered[:1], dtype.name).tobytes()


@pytest.mark.parametrize("dtype", [float32, float64])
def test_an_index_taken_from_zero_is_no_negation(dtype: Dtype) -> None:
    """0 - i of a position i is +0 at position 0, where -i would be -0."""
    zeros, places, y = (Node(label, (40,), dtype) for label in ("zeros", "places", "y"))
    y.require(Intent.ON_DEVICE)
    body: list[Assignment] = [Fetch(zeros, Constant(0.0)), Fetch(places, Offsets()), store(y, "sub", zeros, places)]
    buffers, _ = computed(body, {})
    assert list(buffers) == [y]
    assert buffers[y].tobytes() == (np.zeros(40, dtype.name) - np.arange(40, dtype=dtype.name)).tobytes()


def test_convolutions_with_strides_and_margins() -> None:
    """A strided convolution over a padded image: the sum written out."""
    image = Node("image", (2, 9, 9, 3), float32, padding=((0, 0), (1, 1), (1, 1), (0, 0)))
    kernel, out = bound("kernel", (3, 3, 3, 16)), bound("out", (2, 5, 5, 16))
    it = spec("b 2*y+h-1 2*x+w-1 c, h w c o -> b y x o", out, image, kernel)
    plan = fast.plan(it, fast.NOTHING_DECIDED, "r")
    buffers = {node: buffer(node) for node in plan.arguments}
    pixels, weights = small(image.shape, 1), small(kernel.shape, 2)
    buffers[image][:, 1:-1, 1:-1, :] = pixels
    buffers[kernel][...] = weights
    run(fast.generate([plan.lowered], plan), plan, buffers)
    wide = np.pad(pixels, ((0, 0), (1, 1), (1, 1), (0, 0)))
    want = sum(
        np.einsum("byxc,co->byxo", wide[:, h : h + 9 : 2, w : w + 9 : 2], weights[h, w])
        for h in range(3) for w in range(3)
    )  # fmt: skip
    assert np.array_equal(buffers[out], want)


def test_a_copied_row_sees_what_was_stored_before() -> None:
    """In-place accumulation over a node that is read at its own position, then copied."""
    x, y = bound("x", (40,)), bound("y", (40,))
    doubled = Accumulate(x, "add", "identity", copy(x, x).operands, copy(x, x).projections)
    given = {x: small((40,), 6)}
    buffers, _ = computed([doubled, copy(y, x)], given)
    assert np.array_equal(buffers[y], 2 * given[x])


@pytest.mark.parametrize("operation", ["neg", "identity"])
def test_sums_of_no_magnitude_are_plus_zero(operation: str) -> None:
    """Zeros of an integer node added to 0 or subtracted from it give +0 in a float node."""
    whole, sums = bound("whole", (8,), int32), [bound("sum", (8,)), bound("difference", (8,))]
    body = [
        spec("i->i", total, whole, operation=operation, accumulator=accumulator)
        for total, accumulator in zip(sums, ("add", "sub"), strict=True)
    ]
    buffers, _ = computed(body, {})
    assert not any(np.signbit(buffers[total]).any() for total in sums)
