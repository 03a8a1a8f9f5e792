"""The half under test: every scenario runs on both, and leaves no seam failing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(params=["counterfoil_reference", "counterfoil"])
def cf(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A half as a program imports it."""
    half = importlib.import_module(request.param)
    yield half
    half.inspection.inject(None)
    half.inspection.poison(None)


@pytest.fixture
def root(cf: Any) -> Any:
    """A root on the CPU."""
    return cf.Context.cpu()
