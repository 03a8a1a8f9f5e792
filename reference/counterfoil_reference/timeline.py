"""The order of work: in-order timelines of pending work, points on them, and what an access must follow (A9)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import Refusal, refuse
from counterfoil_spec.values import words


class Timeline:
    """Numbered work, performed in order, each piece when something waits for it.

    ``submitted`` and ``reached`` number the last submission made and the last performed; ``pending`` holds those
    between. ``lost`` is why the device was lost, or None.
    """

    __slots__ = ("lost", "name", "pending", "performing", "reached", "submitted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.submitted = 0
        self.reached = 0
        self.pending: deque[Submission] = deque()
        self.lost: str | None = None
        self.performing = False

    def append(self, work: Callable[[], object], follows: Iterable[Point]) -> int:
        """Queue work that follows those points; its number. Points already reached need no memory of them."""
        self.pending.append(Submission(work, [point for point in follows if not is_reached(point)]))
        self.submitted += 1
        return self.submitted

    def drop(self, why: str) -> None:
        """Lose the device: its pending work is never performed. The first reason stays."""
        if self.lost is None:
            self.lost = why
            dropped = list(self.pending)
            self.pending.clear()
            for submission in dropped:
                if submission.dropped is not None:
                    submission.dropped()

    def loss(self) -> Refusal:
        """The refusal memory/lost of this lost device."""
        return refuse("memory/lost", device=self.name, why=self.lost)


Point = tuple[Timeline, int]
"""A submission: its timeline and its number there."""


@dataclass(slots=True)
class Submission:
    """Pending work and the points it must follow. ``dropped`` is called where it is never performed."""

    work: Callable[[], object]
    follows: list[Point]
    dropped: Callable[[], None] | None = None


def is_reached(point: Point) -> bool:
    """Whether the submission has been performed."""
    timeline, number = point
    return timeline.reached >= number


def reach(point: Point) -> None:
    """Perform the submission, before it everything it must follow on any timeline, and nothing else.

    Stops where the timeline is lost; the caller looks at ``is_reached``. A timeline whose next submission must follow
    a point that a lost one dropped is lost itself, when that submission comes to be performed.
    """
    wanted = [point]
    while wanted:
        timeline, _ = wanted[-1]
        if is_reached(wanted[-1]) or timeline.lost is not None:
            wanted.pop()
            continue
        blocker = next((p for p in timeline.pending[0].follows if not is_reached(p)), None)
        if blocker is None:
            _perform_next(timeline)
        elif blocker[0].lost is not None:
            timeline.drop(f"{blocker[0].name} lost")
        else:
            wanted.append(blocker)


def _perform_next(timeline: Timeline) -> None:
    """Run the next submission; an exception it raises loses the device (A9).

    One that is no Exception (KeyboardInterrupt) propagates too: what the work had done by then, nobody knows.
    """
    if timeline.performing:
        raise RuntimeError(f"work of {timeline.name} waits for itself")
    timeline.performing = True
    try:
        timeline.pending[0].work()
    except BaseException as error:
        timeline.drop(words(error))
        if not isinstance(error, Exception):
            raise
    finally:
        timeline.performing = False
    if timeline.lost is None:
        timeline.pending.popleft()
        timeline.reached += 1


class Stamps:
    """When a memory was last written, and last used by each device.

    Devices stand in the order in which they began to have uses that are not performed yet.
    """

    __slots__ = ("last_write", "uses")

    def __init__(self) -> None:
        self.last_write: Point | None = None
        self.uses: dict[Timeline, int] = {}

    def must_follow(self, access: Access) -> list[Point]:
        """A read follows the last write; a write follows every use."""
        if access is Access.READ_WRITE:
            return list(self.uses.items())
        return [] if self.last_write is None else [self.last_write]

    def record(self, point: Point, access: Access) -> None:
        """Note that the submission uses the memory so."""
        timeline, number = point
        if is_reached((timeline, self.uses.get(timeline, 0))):
            self.uses.pop(timeline, None)
        self.uses[timeline] = number
        if access is Access.READ_WRITE:
            self.last_write = point
