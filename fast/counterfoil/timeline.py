"""The order of work (A9): queues of submissions, stamps on memories, and what a wait performs.

One lock guards all queues and stamps. No code of a user's runs while it is held: work runs without it, what work
raised is put into words before it is taken, and submissions that are done with are let go of after it was given back.
A finalizer can still come in between, when the garbage collector runs: it is told so, rather than left waiting.
What other threads' doors must see without the lock (how much work is pending on a memory, whether the memory or a
device is lost) is mirrored into the core.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from counterfoil import handles
from counterfoil._native import ffi, lib
from counterfoil_spec.refusals import Refusal, refuse
from counterfoil_spec.values import words

Point = tuple["Timeline", int]

Goal = tuple["Timeline", int, bool]
"""A point to be reached, or (True) only to be given to a driver that then brings it about."""

_WAIT = int(ffi.cast("uintptr_t", lib.cf_wait))

# Reentrant, so that it knows who holds it; nobody takes it twice.
_lock = threading.RLock()
_changed = threading.Condition(_lock)
_awaited: dict[int, Timeline] = {}
"""The timeline whose running work each waiting thread waits for, by thread."""
_forks = 0

forked: list[Callable[[], None]] = []
"""Called in a forked child, once the order of work has started anew there."""


class Order:
    """The order of work of one memory: its last write, and the last use on each timeline."""

    __slots__ = ("c", "last_write", "settled", "uses")

    def __init__(self, c: Any, settled: Callable[[], None]) -> None:
        """``settled`` is called when pending work of the memory was performed or dropped."""
        self.c = c
        self.settled = settled
        self.last_write: Point | None = None
        self.uses: dict[Timeline, int] = {}

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
        self.settled()

    def mark_lost(self) -> None:
        """Mirror into the core which accesses must follow work that was dropped."""
        if lost_point(self.points(False)):
            lib.cf_memory_lose(self.c, True)
        elif lost_point(self.points(True)):
            lib.cf_memory_lose(self.c, False)


class Done:
    """What is done with, and let go of when the lock was given back."""

    __slots__ = ()

    def run_out(self) -> None:
        """Wait for what a driver still does with it."""


class Submission(Done):
    """Work on a timeline: its number, what it runs, the points it must follow, the memories it names."""

    __slots__ = ("follows", "number", "touched", "work")

    def __init__(self, number: int, work: Callable[[], object], touched: dict[Order, bool]) -> None:
        self.number = number
        self.work = work
        self.touched = touched
        self.follows: tuple[Point, ...] = ()


class Timeline:
    """A device's in-order queue. ``why`` says how the device was lost, ``running`` which thread runs its head.

    ``forks`` tells whether that thread is one of this process: a forked one has only the thread that forked.
    """

    __slots__ = ("c", "forks", "name", "owner", "queue", "reached", "running", "submitted", "why")

    def __init__(self, name: str) -> None:
        self.name = name
        self.owner = handles.device(_WAIT)
        self.c = ffi.cast("cf_device *", self.owner.address)
        self.queue: deque[Submission] = deque()
        self.submitted = 0
        self.reached = 0
        self.running = 0
        self.forks = 0
        self.why: str | None = None

    def lost(self) -> Refusal:
        """The refusal memory/lost naming this device."""
        return refuse("memory/lost", device=self.name, why=self.why)

    def submit(self, work: Callable[[], object], touched: dict[Order, bool]) -> int:
        """Queue work that names the memories of ``touched`` (True: writes it). The work keeps them alive.

        Refuses memory/lost when the device is.
        """
        with alone():
            if self.why is not None:
                raise self.lost()
            submission = Submission(self.submitted + 1, work, touched)
            self.enqueue(submission)
        return submission.number

    def enqueue(self, submission: Submission) -> None:
        """Append the next submission, with the lock held."""
        submission.follows = unreached(self, submission.touched)
        self.submitted = submission.number
        self.queue.append(submission)
        for order, writes in submission.touched.items():
            order.stamp((self, submission.number), writes)

    def advance(self, count: int) -> None:
        """Perform the next ``count`` pending submissions, or all there are; refuses memory/lost."""
        with alone():
            if self.why is not None:
                raise self.lost()
            target = min(self.reached + count, self.submitted)
        perform([(self, target)])

    def lose(self, why: str) -> None:
        """Drop pending work for good. A second loss keeps the first reason."""
        done: list[Done] = []
        try:
            with alone():
                lose(self, why, done)
        finally:
            let_go(done)

    # --- for reaching points, with the lock held; a driver's timeline does these its own way -----------------------

    def has_come(self, number: int, giving: bool) -> bool:
        """Whether a goal is met."""
        return self.reached >= number

    def busy(self, number: int, giving: bool) -> bool:
        """Whether some thread runs the head of the queue, and nothing can be done about the goal meanwhile."""
        return self.running != 0

    def unmet(self, number: int, giving: bool) -> Goal | None:
        """What must be met before the next step towards the goal."""
        for timeline, followed in self.queue[0].follows:
            if timeline.reached < followed:
                return timeline, followed, False
        return None

    def step(self, number: int, giving: bool, done: list[Done]) -> None:
        """Do the next step towards the goal, which nothing stands in the way of; the lock may be given up meanwhile."""
        run(self, self.queue[0], self.queue[0].work, done)

    def drop(self) -> list[Done]:
        """Take all pending work off the queue, for good; answers what is to be let go of."""
        dropped: list[Done] = list(self.queue)
        self.queue.clear()
        return dropped

    def settle(self, done: list[Done]) -> None:
        """The head of the queue was performed."""
        submission = self.queue.popleft()
        done.append(submission)
        self.reached = submission.number
        for order, writes in submission.touched.items():
            order.reached((self, submission.number))
            order.settle(writes)


def perform(points: Iterable[Point]) -> None:
    """Perform what is needed to reach the points, on any timeline, and no more.

    Refuses memory/lost naming the device whose point cannot be reached. An exception of work that is no Exception
    (KeyboardInterrupt) loses the device and propagates.
    """
    for point in points:
        done: list[Done] = []
        try:
            with alone():
                _reach(point, done)
        finally:
            let_go(done)


def give(point: Point) -> None:
    """Have a point's work given to its driver, performing what stands in the way; refuses memory/lost."""
    done: list[Done] = []
    try:
        with alone():
            _reach(point, done, True)
    finally:
        let_go(done)


def let_go(done: list[Done]) -> None:
    """Wait for dropped work that a driver has still got: only then may its memory go. The lock is not held."""
    for each in done:
        if type(each) is not Submission:
            each.run_out()


def alone() -> threading.RLock:
    """The lock; RuntimeError where this thread holds it: a finalizer or a signal handler came in between."""
    if _lock._is_owned():  # type: ignore[attr-defined]
        raise RuntimeError("the order of work is changing: a finalizer cannot use it now")
    return _lock


def _start_anew() -> None:
    """A forked process has no other threads: nobody else holds the lock there, and nobody waits."""
    global _lock, _changed, _forks
    _forks += 1
    _lock = threading.RLock()
    _changed = threading.Condition(_lock)
    _awaited.clear()
    for tell in forked:
        tell()


os.register_at_fork(after_in_child=_start_anew)


def lost_point(points: Iterable[Point]) -> Timeline | None:
    """The first timeline among unreached points that was lost."""
    return next(
        (timeline for timeline, number in points if timeline.why is not None and timeline.reached < number), None
    )


def unreached(timeline: Timeline, touched: dict[Order, bool]) -> tuple[Point, ...]:
    """The latest unreached point on each other timeline that work naming these memories must follow."""
    follows: dict[Timeline, int] = {}
    for order, writes in touched.items():
        for other, number in order.points(writes):
            if other is not timeline and other.reached < number:
                follows[other] = max(number, follows.get(other, 0))
    return tuple(follows.items())


def _reach(point: Point, done: list[Done], giving: bool = False) -> None:
    """Reach one point, or have it given, with the lock held.

    The chain holds what waits for what: no recursion can be too deep.

    ``done`` takes the submissions that are done with.
    """
    chain: list[Goal] = [(*point, giving)]
    while chain:
        timeline, number, giving = chain[-1]
        if timeline.has_come(number, giving):
            chain.pop()
        elif timeline.why is not None:
            chain.pop()
            if not chain:
                raise timeline.lost()
            lose(chain[-1][0], f"{timeline.name} lost", done)
        elif timeline.busy(number, giving):
            if timeline.forks != _forks and timeline.running != threading.get_ident():
                lose(timeline, "the process was forked while its work ran", done)
            else:
                _await(timeline)
        else:
            unmet = timeline.unmet(number, giving)
            if unmet is None:
                timeline.step(number, giving, done)
            else:
                chain.append(unmet)


def _await(timeline: Timeline) -> None:
    """Wait until the work that runs ends; RuntimeError where it waits for work of this very thread."""
    me = threading.get_ident()
    runner: int | None = timeline.running
    while runner:
        if runner == me:
            raise RuntimeError(f"work of {timeline.name} waits for itself")
        awaited = _awaited.get(runner)
        runner = None if awaited is None else awaited.running
    _awaited[me] = timeline
    try:
        _changed.wait()
    finally:
        del _awaited[me]


def run(timeline: Timeline, submission: Submission, work: Callable[[], object], done: list[Done]) -> bool:
    """Run the head of a queue, giving up the lock meanwhile, and settle it. Whether that went well."""
    if not run_alone(timeline, work, done):
        return False
    if timeline.why is None:
        timeline.settle(done)
    return timeline.why is None


def unlocked(call: Callable[[], object]) -> None:
    """Call with the lock given up meanwhile."""
    _lock.release()
    try:
        call()
    finally:
        _lock.acquire()


def run_alone(timeline: Timeline, work: Callable[[], object], done: list[Done]) -> bool:
    """Run work for a timeline, giving up the lock meanwhile; a failure loses the device. Whether there was none."""
    timeline.running, timeline.forks = threading.get_ident(), _forks
    failure: BaseException | None = None
    why = ""
    _lock.release()
    try:
        work()
    except BaseException as exception:
        failure, why = exception, words(exception)
    finally:
        _lock.acquire()
        timeline.running = 0
        _changed.notify_all()
    if failure is None:
        return True
    lose(timeline, why, done)
    try:
        if not isinstance(failure, Exception):
            raise failure
    finally:
        failure = None  # its traceback names this frame: a cycle that would keep the memory of the work alive
    return False


def lose(timeline: Timeline, why: str, done: list[Done]) -> None:
    """Drop a timeline's pending work for good; a second loss keeps the first reason."""
    if timeline.why is not None:
        return
    timeline.why = why
    lib.cf_device_lose(timeline.c)
    dropped = list(timeline.queue)
    done += timeline.drop()
    for submission in dropped:
        for order in submission.touched:
            order.mark_lost()
    for submission in dropped:
        for order, writes in submission.touched.items():
            order.settle(writes)
    _changed.notify_all()


# --- the core's waits ------------------------------------------------------------------------------------------------

_raised = threading.local()


@ffi.def_extern(error=1)  # type: ignore[untyped-decorator]
def cf_wait(buffer: Any, access: int) -> int:
    """The core waits for the work that an access of the buffer's memory must follow; not 0 if it was lost."""
    try:
        order: Order = ffi.from_handle(buffer.memory.handle)
        with alone():
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
