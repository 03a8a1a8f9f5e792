"""Defects of the reference's programs and contexts: the half that is obviously right, made wrong."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_REFERENCE: Final = "reference/counterfoil_reference/"

CONTEXT_REFERENCE: Final = (
    Defect(
        "context-reference/zeroed-before",
        _REFERENCE + "lineage.py",
        "return not zeroing or not accumulating or max(zeroing) < min(accumulating)",
        "return not zeroing or not accumulating or min(zeroing) < min(accumulating)",
        "one zeroing before the first contribution makes up for those after it",
    ),
    Defect(
        "context-reference/allowance",
        _REFERENCE + "history.py",
        "    for gradient in entry.zeroes:\n        location = location_of(gradient)\n"
        "        if location is not None:\n            counts = reset(counts, location)\n",
        "",
        "a run that zeroes a gradient leaves the counts as they were",
    ),
    Defect(
        "context-reference/rollback",
        _REFERENCE + "contexts/undoing.py",
        "    _entry(ledger.writers, location, before.writer)\n",
        "",
        "a run taken back stays the current writer of its outputs",
    ),
    Defect(
        "context-reference/fork-pools",
        _REFERENCE + "contexts/units.py",
        "origin.pools[: origin.base + context.count]",
        "origin.pools",
        "a fork keeps the pools of uploads made after the value it forks",
    ),
    Defect(
        "context-reference/constant-cache",
        _REFERENCE + "contexts/constants.py",
        "        self._own = {key: where for key, where in self._own.items() if where.pool is not pool}\n",
        "",
        "constants of a freed pool stay in the cache",
    ),
    Defect(
        "context-reference/margin",
        _REFERENCE + "programs/replaying.py",
        "body = (If(fixed(-1), entry,",
        "body = (If(fixed(0), entry,",
        "the first element of an inlined padded node counts as margin",
    ),
    Defect(
        "context-reference/zeroing-routine",
        _REFERENCE + "contexts/checking.py",
        "named = [[gradient.label, _zeroing(context, gradient)] for gradient in gradients]",
        "named = [[gradient.label, None] for gradient in gradients]",
        "a refusal for want of a reset does not name the routine that resets",
    ),
    Defect(
        "context-reference/fork-parent",
        _REFERENCE + "contexts/units.py",
        "unit = Unit(origin.ledger, origin.parent, shared, is_fork=True)",
        "unit = Unit(origin.ledger, origin, shared, is_fork=True)",
        "a fork dies with the value it forked",
    ),
    Defect(
        "context-reference/visits",
        _REFERENCE + "programs/placement.py",
        "if visits(choice.steps, node) > MAX_VISITS:",
        "if visits(choice.steps, node) >= MAX_VISITS:",
        "a value that is read once is not inlined",
    ),
    Defect(
        "context-reference/alignment",
        _REFERENCE + "contexts/pools.py",
        "return -(-nbytes // POOL_ALIGNMENT) * POOL_ALIGNMENT",
        "return -(-nbytes // 16) * 16",
        "nodes are aligned to 16 bytes",
    ),
)
