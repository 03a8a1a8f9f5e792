"""Collected only where the emulated driver is found: a process must be started so (docs/emulated-driver.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

collect_ignore_glob = [] if os.environ.get("COUNTERFOIL_EMULATED") else ["test_*.py"]


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    """Programs use CUDA devices, and none afterwards."""
    from counterfoil_oracles.cuda import setting
    from counterfoil_reference import inspection

    setting.use()
    yield
    setting.use(0)
    inspection.model_cuda(None)
