"""The example of handwritten digits on a CUDA root, for one epoch; collected where scikit-learn is."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.contexts_cuda.half import CudaHalf

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits.py"


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example as a module of its own, one epoch long."""
    spec = importlib.util.spec_from_file_location("digits_on_cuda", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "EPOCHS", 1)
    return module


def test_digits_are_learnt_as_on_a_cpu(digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of the epoch differs by rounding alone, and the images are told apart alike."""
    (cpu_loss,), cpu_counts = digits.train(0)
    monkeypatch.setattr(digits, "cf", CudaHalf())
    (cuda_loss,), cuda_counts = digits.train(0)
    assert cuda_loss == pytest.approx(cpu_loss, rel=1e-4)
    assert abs(cuda_counts - cpu_counts).sum() <= 4
    assert digits.forgotten_zero().startswith("gradients/without-reset")
