"""Shapes that each way of sharing out is chosen for; small integers make every order exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compile.running import unpadded
from tests.compile_cuda.computing import bound, computed, emitted, small
from tests.programs.building import copy, spec, store

from counterfoil.compile.cuda import elements
from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64
from counterfoil_spec.programs.assignments import Accumulate, Read
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.projections import Projections, at, fixed
from counterfoil_spec.programs.symbols import Iterator, Symbol

pytestmark = pytest.mark.long

CONTRACTIONS = [
    "ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij", "ik,kj->ji", "ki,jk->ji", "bik,bkj->bij", "bik,kj->bij",
    "ibk,jbk->bij", "bik,bjk->ij", "ik,k->i", "ik,k->k", "ik->k", "ik->i", "ik->", "i,j->ij", "ik,ik->i",
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(CONTRACTIONS), st.sampled_from([float32, float64, int32]), st.booleans(),
    st.tuples(*[st.sampled_from([1, 3, 8, 16, 20, 33, 65])] * 4),
)  # fmt: skip
def test_contractions(text: str, dtype: Dtype, starts: bool, extents: tuple[int, ...]) -> None:
    """Products of matrices, transposed, batched and otherwise, into zeros or added to what is there: numpy's einsum."""
    sizes = dict(zip("ijkb", extents, strict=True))
    sizes["b"] = min(sizes["b"], 8)
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


TILED: dict[str, tuple[str, tuple[int, ...], list[tuple[int, ...]]]] = {
    "whole tiles": ("ik,kj->ij", (128, 128), [(128, 64), (64, 128)]),
    "edges everywhere": ("ik,kj->ij", (131, 77), [(131, 45), (45, 77)]),
    "transposed left": ("ki,kj->ij", (68, 132), [(36, 68), (36, 132)]),
    "transposed right": ("ik,jk->ij", (68, 132), [(68, 36), (132, 36)]),
    "transposed result": ("ik,kj->ji", (50, 66), [(66, 40), (40, 50)]),
    "many tiles": ("ik,kj->ij", (1040, 1028), [(1040, 8), (8, 1028)]),
    "cut terms": ("ki,kj->ij", (33, 36), [(4001, 33), (4001, 36)]),
    "cut terms evenly": ("ki,kj->ij", (32, 32), [(4096, 32), (4096, 32)]),
    "batches": ("bik,bkj->bij", (5, 33, 36), [(5, 33, 24), (5, 24, 36)]),
}
"""Matrix products: the contraction, the shape of the result, those of the operands."""


@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("name", list(TILED))
def test_tiles(name: str, dtype: Dtype) -> None:
    """Products large enough for tiles of every size, with edges and without, are those of numpy."""
    text, shape, shapes = TILED[name]
    nodes = [bound(f"x{place}", each, dtype) for place, each in enumerate(shapes)]
    target = bound("target", shape, dtype)
    words, result = text.split("->")
    names = ",".join(" ".join(word) for word in words.split(","))
    given = {node: small(node.shape, place) for place, node in enumerate(nodes)}
    buffers, program = computed([spec(f"{names} -> {' '.join(result)}", target, *nodes)], given)
    assert "_tile" in program.text
    assert len(program.launches) == (2 if name.startswith("cut") else 1)
    assert np.array_equal(buffers[target], np.einsum(text, *(given[node] for node in nodes)))


def convolved(step: int, padded: bool, gradient: bool) -> tuple[Accumulate, dict[Node, np.ndarray], Node, np.ndarray]:
    """A convolution, or the gradient of its image; what is given, the target, the sum written out."""
    side, places, channels, maps = 3, 6, 4, 8
    wide = step * (places - 1) + side
    margin = [(0, 0), (1, 1), (1, 1), (0, 0)] if padded else None
    image = Node("image", (2, wide, wide, channels), float32, padding=margin)
    image.require(Intent.ON_DEVICE)
    kernel, out = bound("kernel", (side, side, channels, maps)), bound("out", (2, places, places, maps))
    axes = [f"{step}*{a}+{b}" if step > 1 else f"{a}+{b}" for a, b in ("yh", "xw")]
    text = f"b {axes[0]} {axes[1]} c, h w c o -> b y x o"
    weights, pixels, results = small(kernel.shape, 1), small(image.shape, 2), small(out.shape, 3)
    at_place = [(h, w, slice(h, h + step * places, step), slice(w, w + step * places, step))
                for h in range(side) for w in range(side)]  # fmt: skip
    if not gradient:
        sums = sum(np.einsum("byxc,co->byxo", pixels[:, ys, xs], weights[h, w]) for h, w, ys, xs in at_place)
        return spec(text, out, image, kernel), {image: pixels, kernel: weights}, out, np.asarray(sums)
    spread = np.zeros(image.shape)
    for h, w, ys, xs in at_place:
        spread[:, ys, xs] += np.einsum("byxo,co->byxc", results, weights[h, w])
    turned = f"b y x o, h w c o -> b {axes[0]} {axes[1]} c"
    return spec(turned, image, out, kernel), {out: results, kernel: weights}, image, spread


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_convolutions(step: int, padded: bool, gradient: bool) -> None:
    """Strided convolutions, and their gradients in the image, which each element of it gathers."""
    it, given, target, want = convolved(step, padded, gradient)
    whole = {node: np.zeros(node.dims) for node in given}
    for node, values in given.items():
        unpadded(node, whole[node])[...] = values
    buffers, program = computed([it], whole)
    assert np.array_equal(unpadded(target, buffers[target]), want)
    if gradient and step < 3:
        assert max(launch.grid[0] * launch.block[0] for launch in program.launches) >= target.size


def test_overlapping_writes_in_order() -> None:
    """Where the last of several writes counts, one thread carries them out in order; neighbours have their own."""
    x, y = bound("x", (5, 3, 7)), bound("y", (7, 7))
    it = Accumulate(
        y, "arg2", "identity", (Read(x),), spec("a b c -> a+b c", y, x).projections, False
    )  # fmt: skip
    given = {x: small((5, 3, 7), 1)}
    want = np.zeros((7, 7))
    for a in range(5):
        for b in range(3):
            want[a + b] = given[x][a, b]
    buffers, program = computed([it], given)
    assert np.array_equal(buffers[y], want)
    assert program.launches[-1].grid[0] * program.launches[-1].block[0] >= 7


@pytest.mark.parametrize("accumulator", ["add", "sub", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [float32, float64, int32, int64])
@pytest.mark.parametrize(
    ("text", "shape"),
    [("ij->i", (40, 100)), ("ij->i", (5, 3000)), ("ij->j", (300, 100)), ("ij->", (100, 200)), ("ij->i", (3, 10))],
)
def test_sums(text: str, shape: tuple[int, ...], dtype: Dtype, accumulator: str) -> None:
    """Rows, long rows, columns, all: by warps, blocks, columns and in two steps, from what is stored."""
    x = bound("x", shape, dtype)
    letters, result = text.split("->")
    target = bound("target", [dict(zip(letters, shape, strict=True))[letter] for letter in result], dtype)
    values = small(shape, 5) if accumulator != "mul" else np.where(small(shape, 5) > 0, -1.0, 1.0)
    start = small(target.shape, 6)
    names = f"{' '.join(letters)} -> {' '.join(result)}"
    it = spec(names, target, x, accumulator=accumulator, initialize=False)
    buffers, _ = computed([it], {x: values, target: start})
    axes = tuple(place for place, letter in enumerate(letters) if letter not in result)
    want = {
        "add": lambda: start + values.sum(axes), "sub": lambda: start - values.sum(axes),
        "mul": lambda: start * values.prod(axes), "max": lambda: np.maximum(start, values.max(axes)),
        "min": lambda: np.minimum(start, values.min(axes)),
    }[accumulator]()  # fmt: skip
    assert np.array_equal(buffers[target], want)


def test_extremes_keep_nan_and_the_sign_of_zero() -> None:
    """A NaN anywhere wins; -0 is below +0 wherever they stand, in a warp's lanes too."""
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


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000]), st.integers(1, 5))
def test_every_point_is_carried_out_once(width: int, height: int) -> None:
    """Added to itself at each point, an element is doubled once, whatever the grid's edges."""
    x = bound("x", (height, width))
    buffers, program = computed([Accumulate(x, "add", "identity", (Read(x),), copy(x, x).projections)], {x: 1.0})
    assert (buffers[x] == 2).all()
    (launch,) = program.launches
    assert 0 <= launch.grid[0] * launch.block[0] - width * height < launch.block[0]


@pytest.mark.parametrize("dtype", [float32, float64, int32])
def test_packs(dtype: Dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours taken together: contiguous operands, rows used for all columns, turned ones, sums, chains in place."""
    monkeypatch.setattr(elements, "WORTH_PACKS", 1)
    shape = (6, 24)
    x, y, z, sums = (bound(label, shape, dtype) for label in ("x", "y", "z", "sums"))
    column, row, turned = bound("column", (6,), dtype), bound("row", (24,), dtype), bound("turned", (24, 6), dtype)
    given = {node: small(node.shape, place) for place, node in enumerate((x, column, row, turned, sums))}
    body = [
        spec("i j, i -> i j", y, x, column, operation="add"),
        spec("i j, j -> i j", z, y, row, operation="mul"),
        spec("i j, j i -> i j", sums, z, turned, operation="sub", initialize=False),
        store(x, "neg", y),
    ]
    buffers, program = computed(body, given)
    want = given[x] + given[column][:, None]
    assert len(program.launches) == 1 and "cf_write<" in program.text
    assert np.array_equal(buffers[y], want) and np.array_equal(buffers[x], -want)
    assert np.array_equal(buffers[z], want * given[row])
    assert np.array_equal(buffers[sums], given[sums] + want * given[row] - given[turned].T)


@pytest.mark.parametrize("count", [0, 3, 40])
def test_symbolic_extents_are_covered_to_their_bound(count: int) -> None:
    """Loops up to a binding: of the target, and of a sum's terms; what lies past it is left alone."""
    symbol = Symbol("count", 40, extent=True)
    x, y, total = bound("x", (40, 40)), bound("y", (40,)), bound("total", (40,))
    i, j = Iterator("i"), Iterator("j")
    index = (at(i), at(j))
    outer = Accumulate(y, "arg2", "identity", (Read(x),), Projections(((i, symbol),), (at(i),), ((at(i), fixed(1)),)))
    inner = Accumulate(total, "add", "identity", (Read(x),), Projections(((i, 40), (j, symbol)), (at(i),), (index,)))
    given = {x: small((40, 40), 1), y: small((40,), 2), total: small((40,), 3)}
    buffers, program = computed([outer, inner], given, {symbol: count})
    assert np.array_equal(buffers[y], np.concatenate([given[x][:count, 1], given[y][count:]]))
    assert np.array_equal(buffers[total], given[total] + given[x][:, :count].sum(1))
    assert max(launch.block[0] * launch.grid[0] for launch in program.launches) >= 40


def test_scratch_of_huge_programs_is_counted_in_64_bits() -> None:
    """More points than 32 bits count are counted in 64, and so are positions."""
    x, y = bound("x", (5, 1 << 31)), bound("y", (5, 1 << 31))
    program = emitted(store(y, "neg", x))
    assert "const u64 g" in program.text and "const i64 i0" in program.text
    (launch,) = program.launches
    assert launch.grid[0] * launch.block[0] * 4 >= 5 << 31
