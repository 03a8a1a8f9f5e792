"""The context machine under Hypothesis: the same plans, with choices that Hypothesis records and shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from counterfoil_oracles.collecting import between_programs, level_memory
from counterfoil_oracles.failures import DIRECTORY, reproduce, save
from counterfoil_oracles.machines.choices import HypothesisChooser, weighted
from counterfoil_oracles.machines.contexts.machine import PLANS, interlude
from counterfoil_oracles.machines.contexts.plans import (
    asking,
    compiling,
    merging,
    moving,
    networks,
    releasing,
    running,
    stories,
)
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.contexts.world import ContextPlan, ContextWorld
from counterfoil_oracles.machines.program import Diverged, Program


def _of(*modules: Any) -> list[tuple[int, ContextPlan]]:
    names = {module.__name__ for module in modules}
    return [(weight, plan) for weight, plan in PLANS if plan.__module__ in names]


_COMPILING, _RUNNING, _MOVING = _of(compiling), _of(running), _of(moving, merging, asking)
_RELEASING = _of(releasing, stories, networks)


class ContextMachine(RuleBasedStateMachine):
    """One program on two halves; a difference is saved as a trace and raised. Subclass to say which halves."""

    reference: ClassVar[Any]
    subject: ClassVar[Any]
    tally: ClassVar[Tally]
    directory: ClassVar[Path] = DIRECTORY

    def __init__(self) -> None:
        super().__init__()
        self.program: Program | None = None
        self._collecting = between_programs()
        self._level = level_memory(self.reference, self.subject)

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        """A poison byte, the host, a root or two."""
        self._collecting.__enter__()
        chooser = HypothesisChooser(data)
        self.program = Program(self.reference, self.subject, chooser, self.tally, None, ContextWorld)
        self._level.__enter__()
        world = self._world()
        world.told, world.interlude = self.tally.told, lambda: interlude(world)
        self._run(data, compiling.begin)

    @rule(data=st.data())
    def compile(self, data: Any) -> None:
        """Comps compiled in lines and siblings."""
        self._draw(data, _COMPILING)

    @rule(data=st.data())
    def run(self, data: Any) -> None:
        """Routines run, rolled back, poisoned."""
        self._draw(data, _RUNNING)

    @rule(data=st.data())
    def move(self, data: Any) -> None:
        """Uploads, copies, reads, questions, decisions."""
        self._draw(data, _MOVING)

    @rule(data=st.data())
    def release(self, data: Any) -> None:
        """Releases, forks, adoptions, failures; or a story."""
        self._draw(data, _RELEASING)

    def teardown(self) -> None:
        """Release all, then undo what the program left behind."""
        if self.program is not None:
            try:
                if not self.program.diverged:
                    self._run(None, releasing.finish)
            finally:
                self._level.__exit__(None, None, None)
                self.program.close()
                self._collecting.__exit__(None, None, None)

    def _world(self) -> ContextWorld:
        assert self.program is not None and isinstance(self.program.world, ContextWorld)
        return self.program.world

    def _draw(self, data: Any, plans: Sequence[tuple[int, ContextPlan]]) -> None:
        self._run(data, weighted(HypothesisChooser(data), plans))
        self._run(data, releasing.tidy)

    def _run(self, data: Any | None, plan: ContextPlan) -> None:
        world = self._world()
        if data is not None:
            world.chooser = HypothesisChooser(data)
        assert self.program is not None
        try:
            self.program.run(plan(world))
        except Diverged as found:
            path = save(found.trace, found.divergence, self.directory)
            raise AssertionError(f"{found}\n{reproduce(path)}") from None
