"""The order of work (A9): queues of submissions, stamps on memories, and what a wait performs.

One lock guards all queues and stamps; it is not held while work runs. What other threads' doors must see without it
(how much work is pending on a memory, whether the memory or a device is lost) is mirrored into the core.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from counterfoil._native import ffi, lib
from counterfoil_spec.refusals import Refusal, refuse

Point = tuple["Timeline", int]

_work = threading.Condition(threading.Lock())


class Order:
    """The order of work of one memory: its last write, and the last use on each timeline."""

    __slots__ = ("c", "freed", "last_write", "uses")

    def __init__(self, c: Any) -> None:
        self.c = c
        self.last_write: Point | None = None
        self.uses: dict[Timeline, int] = {}
        self.freed: Callable[[], None] | None = None

    def points(self, writing: bool) -> list[Point]:
        """What an access must follow: a read the last write, a write every use."""
        if writing:
            return list(self.uses.items())
        return [] if self.last_write is None else [self.last_write]

    def stamp(self, point: Point, writes: bool) -> None:
        """Record a submission that names the memory."""
        timeline, number = point
        self.uses[timeline] = number
        if writes:
            self.last_write = point
        lib.cf_memory_count_pending(self.c, writes, 1)

    def reached(self, point: Point) -> None:
        """Forget a point that was performed: nothing has to follow it any more."""
        timeline, number = point
        if self.uses.get(timeline) == number:
            del self.uses[timeline]
        if self.last_write == point:
            self.last_write = None

    def settle(self, writes: bool) -> None:
        """Record that a submission that names the memory was performed or dropped."""
        lib.cf_memory_count_pending(self.c, writes, -1)
        if self.freed is not None and not lib.cf_memory_pending_uses(self.c):
            freed, self.freed = self.freed, None
            freed()

    def mark_lost(self) -> None:
        """Mirror into the core which accesses must follow work that was dropped."""
        if lost_point(self.points(False)):
            lib.cf_memory_lose(self.c, True)
        elif lost_point(self.points(True)):
            lib.cf_memory_lose(self.c, False)


class Submission:
    """Work on a timeline: its number, what it runs, the points it must follow, the memories it names."""

    __slots__ = ("follows", "number", "touched", "work")

    def __init__(self, number: int, work: Callable[[], object], touched: dict[Order, bool]) -> None:
        self.number = number
        self.work = work
        self.touched = touched
        self.follows: tuple[Point, ...] = ()


class Timeline:
    """A device's in-order queue. ``why`` says how the device was lost, ``running`` which thread runs its head."""

    __slots__ = ("c", "name", "queue", "reached", "running", "submitted", "why")

    def __init__(self, name: str) -> None:
        self.name = name
        self.c = ffi.gc(lib.cf_device_create(lib.cf_wait), lib.cf_device_destroy)
        self.queue: deque[Submission] = deque()
        self.submitted = 0
        self.reached = 0
        self.running = 0
        self.why: str | None = None

    def lost(self) -> Refusal:
        """The refusal memory/lost naming this device."""
        return refuse("memory/lost", device=self.name, why=self.why)

    def submit(self, work: Callable[[], object], touched: dict[Order, bool]) -> int:
        """Queue work that names the memories of ``touched`` (True: writes it). The work keeps them alive.

        Refuses memory/lost when the device is.
        """
        with _work:
            if self.why is not None:
                raise self.lost()
            submission = Submission(self.submitted + 1, work, touched)
            submission.follows = _unreached(self, touched)
            self.submitted = submission.number
            self.queue.append(submission)
            for order, writes in touched.items():
                order.stamp((self, submission.number), writes)
        return submission.number

    def advance(self, count: int) -> None:
        """Perform the next ``count`` pending submissions, or all there are; refuses memory/lost."""
        with _work:
            if self.why is not None:
                raise self.lost()
            target = min(self.reached + count, self.submitted)
        perform([(self, target)])

    def lose(self, why: str) -> None:
        """Drop pending work for good. A second loss keeps the first reason."""
        with _work:
            _lose(self, why)


def perform(points: Iterable[Point]) -> None:
    """Perform what is needed to reach the points, on any timeline, and no more.

    Refuses memory/lost naming the device whose point cannot be reached. An exception of work that is no Exception
    (KeyboardInterrupt) loses the device and propagates.
    """
    for point in points:
        with _work:
            _reach(point)


def lost_point(points: Iterable[Point]) -> Timeline | None:
    """The first timeline among unreached points that was lost."""
    return next(
        (timeline for timeline, number in points if timeline.why is not None and timeline.reached < number), None
    )


def _unreached(timeline: Timeline, touched: dict[Order, bool]) -> tuple[Point, ...]:
    """The latest unreached point on each other timeline that work naming these memories must follow."""
    follows: dict[Timeline, int] = {}
    for order, writes in touched.items():
        for other, number in order.points(writes):
            if other is not timeline and other.reached < number:
                follows[other] = max(number, follows.get(other, 0))
    return tuple(follows.items())


def _reach(point: Point) -> None:
    """Reach one point, with the lock held. The chain holds what waits for what: no recursion can be too deep."""
    chain = [point]
    while chain:
        timeline, number = chain[-1]
        if timeline.reached >= number:
            chain.pop()
        elif timeline.why is not None:
            chain.pop()
            if not chain:
                raise timeline.lost()
            _lose(chain[-1][0], f"{timeline.name} lost")
        elif timeline.running:
            if timeline.running == threading.get_ident():
                raise RuntimeError(f"work of {timeline.name} waits for itself")
            _work.wait()
        else:
            head = timeline.queue[0]
            unmet = next((point for point in head.follows if point[0].reached < point[1]), None)
            if unmet is None:
                _run(timeline, head)
            else:
                chain.append(unmet)


def _run(timeline: Timeline, submission: Submission) -> None:
    """Run the head of a queue, giving up the lock meanwhile."""
    timeline.running = threading.get_ident()
    failure: BaseException | None = None
    _work.release()
    try:
        submission.work()
    except BaseException as exception:
        failure = exception
    finally:
        _work.acquire()
        timeline.running = 0
        _work.notify_all()
    if failure is not None:
        _lose(timeline, f"{type(failure).__name__}: {failure}")
        try:
            if not isinstance(failure, Exception):
                raise failure
        finally:
            failure = None  # its traceback names this frame: a cycle that would keep the memory of the work alive
    elif timeline.why is None:
        timeline.queue.popleft()
        timeline.reached = submission.number
        for order, writes in submission.touched.items():
            order.reached((timeline, submission.number))
            order.settle(writes)


def _lose(timeline: Timeline, why: str) -> None:
    if timeline.why is not None:
        return
    timeline.why = why
    lib.cf_device_lose(timeline.c)
    dropped = list(timeline.queue)
    timeline.queue.clear()
    for submission in dropped:
        for order in submission.touched:
            order.mark_lost()
    for submission in dropped:
        for order, writes in submission.touched.items():
            order.settle(writes)
    _work.notify_all()


# --- the core's waits ------------------------------------------------------------------------------------------------

_raised = threading.local()


@ffi.def_extern(error=1)  # type: ignore[untyped-decorator]
def cf_wait(buffer: Any, access: int) -> int:
    """The core waits for the work that an access of the buffer's memory must follow; not 0 if it was lost."""
    try:
        order: Order = ffi.from_handle(buffer.memory.handle)
        with _work:
            points = order.points(bool(access))
        perform(points)
    except BaseException as exception:
        _raised.exception = exception.with_traceback(None)  # whose frames would keep the memory of work alive
        return 1
    return 0


def take_raised() -> BaseException | None:
    """What a wait under the core's last call on this thread raised, once."""
    exception: BaseException | None = _raised.__dict__.pop("exception", None)
    return exception
