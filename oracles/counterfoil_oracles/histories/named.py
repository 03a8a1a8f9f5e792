"""Accepted and wrong: for each hypothesis of the theorems, a history that every rule accepts and that needs it.

Each is reproduced in the model, written as a trace for both halves (tests/traces/gradients), and told to users in
docs/gradients.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterfoil_oracles.histories.model import BODY, W, routines
from counterfoil_oracles.histories.scripts import Script
from counterfoil_spec.commands import Trace
from counterfoil_spec.programs.nodes import Node


@dataclass(frozen=True)
class Named:
    """A history that is accepted and wrong.

    ``lineage``: routines, each compiled from the one before, or from the one ``parents`` gives. ``events``: numbers of
    routines to run, or what the other kinds of events are called: ``timing 1``, ``rollback 0``, ``refused 1`` (a run
    that is refused), ``g += g``. ``holds``: W's sum at the end (H's where ``read`` is H); ``meant``: what it should be.
    """

    name: str
    title: str
    lineage: str
    events: str
    holds: float
    meant: float
    parents: tuple[int | None, ...] = ()
    read: Node = W
    virtual: bool = False
    body: tuple[str, ...] = BODY
    seed: tuple[str, ...] = ("C21",)

    def script(self) -> Script:
        """The history carried out: what the model says of each event."""
        script = Script(self.virtual, self.body)
        lineage = routines(self.lineage)
        for number, routine in enumerate(lineage):
            parent = self.parents[number] if self.parents else (number - 1 if number else None)
            script.compile(routine, parent)
        for word in self.events.split(", "):
            _event(script, word)
        script.read(self.read, len(lineage) - 1)
        return script

    def trace(self) -> Trace:
        """The history as a trace for both halves."""
        return self.script().trace(self.title, self.seed)

    @property
    def file(self) -> str:
        """The trace's file name."""
        return f"{self.name}.jsonl"


def _event(script: Script, word: str) -> None:
    """Carry out one event; a routine runs through the first value of its lineage that nothing was compiled from."""
    kind, _, number = word.rpartition(" ")
    paths = script.history.paths
    if word == "g += g":
        script.double_by_hand(W, len(paths) - 1)
    elif kind == "rollback":
        script.rollback(int(number))
    else:
        parents = {path[-2] for path in paths if len(path) > 1}
        tip = next(at for at, path in enumerate(paths) if at not in parents and int(number) in path)
        accepted = script.run(int(number), tip, timing=kind == "timing")
        assert accepted is (kind != "refused"), word


_THEN_P: Final = (None, 0, 1, 1)

NAMED: Final[tuple[Named, ...]] = (
    # No double counting, without one of its hypotheses.
    Named("twice-with-allowance", "An allowance above 1 over a trunk gradient that is kept counts it again.",
          "[aH P k=2]", "0, 0", 3.0, 2.0),
    Named("twice-propagated", "A propagating routine that may run twice and does not zero what it propagates.",
          "[zH aH] [P kW=2]", "0, 1, 1", 2.0, 1.0),
    Named("micro-steps-unzeroed", "Micro-steps that do not zero the trunk's gradient count the first one again.",
          "[zH zW] [aH P k=2]", "0, 1, 1", 30.0, 20.0),
    Named("sibling-contributors", "Two siblings that contribute the same: alternatives, and both are in the sum.",
          "[zW] [aW] [aW]", "0, 1, 2", 1100000.0, 1000000.0, parents=(None, 0, 0), seed=("C9", "context:39")),
    Named("sibling-propagators", "Two siblings that propagate the same gradient: its contribution is in the sum twice.",
          "[zH zW] [aH] [P] [P]", "0, 1, 2, 3", 20.0, 10.0, parents=_THEN_P, seed=("C9", "context:39")),
    Named("timing-runs", "Timing runs are not refused: what they add stays until the next reset.",
          "[zW] [aW]", "0, timing 1, timing 1", 200000.0, 100000.0, seed=("C13", "context:61")),
    Named("hand-written", "A hand-written write to a gradient is seen by no rule.",
          "[zW] [aW]", "0, 1, g += g", 200000.0, 100000.0, seed=("C21", "context:39")),
    # Delivery, without one of its hypotheses.
    Named("zeroed-last", "A zeroing compiled after the only contributor: the contribution is gone.",
          "[aW] [zW]", "0, 1", 0.0, 10000.0),
    Named("zeroed-by-propagator", "The propagating routine zeroes the gradient before it propagates it.",
          "[aH] [zH zW P]", "0, 1", 0.0, 1.0),
    Named("order-inside-a-comp", "A hand-assembled comp that zeroes after it contributes.",
          "[zW aW]", "0", 0.0, 10000.0, body=("aW", "zW"), seed=("C10",)),
    # Another order.
    Named("contributor-after-propagator", "A cycle that propagates before it contributes drops the contribution.",
          "[zH zW] [aH] [P]", "0, 1, 2, 0, 2, 1", 0.0, 10.0),
    Named("partial-cycle", "A cycle that never propagates drops what was contributed.",
          "[zH zW] [aH] [P]", "0, 1", 0.0, 10.0),
    Named("stray-reset", "A reset between contributing and propagating drops the contribution.",
          "[zH] [zW] [aH] [P]", "0, 1, 2, 0, 3", 0.0, 100.0),
    Named("stale-propagation", "Resetting the parameter's gradient alone propagates the last cycle's again.",
          "[zH] [zW] [aH] [P]", "0, 1, 2, 3, 1, 3", 100.0, 0.0),
    Named("omitted-reset", "Contributors that take turns without a reset: each is within its allowance.",
          "[zW] [aW] [aW]", "0, 1, 2", 1100000.0, 1000000.0),
    Named("virtual-trunk", "A trunk gradient without a buffer carries a contribution that was never run.",
          "[zH zW] [aH] [P]", "0, 2", 10.0, 0.0, virtual=True, seed=("C20",)),
)  # fmt: skip

FORGOTTEN: Final = Named(
    "rollback-restores", "A rollback restores the counts that the run removed, so a further run is refused.",
    "[aW] [zW]", "0, 1, rollback 1, refused 0", 0.0, 0.0, seed=("C5",)
)  # fmt: skip
"""What C5 prevents: a rollback that forgot the counts would accept the last run, over what the failure left."""


def rollback_that_forgets() -> Script:
    """The same history with a rollback that forgets, in the model: W holds one routine's increment twice."""
    script = Script()
    for number, routine in enumerate(routines(FORGOTTEN.lineage)):
        script.compile(routine, number - 1 if number else None)
    script.run(0, 1)
    script.run(1, 1)
    script.history.rollback(1, forgets=True)
    script.run(0, 1)
    return script


TRACES: Final = (*NAMED, FORGOTTEN)
