"""Fake runtimes, each the reference with one defect: what the checker must find, or the checker is broken.

``counterfoil check counterfoil_oracles.targets.fakes:overlap_unseen`` shows what a finding looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.subjects import second_copy
from counterfoil_oracles.targets.ours import HalfTarget
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import Refusal, Skipped, TargetOutcome, TargetStep, Value, digits

Change = Callable[["Fake", TargetStep, TargetOutcome], TargetOutcome]


class Fake(HalfTarget):
    """The reference, with what it answers changed in one way."""

    def __init__(self, name: str, change: Change) -> None:
        super().__init__(second_copy("counterfoil_reference"), name)  # the first one judges it
        self._change = change
        self.seen: list[str] = []

    def run(self, step: TargetStep) -> TargetOutcome:
        """One command, answered with the defect."""
        outcome = self._change(self, step, super().run(step))
        self.seen.append(step.do)
        return outcome

    def done(self, step: TargetStep) -> TargetOutcome:
        """What the reference itself answers."""
        return super().run(step)


def _accepting(answer: str) -> Change:
    """Says that it did what the door refuses by that answer."""

    def change(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        refused = step.do == "kernel" and isinstance(outcome, Value) and outcome.value == answer
        return Value("DONE") if refused else outcome

    return change


def _forgiving(rule: str) -> Change:
    """Returns as if nothing were wrong where that rule refuses."""

    def change(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        return Value(None) if isinstance(outcome, Refusal) and outcome.rule == rule else outcome

    return change


def _renaming(rule: str, other: str) -> Change:
    """Refuses by another rule: it looked at the faults in another order."""

    def change(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        if isinstance(outcome, Refusal) and outcome.rule == rule:
            return Refusal(rule=other, subjects=outcome.subjects)
        return outcome

    return change


def _last_bit(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Shows the last element of an array with its lowest bit turned, once something was added."""
    if (
        step.do != "array.to_values"
        or "kernel" not in fake.seen
        or not isinstance(outcome, Value)
        or not outcome.value["bits"]
    ):
        return outcome
    dtype = Dtype.of_name(outcome.value["dtype"])
    *rest, last = outcome.value["bits"]
    turned = f"{int(last, 16) ^ 1:0{digits(dtype)}x}"
    return Value({**outcome.value, "bits": [*rest, turned]})


def _writes_on_refusal(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Fills the destination of a kernel that it refuses: a refusal that changes something."""
    if step.do == "kernel" and isinstance(outcome, Value) and outcome.value == "SHAPE_MISMATCH":
        dst = step.args["dst"]
        fake.done(TargetStep(do="submit_fill", args={"buffer": dst, "byte": 255}))
    return outcome


def _sulky(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Refuses matrix products altogether, in words that map to no rule."""
    if step.do == "kernel" and step.args.get("name") == "matmul":
        return Refusal(message="not today")
    return outcome


def _wordy(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Refuses in words only, and no mapper knows them."""
    return Refusal(message="something is wrong") if isinstance(outcome, Refusal) else outcome


def _viewless(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Says that no move gives a view."""
    return Value(False) if step.do == "array.move" and outcome == Value(True) else outcome


def _wrong_facts(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Says that every layout is distinct."""
    if step.do == "layout.facts" and isinstance(outcome, Value):
        return Value({**outcome.value, "is_distinct": True})
    return outcome


def _dead_is_alive(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Says of dead buffers that they live."""
    if step.do == "buffer.state" and isinstance(outcome, Value):
        return Value({**outcome.value, "dead": None})
    return outcome


def _lazy(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Skips everything: it conforms to nothing, and nothing ran."""
    return Skipped("later")


DEFECTS: Final[dict[str, Change]] = {
    "overlap_unseen": _accepting("OVERLAPPING"),
    "repeats_unseen": _accepting("REPEATED_ELEMENTS"),
    "read_only_written": _accepting("READ_ONLY"),
    "shapes_unchecked": _accepting("SHAPE_MISMATCH"),
    "dtypes_unchecked": _accepting("WRONG_DTYPE"),
    "dead_forgiven": _forgiving("memory/dead"),
    "reach_forgiven": _forgiving("arrays/past-the-end"),
    "range_forgiven": _forgiving("dtypes/value-range"),
    "order_swapped": _renaming("arrays/past-the-end", "arrays/misaligned"),
    "last_bit": _last_bit,
    "writes_on_refusal": _writes_on_refusal,
    "sulky": _sulky,
    "wordy": _wordy,
    "viewless": _viewless,
    "wrong_facts": _wrong_facts,
    "dead_is_alive": _dead_is_alive,
}
"""The defects by name."""


def __getattr__(name: str) -> Any:
    """The factory of the fake of that name."""
    if name == "lazy":
        return lambda: Fake("lazy", _lazy)
    if name not in DEFECTS:
        raise AttributeError(f"no fake is called {name}")
    return lambda: Fake(name, DEFECTS[name])
