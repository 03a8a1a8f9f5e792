"""Where units run: a scheduler that is there, or processes of this machine, one thread in each."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from counterfoil_oracles.environment import HarnessError

dask: Final[Any] = importlib.import_module("dask")
distributed: Final[Any] = importlib.import_module("distributed")

SETTINGS: Final = {
    "distributed.scheduler.worker-saturation": 1.0,
    # What a unit holds is never Dask's to spill, and a paused worker would not end: terminate alone helps.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}

ANSWER_SECONDS: Final = 10.0
"""How long a scheduler may take to answer at all."""


@contextmanager
def connected(scheduler: str | None, workers: int | None, memory: str, deaths: int) -> Iterator[Any]:
    """A client. ``memory``: what each process of a local cluster may take; ``deaths``: of workers, for one unit.

    HarnessError where the scheduler does not answer, or so many workers do not come.
    """
    if scheduler is not None:
        with _remote(scheduler, workers or 1) as client:
            yield client
        return
    with (
        dask.config.set({**SETTINGS, "distributed.scheduler.allowed-failures": deaths}),
        distributed.LocalCluster(
            n_workers=workers or os.cpu_count() or 1, threads_per_worker=1, processes=True, memory_limit=memory,
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


@contextmanager
def _remote(scheduler: str, workers: int) -> Iterator[Any]:
    try:
        client = distributed.Client(scheduler, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise HarnessError(f"no scheduler answers at {scheduler}: {error}") from error
    with client:
        try:
            client.wait_for_workers(workers, timeout=30)
        except TimeoutError as error:
            raise HarnessError(f"{scheduler} has no {workers} workers: {error}") from error
        yield client
