"""What the peers are asked to do, with NumPy in CuPy's place: no peer runs where there is no GPU, its code does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.gpu import arithmetic, movement, networks, peers, timing
from benchmarks.networks import ByHand, start


class Array(np.ndarray[Any, Any]):
    """NumPy's array with the two copies that CuPy's has."""

    def set(self, source: np.ndarray[Any, Any]) -> None:
        """From the host."""
        self[...] = source

    def get(self, out: np.ndarray[Any, Any]) -> None:
        """To the host."""
        out[...] = self


class Stand:
    """NumPy under CuPy's name: ``cuda`` is what there is of a device."""

    cuda = SimpleNamespace(
        is_available=lambda: True,
        alloc_pinned_memory=bytearray,
        Device=lambda: SimpleNamespace(synchronize=lambda: None),
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def ones(self, shape: Any, dtype: Any = float) -> Array:
        """As ``numpy.ones``."""
        return np.ones(shape, dtype).view(Array)

    def ElementwiseKernel(self, *texts: str) -> Any:
        """The kernel of three that is asked for."""
        assert texts[2] == "z = fmaf(x, y, b)"
        return lambda x, y, b, out: np.add(x * y, b, out=out)


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Small extents, and the stand-in installed."""
    found = Stand()
    monkeypatch.setattr(peers, "cupy", lambda: found)
    monkeypatch.setattr(arithmetic, "COUNT", 64)
    monkeypatch.setattr(movement, "BIG", 64)
    return found


def test_arithmetic_is_what_it_is_called(stand: Stand) -> None:
    """Of ones: each call answers what its name says."""
    assert np.array_equal(arithmetic._cupy_exp(stand)(), np.full(64, np.exp(np.float32(1))))
    assert np.array_equal(arithmetic._cupy_fma(stand)(), np.full(64, 2))
    assert np.array_equal(arithmetic._cupy_binary(stand, "add")(), np.full(64, 2))
    assert np.array_equal(arithmetic._cupy_sum(stand, 8, (1,))(), np.full(8, 8))
    assert np.array_equal(arithmetic._cupy_matmul(stand, "float64", 8)(), np.full((8, 8), 8))


def test_copies_write_what_they_copy_into(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the device, to it and from it, and between formats: what held other elements is ones or zeros after."""
    made: list[np.ndarray[Any, Any]] = []
    ones, empty = stand.ones, lambda shape, dtype: np.full(shape, 7, dtype)
    stand.ones = lambda *words: made.append(ones(*words)) or made[-1]  # type: ignore[method-assign, func-returns-value]
    stand.empty = lambda *words: made.append(empty(*words)) or made[-1]  # type: ignore[attr-defined, func-returns-value]
    for make, last in (
        (movement._cupy_within, 1), (lambda c: arithmetic._cupy_cast(c, "float32", "float16"), 1),
        (lambda c: movement._cupy_up(c, False), 0),
    ):  # fmt: skip
        made.clear()
        call = make(stand)
        made[-1][...] = 5
        call()
        assert np.array_equal(made[-1], np.full(64, last))
    host: list[np.ndarray[Any, Any]] = []
    real = movement._cupy_host
    monkeypatch.setattr(movement, "_cupy_host", lambda *words: host.append(real(*words)) or host[-1])  # type: ignore[func-returns-value]
    movement._cupy_down(stand, True)()
    assert np.array_equal(host[-1], np.full(64, 1))


def test_the_step_is_the_one_of_the_table_for_cpus(stand: Stand) -> None:
    """One step by CuPy's code changes the parameters as the step by hand does."""
    arrays, hand = start(), ByHand(start())
    held: dict[str, Any] = {}
    stand.asarray = lambda array: held.setdefault(str(len(held)), array.copy())  # type: ignore[attr-defined]
    networks._cupy_step(stand, arrays)()
    hand.step()
    for (name, before), after in zip(arrays.items(), held.values(), strict=True):
        assert np.allclose(after, hand.a[name], rtol=1e-4, atol=1e-6)
        assert (name in "xt") is np.array_equal(before, after)


def test_what_a_peer_cannot_do_takes_no_row_away(stand: Stand) -> None:
    """The row says why, and has ours."""

    def unable(module: Any) -> Any:
        raise ValueError("no such format")

    row = timing.Row("row", lambda: None, peers.cupy_work(unable)).measured(2)
    assert row["peers"] == {} and row["peers_failed"] == {"cupy": "ValueError: no such format"}
    assert row["ours"]["seconds"] > 0
