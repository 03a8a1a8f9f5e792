"""Roots that leave nothing behind."""

from __future__ import annotations

import pytest

from counterfoil_reference import Context, inspection


@pytest.fixture
def root() -> Context:
    """A root on the CPU."""
    return Context.cpu()


@pytest.fixture(autouse=True)
def _nothing_injected() -> object:
    """No seam fails, whatever a test did before."""
    yield
    inspection.inject(None)
