"""The timeline of a CUDA device: work is queued, then given to the driver, then reached.

Work is given in order, as soon as everything it must follow was reached, or is on another device's stream already: then
this stream waits for that one, and the host for neither. A submission has an event behind it, which says when it is
reached, and may have a part that the host does then (``finish``): it is not reached before, and what must follow it by
memory is not given before.

The locking is that of ``counterfoil.timeline``: what enqueues work runs without the lock, on one thread at a time for
each device; waits for events run without it on any number of threads; asking an event does not wait, and keeps it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from counterfoil.cuda import driver
from counterfoil.cuda.probe import DriverFailed
from counterfoil.timeline import (
    Done,
    Goal,
    Order,
    Point,
    Submission,
    Timeline,
    alone,
    let_go,
    lose,
    perform,
    run_alone,
    unlocked,
)
from counterfoil_spec.values import words

if TYPE_CHECKING:
    from counterfoil.cuda.driver import Event, Primary


class Mark:
    """An event, made when first needed, and how many look at it: when nobody does, it goes back where it came from."""

    __slots__ = ("_holders", "_home", "event")

    def __init__(self, home: list[Mark]) -> None:
        self.event: Event = None
        self._home = home
        self._holders = 0

    def hold(self) -> Mark:
        """Somebody looks at it."""
        self._holders += 1
        return self

    def release(self) -> None:
        """Somebody looks at it no longer."""
        self._holders -= 1
        if not self._holders:
            self._home.append(self)


class Task(Submission):
    """A submission of a stream: the host's part of it, what must be reached before, and its mark once it is given."""

    __slots__ = ("finish", "mark", "reached")

    def __init__(
        self,
        number: int,
        work: Callable[[], object],
        touched: dict[Order, bool],
        finish: Callable[[], object] | None,
        reached: tuple[Point, ...],
    ) -> None:
        super().__init__(number, work, touched)
        self.finish = finish
        self.reached = reached
        self.mark: Mark | None = None


class InFlight(Done):
    """Dropped work that the driver may still do: its memory is kept until it has run out."""

    __slots__ = ("tasks", "timeline")

    def __init__(self, timeline: StreamTimeline, tasks: list[Submission]) -> None:
        self.timeline = timeline
        self.tasks = tasks

    def run_out(self) -> None:
        """Wait, if the driver still answers."""
        try:
            with self.timeline.primary:
                driver.synchronize(self.timeline.raw)
        except DriverFailed:
            pass
        for task in self.tasks:
            if isinstance(task, Task) and task.mark is not None:
                self.timeline.marks.append(task.mark)
        self.tasks = []


class StreamTimeline(Timeline):
    """``raw``: the driver's stream. ``given``: the number of the last submission that the driver has got."""

    __slots__ = ("_finishing", "given", "marks", "primary", "raw")

    def __init__(self, name: str, primary: Primary) -> None:
        super().__init__(name)
        self.primary = primary
        self.given = 0
        self.marks: list[Mark] = []
        self._finishing: deque[int] = deque()
        with primary:
            self.raw = driver.stream()

    def submit(
        self,
        work: Callable[[], object],
        touched: dict[Order, bool],
        finish: Callable[[], object] | None = None,
        reached: tuple[Point, ...] = (),
    ) -> int:
        """Queue work, and give it to the driver if it can be: ``work`` enqueues it, with the device current.

        ``finish``: the host's part, once the device's is done. ``reached``: what must be reached before it is given.
        Refuses memory/lost when the device is lost, as the driver may only now report.
        """
        done: list[Done] = []
        try:
            with alone():
                self._look(done)
                if self.why is not None:
                    raise self.lost()
                own = self._own_finish(touched)
                task = Task(self.submitted + 1, work, touched, finish, (*reached, (self, own)) if own else reached)
                self.enqueue(task)
                if finish is not None:
                    self._finishing.append(task.number)
                self._give_what_can_be(done)
        finally:
            let_go(done)
        return task.number

    def look(self) -> None:
        """Ask the driver how far it has come."""
        done: list[Done] = []
        try:
            with alone():
                self._look(done)
        finally:
            let_go(done)

    def wait_for_given(self) -> None:
        """Wait for all that the driver has got; refuses memory/lost."""
        perform([(self, self.given)])

    def forsake(self, why: str) -> None:
        """In a forked child: the device is lost, and nobody asks the driver, which is the parent's."""
        done: list[Done] = []
        with alone():
            self.running = 0
            lose(self, why, done)

    def close(self) -> None:
        """At the end of the process: wait for what the driver still does, and give the events back."""
        with self.primary:
            driver.synchronize(self.raw)
            self.marks.clear()

    def kept(self) -> list[object]:
        """What the driver made for it: its stream, and the events there are."""
        given = [task.mark for task in self.queue if isinstance(task, Task) and task.mark is not None]
        return [self.raw, *(mark.event for mark in [*self.marks, *given])]

    # --- reaching points, with the lock held --------------------------------------------------------------------------

    def has_come(self, number: int, giving: bool) -> bool:
        """Whether a goal is met."""
        return self.reached >= number or (giving and self.given >= number and self.why is None)

    def busy(self, number: int, giving: bool) -> bool:
        """Whether another thread enqueues or finishes what the goal needs."""
        return self.running != 0 and (self.given < number or self.finishes_until(number))

    def unmet(self, number: int, giving: bool) -> Goal | None:
        """What must be met before the next submission is given."""
        return None if self.given >= number else self._stands_in_the_way()

    def step(self, number: int, giving: bool, done: list[Done]) -> None:
        """Give the next submission to the driver; or, if all are given, wait and do the host's part of one."""
        if self.given < number:
            self._give(done)
        else:
            self._wait(min(number, self._finishing[0]) if self._finishing else number, done)

    def drop(self) -> list[Done]:
        """Take everything off the queue; the driver's part of it runs out."""
        dropped = InFlight(self, list(self.queue))
        self.queue.clear()
        self._finishing.clear()
        return [dropped]

    def settle(self, done: list[Done]) -> None:
        """The head of the queue is reached."""
        task = self.queue[0]
        assert isinstance(task, Task) and task.mark is not None
        if task.finish is not None:
            self._finishing.popleft()
        super().settle(done)
        task.mark.release()

    # --- giving -------------------------------------------------------------------------------------------------------

    def _give_what_can_be(self, done: list[Done]) -> None:
        while self.why is None and not self.running and self.given < self.submitted:
            if self._stands_in_the_way() is not None:
                return
            self._give(done)

    def _stands_in_the_way(self) -> Goal | None:
        """What the next submission to be given must follow, and cannot on the stream alone."""
        task = self._task(self.given + 1)
        for timeline, number in task.reached:
            if timeline.reached < number:
                return timeline, number, False
        for timeline, number in task.follows:
            if timeline.reached >= number:
                continue
            if not isinstance(timeline, StreamTimeline) or timeline.finishes_until(number):
                return timeline, number, False
            if timeline.why is not None:
                return timeline, number, False
            if timeline.given < number:
                return timeline, number, True
        return None

    def _give(self, done: list[Done]) -> None:
        """Enqueue the next submission, with the lock given up."""
        task = self._task(self.given + 1)
        followed = [
            timeline._mark(number).hold()
            for timeline, number in task.follows
            if isinstance(timeline, StreamTimeline) and timeline.reached < number
        ]
        mark = task.mark = (self.marks.pop() if self.marks else Mark(self.marks)).hold()

        def enqueue() -> None:
            with self.primary:
                for other in followed:
                    driver.follow(self.raw, other.event)
                task.work()
                if mark.event is None:
                    mark.event = driver.event()
                driver.record(mark.event, self.raw)

        try:
            fine = run_alone(self, enqueue, done)
        finally:
            for other in followed:
                other.release()
        if fine and self.why is None:
            self.given = task.number
        else:
            done.append(InFlight(self, [task]))  # lost meanwhile: the driver may have got it all the same

    # --- waiting ------------------------------------------------------------------------------------------------------

    def _wait(self, number: int, done: list[Done]) -> None:
        """Wait for a submission that was given, with the lock given up; then do the host's part of it."""
        mark = self._mark(number).hold()

        def wait() -> None:
            with self.primary:
                driver.wait(mark.event)

        try:
            unlocked(wait)
        except DriverFailed as failure:
            lose(self, words(failure), done)
        finally:
            mark.release()
        while self.why is None and self.reached < number and self._sound(done):
            head = self.queue[0]
            assert isinstance(head, Task)
            if head.finish is None:
                self.settle(done)
            elif self.running:
                return  # somebody does: the caller looks again
            elif run_alone(self, head.finish, done) and self.why is None:
                self.settle(done)

    def _look(self, done: list[Done]) -> None:
        """Settle what is known to have happened; the host's parts are left to whoever waits."""
        if self.why is not None or self.reached >= self.given:
            return
        try:
            with self.primary:
                while self.reached < self.given:
                    head = self.queue[0]
                    assert isinstance(head, Task)
                    mark = self._mark(head.number)
                    if head.finish is not None or not driver.happened(mark.event) or not self._sound(done):
                        return
                    self.settle(done)
        except DriverFailed as failure:
            lose(self, words(failure), done)

    def _sound(self, done: list[Done]) -> bool:
        """Whether the head followed what was done: a device it followed may have been lost after it was given."""
        for timeline, number in self.queue[0].follows:
            if timeline.why is not None and timeline.reached < number:
                lose(self, f"{timeline.name} lost", done)
                return False
        return True

    # --- of the queue -------------------------------------------------------------------------------------------------

    def _task(self, number: int) -> Task:
        """A submission that is not reached."""
        task = self.queue[number - self.reached - 1]
        assert isinstance(task, Task)
        return task

    def _mark(self, number: int) -> Mark:
        """The mark of a submission that was given, and is not reached."""
        mark = self._task(number).mark
        assert mark is not None
        return mark

    def finishes_until(self, number: int) -> bool:
        """Whether the host still has a part in some submission up to that one."""
        return bool(self._finishing) and self._finishing[0] <= number

    def _own_finish(self, touched: dict[Order, bool]) -> int:
        """The last submission of this stream with a host's part that work on these memories must follow."""
        if not self._finishing:
            return 0
        numbers = {
            number for order, writes in touched.items() for other, number in order.points(writes) if other is self
        }
        return max(numbers.intersection(self._finishing), default=0)
