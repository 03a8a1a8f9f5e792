"""What earlier tests of the process left in memory is made the same in both halves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import counterfoil as fast
import counterfoil_reference as reference
from counterfoil_oracles.collecting import between_programs


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Refusals over budgets name live bytes: both halves start each test with as many."""
    with between_programs(reference, fast):
        yield
