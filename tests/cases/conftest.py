"""The half under test: every case runs on both."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(params=["counterfoil_reference", "counterfoil"])
def cf(request: pytest.FixtureRequest) -> Any:
    """A half as a program imports it."""
    return importlib.import_module(request.param)


@pytest.fixture
def poison(cf: Any) -> Iterator[Any]:
    """Fills every fresh memory with a byte until the case ends."""
    yield cf.inspection.poison
    cf.inspection.poison(None)
