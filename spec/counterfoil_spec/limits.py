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
