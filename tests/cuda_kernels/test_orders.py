"""The kernels' threads in several orders: the same bits, so that none of them reads what another is writing.

The emulated driver runs one thread after another; a barrier that is missing shows where the order changes (its
``order``). A GPU has no such setting and gives each result several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.cuda_arrays.emulated import configure
from tests.cuda_kernels.arrays_there import Lying, Values, got, like, put, turned

from counterfoil import Array, kernels
from counterfoil.cuda.launch import Function
from counterfoil_spec.answers import Answer

ORDERS = ("forward", "reversed", "shuffled seed=1", "shuffled seed=2", "shuffled seed=3")
SHAPES = [(3, 2500), (2500, 3), (70, 70), (40, 1300), (1, 40000)]
"""Few long lines, many short ones, squares with edges, lines of several rounds, and one line that is cut."""


@pytest.fixture(autouse=True)
def forward() -> Iterator[None]:
    """Forward before and after."""
    configure("mode=eager order=forward")
    yield
    configure("mode=eager order=forward")


@pytest.fixture(params=[False, True], ids=["many blocks", "one block"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch | None:
    """What ``crowd`` works with, None where the kernels are to have the blocks that they ask for."""
    return monkeypatch if request.param else None


def crowd(blocks: pytest.MonkeyPatch | None, axis: int) -> None:
    """One block along an axis of the grid, which goes around: else a grid would have to be full for that."""
    launch = Function.launch

    def crowded(self: Function, grid: tuple[int, int, int], *rest: Any) -> None:
        x, y, z = (1 if place == axis else extent for place, extent in enumerate(grid))
        launch(self, (x, y, z), *rest)

    if blocks is not None:
        blocks.setattr(Function, "launch", crowded)


def values_of(*shape: int) -> Values:
    """Floats whose sums depend on the order of adding them up."""
    found: Values = np.random.default_rng(3).uniform(-2, 2, shape).astype("float32")
    return found


def assert_same_bits(name: str, like_this: Values, *operands: Any) -> None:
    """A kernel over fresh memory gives in every order the bits that it gives forward."""

    def bits(order: str) -> bytes:
        configure(f"order={order}")
        dst = like(like_this)
        assert getattr(kernels, name)(dst, *operands) is Answer.DONE
        return got(dst).tobytes()

    assert len({bits(order) for order in ORDERS}) == 1


@pytest.mark.parametrize("lying", [put, turned])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["sum", "argmin"])
def test_reductions(name: str, shape: tuple[int, int], lying: Lying, blocks: pytest.MonkeyPatch | None) -> None:
    """By rows, by columns, cut into splits, along either axis."""
    crowd(blocks, 0)
    array, dtype = lying(values_of(*shape)), "int64" if name == "argmin" else "float32"
    assert_same_bits(name, np.zeros(shape[1], dtype), array, (0,))
    assert_same_bits(name, np.zeros(shape[0], dtype), array, (1,))


@pytest.mark.parametrize("lying", [put, turned])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["cumsum", "softmax"])
def test_lines(name: str, shape: tuple[int, int], lying: Lying, blocks: pytest.MonkeyPatch | None) -> None:
    """Running sums and softmax along the last axis, whole lines and cut ones."""
    crowd(blocks, 0)
    assert_same_bits(name, values_of(*shape), lying(values_of(*shape)), 1)


@pytest.mark.parametrize("name", ["cumsum", "softmax"])
@pytest.mark.parametrize("shape", SHAPES)
def test_lines_in_place(name: str, shape: tuple[int, int]) -> None:
    """A destination identical to the source: every element is read before any thread writes it."""

    def bits(order: str) -> bytes:
        configure(f"order={order}")
        same: Array = put(values_of(*shape))
        assert getattr(kernels, name)(same, same, 1) is Answer.DONE
        return got(same).tobytes()

    assert len({bits(order) for order in ORDERS}) == 1


@pytest.mark.parametrize("lying", [put, turned])
@pytest.mark.parametrize("sizes", [(3, 70, 50, 66), (1, 20, 3000, 20), (2, 130, 40, 130)])
def test_products(sizes: tuple[int, ...], lying: Lying, blocks: pytest.MonkeyPatch | None) -> None:
    """Panels in shared memory, several tiles and matrices, terms cut into splits."""
    crowd(blocks, 1)
    batch, m, terms, n = sizes
    left, right = lying(values_of(batch, m, terms)), lying(values_of(batch, terms, n))
    assert_same_bits("matmul", values_of(batch, m, n), left, right)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_transposes(dtype: str, blocks: pytest.MonkeyPatch | None) -> None:
    """Tiles turned in shared memory, of two sides, plane after plane."""
    crowd(blocks, 1)
    values = np.abs(60 * values_of(3, 70, 90)).astype(dtype)
    assert_same_bits("copy", values, turned(values))
