"""The array machine under Hypothesis: the same plans, with choices that Hypothesis records and shrinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.coverage import Coverage
from counterfoil_oracles.failures import DIRECTORY, reproduce, save
from counterfoil_oracles.machines.arrays import PLANS
from counterfoil_oracles.machines.choices import HypothesisChooser, weighted
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.plans import arrays, corners, kernels, memory, odd, sharing, words
from counterfoil_oracles.machines.program import Diverged, Program
from counterfoil_oracles.machines.world import Plan, World

Drawn = Callable[[World], Plan[None]]


def _of(*modules: Any) -> list[tuple[int, Drawn]]:
    names = {module.__name__ for module in modules}
    return [(weight, plan) for weight, plan in PLANS if plan.__module__ in names]


_KERNELS = _of(kernels)
_ARRAYS = _of(arrays, corners)
_MEMORY = _of(memory, sharing)
_WORDS = _of(words)


class ArrayMachine(RuleBasedStateMachine):
    """One program on two halves; a difference is saved as a trace and raised. Subclass to say which halves."""

    reference: ClassVar[Any]
    subject: ClassVar[Any]
    histogram: ClassVar[Histogram]
    coverage: ClassVar[Coverage | None] = None
    directory: ClassVar[Path] = DIRECTORY

    def __init__(self) -> None:
        super().__init__()
        self.program: Program | None = None
        self._collecting = between_programs(self.reference, self.subject)

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        """A poison byte, the host, a device of each kind, the disk."""
        if self.coverage is not None:
            self.coverage.begin()
        self._collecting.__enter__()
        chooser = HypothesisChooser(data)
        self.program = Program(self.reference, self.subject, chooser, self.histogram, self.coverage)
        self._run(data, memory.begin)

    @rule(data=st.data())
    def call(self, data: Any) -> None:
        """A kernel or the door."""
        self._draw(data, _KERNELS)

    @rule(data=st.data())
    def call_another(self, data: Any) -> None:
        """A kernel or the door: half of all that happens."""
        self._draw(data, _KERNELS)

    @rule(data=st.data())
    def use_arrays(self, data: Any) -> None:
        """Views, elements and copies."""
        self._draw(data, _ARRAYS)

    @rule(data=st.data())
    def use_memory(self, data: Any) -> None:
        """Buffers, devices, files, work and claims."""
        self._draw(data, _MEMORY)

    @rule(data=st.data())
    def ask(self, data: Any) -> None:
        """Dtypes, layouts, moves; or an odd argument."""
        program = self._program()
        if data.draw(st.booleans()):
            self._run(data, lambda world: odd.repeat_oddly(world, list(program.recent)))
        else:
            self._draw(data, _WORDS)

    def teardown(self) -> None:
        """Donate every live buffer, then undo what the program left behind."""
        if self.program is not None:
            try:
                if not self.program.diverged:
                    self._run(None, memory.probe)
            finally:
                self.program.close()
                self._collecting.__exit__(None, None, None)

    def _program(self) -> Program:
        assert self.program is not None
        return self.program

    def _draw(self, data: Any, plans: Sequence[tuple[int, Drawn]]) -> None:
        self._run(data, weighted(HypothesisChooser(data), plans))
        self._run(data, memory.tidy)

    def _run(self, data: Any | None, plan: Drawn) -> None:
        program = self._program()
        if data is not None:
            program.world.chooser = HypothesisChooser(data)
        try:
            program.run(plan(program.world))
        except Diverged as found:
            path = save(found.trace, found.divergence, self.directory)
            raise AssertionError(f"{found}\n{reproduce(path)}") from None
