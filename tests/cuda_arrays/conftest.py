"""Arrays on CUDA devices: collected only where there is one, a GPU's or the emulated driver's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cuda_arrays.emulated import EMULATED, MODES, configure, devices

import counterfoil as cf
from counterfoil.cuda.device import Cuda, opened

collect_ignore_glob = [] if devices() else ["test_*.py"]
collect_ignore = [
    *([] if EMULATED else ["test_loss.py", "test_exhaustion.py", "test_waiting.py"]),  # which ask the driver to fail
    *([] if devices() > 1 else ["test_two_devices.py"]),
]


@pytest.fixture(params=MODES)
def device(request: pytest.FixtureRequest) -> Iterator[Cuda]:
    """The first device, with the driver in each of its modes; idle afterwards."""
    configure(f"mode={request.param} seed=1")
    found = opened(0)
    yield found
    cf.inspection.poison(None)
    found.budget = None
    for ordinal in range(devices()):
        opened(ordinal).advance(1 << 40)
    configure("mode=eager")
