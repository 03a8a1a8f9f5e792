"""Defects of the bump planner: where nodes lie in their pools, and which pools there are."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_POOLS: Final = "fast/counterfoil/contexts/pools.py"
_LINKING: Final = "fast/counterfoil/contexts/linking.py"

BUMP: Final = (
    Defect(
        "bump/alignment",
        _POOLS,
        "first = -(-bump // POOL_ALIGNMENT) * POOL_ALIGNMENT",
        "first = -(-bump // 16) * 16",
        "nodes are aligned to 16 bytes",
    ),
    Defect(
        "bump/size",
        _POOLS,
        "buffer = allocate(device.memory, first + last.nbytes)",
        "buffer = allocate(device.memory, -(-(first + last.nbytes) // POOL_ALIGNMENT) * POOL_ALIGNMENT)",
        "a pool ends at a multiple of the alignment instead of its last byte",
    ),
    Defect(
        "bump/order",
        _LINKING,
        "pools.packed(node for node in absent if (node in shareable) is constant)",
        "pools.packed(node for node in reversed(absent) if (node in shareable) is constant)",
        "nodes are packed by falling uid",
    ),
    Defect(
        "bump/cap",
        _POOLS,
        "if not pools or first + node.nbytes > POOL_CAP:",
        "if not pools or first + node.nbytes > POOL_CAP >> 26:",
        "a pool is closed at a small part of the cap",
    ),
    Defect(
        "bump/groups",
        _LINKING,
        "shareable = {node for node in missing if node in read_only and not node.context_owned}",
        "shareable = {node for node in missing if node in read_only}",
        "constants that the context owns are shared",
    ),
)
