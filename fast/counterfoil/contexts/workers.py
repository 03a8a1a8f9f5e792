"""Workers of multidev_cc devices: a thread each, which does what it is given in order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from counterfoil.timeline import Timeline

_MOST_PENDING = 64
"""Submissions kept on a worker's timeline before those that are surely done are taken off."""


class Worker:
    """An in-order queue with a thread of its own, started with the first job.

    Jobs are numbered from 1. ``timeline`` is the queue as the arrays of the host see it: waiting for a memory that a
    job writes waits for the job.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.timeline = Timeline(name)
        self._jobs: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._given = 0
        self._done = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], object]) -> int:
        """Queue a job that raises nothing; its number."""
        with self._changed:
            self._given += 1
            number = self._given
            if self._thread is None:
                self._thread = threading.Thread(target=_serve, args=(self,), name=self.name, daemon=True)
                self._thread.start()
            self._jobs.put(job)
        return number

    def wait_for(self, number: int) -> None:
        """Block until the job of that number is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._done >= number)

    def wait(self) -> None:
        """Block until every job is done, and take them off the timeline."""
        self.wait_for(self._given)
        self.timeline.advance(self.timeline.submitted)

    def prune(self) -> None:
        """Take submissions off the timeline where many have gathered; waits for the older ones."""
        pending = self.timeline.submitted - self.timeline.reached
        if pending > _MOST_PENDING:
            self.timeline.advance(pending - _MOST_PENDING // 2)

    def _finished(self) -> None:
        with self._changed:
            self._done += 1
            self._changed.notify_all()


def _serve(worker: Worker) -> None:
    while True:
        job = worker._jobs.get()
        try:
            job()
        finally:
            del job  # what it holds goes before anybody is told
            worker._finished()
