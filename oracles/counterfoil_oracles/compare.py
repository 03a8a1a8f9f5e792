"""Two halves side by side: every command on both, then outcome, facts, bytes, claims and counts compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Any, Final, Self

from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.context_pair import ContextPair
from counterfoil_oracles.cuda.following import following
from counterfoil_oracles.divergence import Divergence as Divergence
from counterfoil_oracles.divergence import differing, guarded, parting
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.holdings import SEAMS, injected
from counterfoil_oracles.numeric import STORES, settle
from counterfoil_oracles.observe import Observation, Observer, made
from counterfoil_oracles.reads import READS, settled_read
from counterfoil_spec.commands import Command, Fault, Outcome, Refused, Returned, matches

PLANNED_FAULTS = frozenset(
    {
        "RuntimeError: boom",
        "RuntimeError: the claims have been left already",
        *(f"RuntimeError: {injected(seam)}" for seam in (None, *SEAMS)),
    }
)
"""Exceptions of a caller's own work, injected ones, and of a program that leaves claims twice: no bug of a half."""

FRESH: Final = 0
"""The byte that fresh memory holds where a program names none: what the reference's holds by itself."""


class Pair:
    """The reference and a subject in step; ``step`` runs one command on both and compares all there is to see."""

    def __init__(self, reference: Any, subject: Any, watch_arrays: bool = True) -> None:
        self.reference = Driver(reference)
        self.subject = Driver(subject)
        self._following = following(self.reference, self.subject)
        self._seen = (Observer(reference, watch_arrays), Observer(subject, watch_arrays))
        self._contexts = ContextPair(self.reference.environment, self.subject.environment)
        self._watched: dict[int, str] = {}
        self._steps = 0
        self.last_seen: tuple[Observation, Observation] = ({}, {})

    def settle_fresh(self) -> None:
        """Make fresh memory hold the same in both halves, until the program names a byte: it may hold anything, so that
        without one any two halves part wherever some is made."""
        for driver in (self.reference, self.subject):
            driver.half.inspection.poison(FRESH)

    def step(self, command: Command) -> tuple[Outcome, Divergence | None]:
        """The reference's outcome, and where the subject differs after this command (None if nowhere).

        Where the rules allow an interval (N5), the subject's bits are checked against it and then become the
        reference's; everything else is compared bit for bit.
        """
        index, self._steps = self._steps, self._steps + 1
        self._contexts.before(command)
        expected, records, actual, difference = self._both(command)
        if difference is not None:
            return expected, Divergence(index, command, expected, actual, difference)
        if records and command.do in READS:
            actual = settled_read(records, self.reference, command, expected, actual)
        difference = self._outcomes(command, expected, actual)
        if difference is None and records and command.do in STORES:
            difference = settle(records, self.reference, self.subject, command)
        records.clear()  # what was recomputed for a read is no longer held, and not counted as live
        if difference is None and self._following is not None:
            difference = self._following.after(command, expected)
        if difference is not None:
            return expected, Divergence(index, command, expected, actual, difference)
        self._learn(command)
        return expected, self._observed(index, command) or self._contexts.after(index, command, expected)

    def repeat(self, command: Command) -> None:
        """Run a command that has been compared before, on both halves, and compare nothing."""
        self._contexts.about(command)
        outcome = self.reference.execute(command)
        self.subject.execute(command)
        self._learn(command)
        self._contexts.follow(command, outcome)
        self._steps += 1

    def start_over(self, kept: Collection[str]) -> None:
        """Release every context in both halves and forget all names but those kept."""
        for name in [name for name in self.reference.names if name not in kept]:
            self._unwatch(name)
        for driver in (self.reference, self.subject):
            for name in [name for name in driver.names if name not in kept]:
                driver.environment.forget(name)
            driver.environment.holdings.close()
        self._contexts.start_over()

    def lasting(self) -> tuple[Observation, Observation]:
        """What every context shows now in both halves, the counts of past events apart."""
        return self._contexts.lasting()

    def looks(self) -> tuple[Observation, Observation]:
        """What can be seen now in the reference and in the subject."""
        following, watched = self._following, self._seen[0].buffers
        if following is None:
            return self._seen[0].look(), guarded(self._seen[1].look)
        pairs = {name: (buffer, self._seen[1].buffers[name][0]) for name, (buffer, _, _) in watched.items()}
        unsettled = {name for name, pair in pairs.items() if following.unsettled(*pair)}
        counted = following.counted
        theirs, reached = following.steady(lambda: guarded(lambda: self._seen[1].look(unsettled, counted)))
        wrong = following.catch_up(reached)
        ours = self._seen[0].look(unsettled, counted)
        return ours, theirs if wrong is None else {**theirs, "CUDA devices": wrong}

    def close(self) -> None:
        """Undo what the commands left behind in both halves."""
        self.reference.close()
        self.subject.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except Exception:
            if error is None:  # what is under way already says more
                raise

    def _both(self, command: Command) -> tuple[Outcome, list[Any], Outcome, str | None]:
        """What both halves make of a command, the reference's records, and what is wrong about CUDA devices."""
        following = self._following
        if following is None:
            return *self._reference_step(command), self.subject.execute(command), None
        difference = following.catch_up()
        if not following.subject_goes_first(command):
            return *self._reference_step(command), self.subject.execute(command), difference
        actual = self.subject.execute(command)
        following.borrowed(command, actual)
        difference = difference or following.catch_up(losing=command.do == "device.lose")
        return *self._reference_step(command), actual, difference

    def _reference_step(self, command: Command) -> tuple[Outcome, list[Any]]:
        if command.do not in STORES and command.do not in READS:
            return self._carried_out(command), []
        with self.reference.half.intervals.watching() as records:
            return self._carried_out(command), records

    def _carried_out(self, command: Command) -> Outcome:
        outcome = self.reference.execute(command)
        if self._following is not None:
            self._following.perform(command)
        return outcome

    def _outcomes(self, command: Command, expected: Outcome, actual: Outcome) -> str | None:
        for half, outcome in (("the reference", expected), ("the subject", actual)):
            if isinstance(outcome, Fault) and outcome.error not in PLANNED_FAULTS:
                return f"{half} failed with {outcome.error}"
        if not matches(expected, actual):
            return f"expected {said(expected)}, got {said(actual)}"
        if command.bind is None or command.bind not in self.reference.names:
            return None
        theirs = self.subject.names[command.bind]
        facts = [made(self.reference.names[command.bind]), guarded(lambda: made(theirs))]
        if facts[0] != facts[1]:
            return f"made {command.bind}: {parting(facts[0], facts[1])}"
        return self._contexts.routines(f"{command.bind}.routine")

    def _learn(self, command: Command) -> None:
        if command.bind is not None and command.bind in self.reference.names:
            self._watch(command.bind)
        elif command.do == "drop":
            for entry in command.args["names"]:
                self._unwatch(entry["ref"] if isinstance(entry, dict) else entry)
            for name, ours in self.reference.names.items():
                if _key(ours) not in self._watched:
                    self._watch(name)

    def _watch(self, name: str) -> None:
        """Watch an object by its name; of several over one buffer object, the first to be named."""
        self._unwatch(name)
        key = _key(self.reference.names[name])
        if key not in self._watched:
            self._watched[key] = name
            for driver, observer in zip((self.reference, self.subject), self._seen, strict=True):
                observer.learn(name, driver.names[name])
        self._contexts.learn(name)

    def _unwatch(self, name: str) -> None:
        for key in [key for key, watched in self._watched.items() if watched == name]:
            del self._watched[key]
        for observer in self._seen:
            observer.forget(name)
        self._contexts.forget(name)

    def _observed(self, index: int, command: Command) -> Divergence | None:
        expected, actual = self.last_seen = self.looks()
        return differing(index, command, expected, actual)


def _key(thing: Any) -> int:
    """The identity of an object, of an array that of its buffer."""
    return id(thing.buffer if hasattr(thing, "layout") else thing)


def first_divergence(reference: Any, subject: Any, commands: Iterable[Command]) -> Divergence | None:
    """Run commands on two halves in fresh environments; where they first part, or None."""
    with between_programs(reference, subject), Pair(reference, subject) as pair:
        pair.settle_fresh()
        for command in commands:
            divergence = pair.step(command)[1]
            if divergence is not None:
                return divergence
    return None


def said(outcome: object) -> str:
    """An outcome in words."""
    match outcome:
        case Returned(value=None):
            return "a normal return"
        case Returned(value=value):
            return f"the value {value!r}"
        case Refused(rule=rule, subjects=subjects):
            return f"refusal {rule} naming {subjects}"
        case Fault(error=error):
            return f"the exception {error}"
    return repr(outcome)
