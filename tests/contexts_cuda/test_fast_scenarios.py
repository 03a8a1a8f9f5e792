"""What tests/contexts_fast says of doors, lifetimes, releases and threads, on a CUDA root."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts_fast import programs, test_door, test_lifetimes, test_release, test_threads

_MODULES = (test_door, test_lifetimes, test_release, test_threads)
_OF_THE_HOST = frozenset({
    "test_a_run_waits_for_work_of_a_simulated_device", "test_a_run_refuses_lost_work",
    "test_a_released_routine_is_unloaded_with_its_last_reference", "test_arrays_of_a_freed_pool_are_dead",
    "test_a_claimed_pool_is_not_freed_and_release_resumes",
})  # fmt: skip
"""What borrows or looks into a pool on the host, or counts the libraries of the C backend."""


@pytest.fixture(autouse=True)
def on_cuda(cf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules' CPU roots are on CUDA."""
    for module in (programs, *_MODULES):
        monkeypatch.setattr(module, "cf", cf)


globals().update({
    f"{name}__{module.__name__.rsplit('.test_')[-1]}": test
    for module in _MODULES
    for name, test in vars(module).items()
    if name.startswith("test_") and callable(test) and name not in _OF_THE_HOST
})  # fmt: skip
