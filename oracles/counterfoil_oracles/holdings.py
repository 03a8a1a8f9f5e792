"""What an environment remembers of programs and contexts beside their names: so that all of it can be undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from counterfoil_oracles.slabs import grow_slabs
from counterfoil_spec.programs.symbols import Symbol

SEAMS: Final = (
    "delta-pool-allocated", "link-after-delta", "transfer-pool-allocated", "from-host-before-copy",
    "from-host-before-await", "to-host-before-copy", "init-from-device-before-await", "transfer-cleanup-before-await",
    "finalize-before-await", "finalize-before-free",
)  # fmt: skip
"""The seams at which a failure can be injected."""


class Compiled(NamedTuple):
    """What ``compile`` made: bound as X and X.routine."""

    context: Any
    routine: Any


class Injection:
    """Failures at seams: at each of them once, the ``left``-th time that it is passed from now.

    Where several fail, each says at which: what is raised on the way out of another failure is told from it.
    """

    def __init__(self, seams: Sequence[str], left: int) -> None:
        self._left = dict.fromkeys(seams, left)
        self._apart = len(seams) > 1

    def passed(self, seam: str) -> None:
        """Called with every seam as it is passed."""
        left = self._left.get(seam, 0)
        self._left[seam] = max(left - 1, 0)
        if left == 1:
            raise RuntimeError(injected(seam) if self._apart else injected())


def injected(seam: str | None = None) -> str:
    """What an injected failure says."""
    return "injected" if seam is None else f"injected at {seam}"


class Holdings:
    """The contexts of one environment with their roots, its symbols, fragments and frontend session, its counters.

    Contexts are held until ``close`` releases them, deepest first: an environment leaves no pool behind.
    """

    def __init__(self, half: Any) -> None:
        grow_slabs(half)
        self._inspection: Any = half.inspection
        self._contexts: dict[int, tuple[Any, int]] = {}
        self._roots = 0
        self._names: dict[tuple[int, int], str] = {}
        self._routines: dict[int, tuple[Any, int]] = {}
        self._tensors: dict[str, int] = {}
        self._began: Mapping[str, int] | None = None
        self._compiled_before = 0
        self.symbols: dict[str, Symbol] = {}
        self.session: Any = None

    # --- contexts ----------------------------------------------------------------------------------------------------

    def root(self, context: Any) -> Any:
        """Hold a new root; the first one of an environment starts its counters."""
        self._roots += 1
        self._contexts[id(context)] = (context, self._roots)
        return context

    def derived(self, context: Any, origin: Any) -> Any:
        """Hold a value made from ``origin``."""
        self._contexts.setdefault(id(context), (context, self.root_of(origin)))
        return context

    def compiled(self, context: Any, routine: Any, origin: Any) -> Compiled:
        """Hold what a compile from ``origin`` made."""
        self.derived(context, origin)
        root = self.root_of(origin)
        self._names[root, routine.routine_id] = routine.name
        self._routines[id(routine)] = (routine, root)
        return Compiled(context, routine)

    def root_of(self, context: Any) -> int:
        """The number of a context's root in this environment."""
        return self._contexts[id(context)][1]

    def root_of_routine(self, routine: Any) -> int:
        """The number of a routine's root in this environment."""
        return self._routines[id(routine)][1]

    def dependencies(self, routine: Any) -> list[str]:
        """The names of what a routine depends on; a merge fill has an id too, and no name here."""
        root = self._routines[id(routine)][1]
        found = (self._names.get((root, each), "a copy into the merge buffer") for each in routine.execution_deps)
        return sorted(found)

    # --- programs ----------------------------------------------------------------------------------------------------

    def tensor_of(self, label: str) -> int:
        """The number of the tensor that hand-written fragments of that label belong to; no frontend tensor has it."""
        return self._tensors.setdefault(label, -1 - len(self._tensors))

    # --- counters ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the counters before the first thing that could move them; later calls do nothing."""
        if self._began is None:
            self._inspection.reset_peak()
            self._began = self.counted()
            self._compiled_before = self._inspection.compile_count()

    def census(self) -> dict[str, int]:
        """The allocation census since the environment began; the peak is a height, not a difference."""
        self.begin()
        began = self._began or {}
        return {name: count - began[name] for name, count in self.counted().items()}

    def counted(self) -> dict[str, int]:
        """The half's census as it stands."""
        return dict(self._inspection.census())

    def compile_count(self) -> int:
        """Compiles since the environment began."""
        self.begin()
        count: int = self._inspection.compile_count() - self._compiled_before
        return count

    def inject(self, seams: Sequence[str], passes: int) -> None:
        """Raise at the ``passes``-th passing of each of those seams from now; 0: at none."""
        callback: Callable[[str], None] | None = Injection(seams, passes).passed if passes else None
        self._inspection.inject(callback)

    def close(self) -> None:
        """Inject nothing any more, and release every context that was made, deepest first."""
        if self._contexts:
            self._inspection.inject(None)
        held = [context for context, _ in self._contexts.values()]
        self._contexts.clear()
        self._routines.clear()
        for context in sorted(held, key=lambda context: -int(context.lifecycle_depth)):
            context.release()
