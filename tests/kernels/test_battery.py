"""Every kernel with every dtype of its row (K1), on every way of lying, at sizes around vectors, blocks and bytes."""

from __future__ import annotations

import pytest
from tests.kernels.battery import calls
from tests.kernels.twins import agree

from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS

PAIRS = [(name, dtype) for name, kernel in KERNELS.items() for dtype in Dtype.all if dtype in kernel.domain]


@pytest.mark.parametrize(("name", "dtype"), PAIRS, ids=[f"{name}-{dtype}" for name, dtype in PAIRS])
def test_the_halves_agree(name: str, dtype: Dtype) -> None:
    """Answers, values within their room, and every other bit of the memories are the same; most calls are Done."""
    answers = [agree(call) for call in calls(KERNELS[name], dtype)]
    assert answers.count(Answer.DONE) > len(answers) / 2
