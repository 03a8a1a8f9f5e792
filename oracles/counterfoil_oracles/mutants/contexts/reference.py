"""Defects of the reference's programs and contexts: the half that is obviously right, made wrong."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_REFERENCE: Final = "reference/counterfoil_reference/"

CONTEXT_REFERENCE: Final = (
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
