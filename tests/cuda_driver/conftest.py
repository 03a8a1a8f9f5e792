"""Tests of the emulated driver, collected where it is the driver: ``make test-cuda`` sets COUNTERFOIL_EMULATED."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

EMULATED = bool(os.environ.get("COUNTERFOIL_EMULATED"))
collect_ignore_glob = [] if EMULATED else ["test_*.py"]

if EMULATED:
    import pycuda.driver as cuda
    from tests.cuda_driver.support import EMULATOR, Device

    @pytest.fixture
    def device() -> Iterator[Device]:
        """A context on device 0, current; eager, with no failures planned. Nothing is left when it ends."""
        EMULATOR.configure("mode=eager order=forward seed=0 fail= free=waits across=named host_atomics=0")
        cuda.init()
        made = Device(0)
        yield made
        EMULATOR.configure("mode=eager order=forward fail=")
        made.close()

    @pytest.fixture(params=["eager", "lazy", "shuffled"])
    def any_mode(request: pytest.FixtureRequest, device: Device) -> Device:
        """A device in each of the modes."""
        EMULATOR.configure(f"mode={request.param} seed=7")
        return device
