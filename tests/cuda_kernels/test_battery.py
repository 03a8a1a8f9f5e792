"""Kernels of one index at a time against the reference, on memory of a device: bits, or within the bounds of N2.

Every kernel is called with some dtypes of its row, all of them in the long profile; every dtype meets many kernels. One
kernel of each kind takes every way of lying, vectors and bytes among them.
"""

from __future__ import annotations

import os

import pytest
from tests.kernels.battery import calls
from tests.kernels.twins import agree

import counterfoil
from counterfoil.cuda.kernels import operands, pointwise
from counterfoil.cuda.kernels.operands import Operands
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS, Kernel

ROWS = [row for row in KERNELS.values() if row.family.pointwise]
DTYPES_OF_A_ROW = 21 if os.environ.get("COUNTERFOIL_PROFILE") == "long" else 2
SIZES = (0, 1, 7, 65)


def dtypes_of(place: int, row: Kernel) -> list[Dtype]:
    """Some dtypes of a row: others for each row."""
    known = [dtype for dtype in Dtype.all if dtype in row.domain]
    return [known[(place + 5 * step) % len(known)] for step in range(min(DTYPES_OF_A_ROW, len(known)))]


PAIRS = [(row.name, dtype) for place, row in enumerate(ROWS) for dtype in dict.fromkeys(dtypes_of(place, row))]

WAYS = [
    ("add", "float32"), ("copy", "int4"), ("copy", "bit"), ("copy", "complex64"), ("where", "bit"), ("cast", "float64"),
    ("maximum", "bool"), ("mul", "complex128"), ("fill", "uint8"), ("fill", "float4_e2m1fn"), ("iota", "int16"),
    ("map", "float32"), ("less", "float8_e5m2"), ("neg", "bfloat16"),
]  # fmt: skip


@pytest.fixture
def one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call walks as if its operands lay anyhow, over up to 8 axes: one instance for each kernel and dtypes."""
    monkeypatch.setattr(operands, "CAPACITIES", (8, 32))
    monkeypatch.setattr(pointwise, "walked", strided)


def strided(given: Operands, bits: list[int]) -> tuple[tuple[tuple[str, str], ...], str, bytes, int]:
    """As ``pointwise.walked``, where nothing about the operands is known."""
    way = (("CF_RANK", str(given.capacity)), *((("CF_WIDE", "1"),) if given.wide else ()))
    return way, "cf_pointwise_strided", given.packed(), given.size


def agree_on(name: str, dtype: Dtype, sizes: tuple[int, ...]) -> None:
    """Calls of a kernel with sources of a dtype; most are Done."""
    answers = [agree(call, counterfoil.cuda(0)) for call in calls(KERNELS[name], dtype, sizes)]
    assert answers.count(Answer.DONE) > len(answers) / 2


@pytest.mark.parametrize(("name", "dtype"), PAIRS, ids=[f"{name}-{dtype}" for name, dtype in PAIRS])
def test_the_device_agrees(name: str, dtype: Dtype, one_way: None) -> None:
    """Answers, values within their room, and every other bit of the memories are the reference's."""
    agree_on(name, dtype, SIZES)


@pytest.mark.parametrize(("name", "dtype"), WAYS)
def test_the_device_agrees_whatever_the_operands_lie_like(name: str, dtype: str) -> None:
    """Contiguous and aligned, one element off, reversed, with gaps, turned, repeated; ends inside bytes and vectors."""
    agree_on(name, Dtype.of_name(dtype), (0, 1, 8, 63, 513))


@pytest.mark.parametrize(("name", "dtype"), [("add", "float32"), ("copy", "bit"), ("iota", "int64")])
def test_64_bits_of_index_change_nothing(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch, one_way: None) -> None:
    """The variant that only huge operands need gives the same on small ones."""
    monkeypatch.setattr(operands, "always_wide", True)
    agree_on(name, Dtype.of_name(dtype), (1, 7, 65, 513))
