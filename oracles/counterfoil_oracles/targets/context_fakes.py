"""Fake runtimes of contexts: the reference, one of whose checks or computations is another.

Each really does what it should not, so that what follows shows it too: it adds twice, reads memory that nobody wrote,
runs after the release. ``counterfoil check counterfoil_oracles.targets.context_fakes:adds_twice --chapter gradients``
shows what a finding looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from counterfoil_oracles.subjects import second_copy
from counterfoil_oracles.targets.ours import HalfTarget

Plant = Callable[[Any], None]
"""Changes a copy of the reference."""


def _forget(module: str, check: str) -> Plant:
    """A check of ``contexts`` that looks at nothing."""

    def plant(half: Any) -> None:
        setattr(getattr(half.contexts, module), check, lambda *arguments: None)

    return plant


def _lives_on(half: Any) -> None:
    """A run looks at no release, and a release takes no memory back."""
    checking = half.contexts.checking
    checking.check_released = checking._check_compile_context = lambda *arguments: None

    def kept(pool: Any) -> None:
        pool.freed = True
        half.contexts.census.pool_freed(pool)

    half.contexts.pools.Pool.free = kept


def _counts_no_rollback(half: Any) -> None:
    """A run taken back stays counted."""
    half.contexts.undoing.withdrawn = lambda now, before, locations: now


def _copies_vouch(half: Any) -> None:
    """What nobody wrote counts as written once it was copied."""
    half.contexts.ledger.Ledger.vouches = lambda ledger, location: True


def _uploads_wrong(half: Any) -> None:
    """Every upload leaves the lowest bit of its first element turned."""
    contents = half.contexts.contents
    store = contents.store_interior

    def stored(array: Any, *rest: Any) -> None:
        store(array, *rest)
        data = bytearray(half.inspection.memory_bytes(array.buffer))
        if data:
            data[0] ^= 1
            half.inspection.poke(array.buffer, bytes(data))

    contents.store_interior = stored


@dataclass(frozen=True)
class Defect:
    """A change of the reference, and the rule it breaks; None where it leaves other elements or records instead.

    ``also``: rules that are broken as soon, in what follows.
    """

    plant: Plant
    rule: str | None
    also: frozenset[str] = frozenset()


DEFECTS: Final[dict[str, Defect]] = {
    "adds_twice": Defect(_forget("running", "check_reset"), "gradients/without-reset"),
    "reads_unwritten": Defect(_forget("checking", "_check_written"), "run/unwritten-inputs"),
    "runs_released": Defect(_lives_on, "release/dead-handle"),
    "runs_early": Defect(_forget("checking", "_check_dependencies"), "run/dependencies"),
    "reads_foreign": Defect(_forget("checking", "_check_own"), "run/foreign-write"),
    "runs_unbound": Defect(_forget("running", "check_launch_bindings"), "run/launch-binding"),
    "runs_elsewhere": Defect(_forget("checking", "_check_required"), "run/fragment-not-owned"),
    "merges_late": Defect(_forget("running", "check_slab"), "run/merge-slab"),
    "counts_rolled_back": Defect(_counts_no_rollback, "gradients/without-reset"),
    "copies_vouch": Defect(
        _copies_vouch,
        None,
        frozenset({"transfers/unwritten-value", "run/unwritten-inputs", "transfers/source-pending"}),
    ),
    "uploads_wrong": Defect(_uploads_wrong, None),
}
"""The defects by name."""


def __getattr__(name: str) -> Any:
    """The factory of the fake of that name."""
    if name not in DEFECTS:
        raise AttributeError(f"no fake is called {name}")
    return lambda: _made(name)


def _made(name: str) -> HalfTarget:
    half = second_copy("counterfoil_reference")  # the first one judges it
    DEFECTS[name].plant(half)
    return HalfTarget(half, name)
