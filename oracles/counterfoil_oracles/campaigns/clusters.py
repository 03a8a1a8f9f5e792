"""Where units run: a scheduler that is there, or processes of this machine, one thread in each."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

from counterfoil_oracles.environment import HarnessError


@contextmanager
def connected(scheduler: str | None, workers: int | None, memory: str, deaths: int) -> Iterator[Client]:
    """A client. ``memory``: what each process of a local cluster may take; ``deaths``: of workers, for one unit.

    HarnessError where the scheduler does not answer, or so many workers do not come.
    """
    if scheduler is not None:
        with _remote(scheduler, workers or 1) as client:
            yield client
        return
    settings = {
        "distributed.scheduler.allowed-failures": deaths,
        "distributed.scheduler.worker-saturation": 1.0,
        # What a unit holds is never Dask's to spill, and a paused worker would not end: terminate alone helps.
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers or os.cpu_count() or 1, threads_per_worker=1, processes=True, memory_limit=memory,
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client


@contextmanager
def _remote(scheduler: str, workers: int) -> Iterator[Client]:
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise HarnessError(f"no scheduler answers at {scheduler}: {error}") from error
    try:
        client.wait_for_workers(workers, timeout="30s")
    except TimeoutError as error:
        client.close()
        raise HarnessError(f"{scheduler} has no {workers} workers: {error}") from error
    with client:
        yield client
