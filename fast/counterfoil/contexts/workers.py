"""Workers of multidev_cc devices: a thread each, which does what it is given in order."""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Final

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
        self._start()
        _workers.add(self)

    def _start(self) -> None:
        """Nothing given, nothing done, no thread."""
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


_workers: Final[weakref.WeakSet[Worker]] = weakref.WeakSet()


def _after_fork() -> None:
    """A forked process has none of the threads: what was dispatched and not done is lost there."""
    for worker in _workers:
        if worker._done < worker._given:
            worker.timeline.lose("the process was forked while its work was pending")
            worker.timeline = Timeline(worker.name)
        worker._start()


os.register_at_fork(after_in_child=_after_fork)


def _serve(worker: Worker) -> None:
    while True:
        job = worker._jobs.get()
        try:
            job()
        finally:
            del job  # what it holds goes before anybody is told
            worker._finished()
