"""Reductions, running sums, softmax and products against the reference, on memory of a device (N2, N3, K1).

Every kernel is called with some dtypes of its row, all of them in the long profile; the ways of lying are those of the
host's battery. ``one_way`` compiles one instance for each kernel and dtype; a few dtypes take the instances they get.
"""

from __future__ import annotations

import os

import pytest
from tests.kernels.battery import calls
from tests.kernels.twins import agree

import counterfoil
from counterfoil.cuda.kernels import multiplying, reducing, walks
from counterfoil.cuda.kernels.multiplying import Side
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS, Kernel

ROWS = [row for row in KERNELS.values() if not row.family.pointwise]
DTYPES_OF_A_ROW = 21 if os.environ.get("COUNTERFOIL_PROFILE") == "long" else 2
ANY_WAY = [("sum", "float32"), ("max", "float16"), ("argmin", "bit"), ("cumsum", "int4"), ("softmax", "float32"),
           ("matmul", "bfloat16"), ("mean", "complex64")]  # fmt: skip


def dtypes_of(place: int, row: Kernel) -> list[Dtype]:
    """Some dtypes of a row: others for each row."""
    known = [dtype for dtype in Dtype.all if dtype in row.domain]
    return [known[(3 * place + 5 * step) % len(known)] for step in range(min(DTYPES_OF_A_ROW, len(known)))]


PAIRS = [(row.name, dtype) for place, row in enumerate(ROWS) for dtype in dict.fromkeys(dtypes_of(place, row))]


@pytest.fixture
def one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks of up to four axes, terms and panels read one by one."""
    monkeypatch.setattr(walks, "CAPACITIES", (4, 32))
    monkeypatch.setattr(reducing, "neighbours", lambda call, bits: False)
    monkeypatch.setattr(multiplying, "side_of", lambda call, operand: Side(operand == 1, False))


def agree_on(name: str, dtype: Dtype, sizes: tuple[int, ...]) -> None:
    """Calls of a kernel with sources of a dtype; most are Done."""
    answers = [agree(call, counterfoil.cuda(0)) for call in calls(KERNELS[name], dtype, sizes)]
    assert answers.count(Answer.DONE) > len(answers) / 2


@pytest.mark.parametrize(("name", "dtype"), PAIRS, ids=[f"{name}-{dtype}" for name, dtype in PAIRS])
def test_the_device_agrees(name: str, dtype: Dtype, one_way: None) -> None:
    """Answers, values within their room, and every other bit of the memories are the reference's."""
    agree_on(name, dtype, (0, 1, 7, 65))


@pytest.mark.parametrize(("name", "dtype"), ANY_WAY)
def test_the_device_agrees_whatever_the_operands_lie_like(name: str, dtype: str) -> None:
    """Contiguous, one element off, reversed, with gaps, turned, repeated, with the instance that suits each."""
    agree_on(name, Dtype.of_name(dtype), (1, 8, 63, 513))


@pytest.mark.parametrize(("name", "dtype"), [("sum", "int16"), ("argmax", "float64"), ("cumsum", "float16"),
                                             ("softmax", "float64"), ("matmul", "int8")])  # fmt: skip
def test_64_bits_of_index_change_nothing(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch, one_way: None) -> None:
    """The variant that only huge operands need gives the same on small ones."""
    monkeypatch.setattr(walks, "NARROW", 1)
    agree_on(name, Dtype.of_name(dtype), (1, 7, 65, 513))
