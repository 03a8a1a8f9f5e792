"""Contexts on CUDA: collected only where there is a device, a real one or the emulated driver's."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from tests.contexts_cuda.emulated import EMULATED, MODES, configure
from tests.contexts_cuda.half import CudaHalf, devices

import counterfoil

collect_ignore_glob = [] if devices() else ["test_*.py"]
collect_ignore = [
    *([] if EMULATED else ["test_losses.py"]),  # no failure is injected into a real driver
    *([] if devices() > 1 else ["test_two_devices.py"]),
    *([] if find_spec("sklearn") else ["test_digits.py"]),
]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """How the driver goes about its work; afterwards the devices are idle."""
    configure(f"mode={request.param} seed=1")
    yield request.param
    for ordinal in range(devices()):
        counterfoil.Context.cuda(ordinal).sync()
    configure("mode=eager")


@pytest.fixture
def cf(mode: str) -> Iterator[Any]:
    """The fast half, its CPU roots on CUDA instead; no seam is left failing."""
    half = CudaHalf()
    yield half
    half.inspection.inject(None)
    half.inspection.poison(None)


@pytest.fixture
def root(cf: Any) -> Any:
    """A root on the first CUDA device."""
    return counterfoil.Context.cuda()
