"""The numbers every implementation shares (A3, A7, A11)."""

from typing import Final

MAX_RANK: Final = 32
"""Most axes of a layout."""

MAX_ELEMENTS: Final = 2**53
"""Largest product of the extents other than 0, and the first position no layout may reach."""

MAX_OPERANDS: Final = 18
"""Length of the runs in which the door claims and releases operands."""

MAX_VIEW_RANK: Final = 16
"""Most axes of a host view (``reading``, ``writing``, ``export``, ``from_buffer``)."""

MAX_MAP_INPUTS: Final = 16
"""Most arrays an expression given to ``map`` may read."""

MAX_MAP_NODES: Final = 64
"""Most nodes of an expression given to ``map``; a larger one is Declined."""

MAX_FILL: Final = 16
"""Most elements a node may be given in the code itself; a literal up to this size is emitted so."""

MAX_VISITS: Final = 1
"""Most reads of one element of a virtual node in a routine, by the default placement policy."""

MAX_INLINE_REDUCTION: Final = 16
"""Largest reduction a virtual node's definition may hold, by the default placement policy."""

MAX_INLINE_FANIN: Final = 8
"""Most materialized nodes a virtual node's definition may read, by the default placement policy."""

LOCAL_BYTES: Final = 16384
"""Largest node kept as scratch of its routine."""

POOL_CAP: Final = 2**32
"""Most bytes of one pool."""

POOL_ALIGNMENT: Final = 32
"""Alignment of every node in a pool, in bytes."""
