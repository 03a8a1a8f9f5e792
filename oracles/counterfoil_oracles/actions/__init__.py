"""What each command does on a half: one small function a command, grouped by chapter.

``MAKES`` holds the commands that make an object (``MAY_MAKE`` those that may answer None instead), ``ANSWERS`` the
others, whose functions give the value of the outcome as ``counterfoil_spec.commands`` documents it.
"""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.actions import arrays, buffers, contexts, devices, door, layouts, programs, tensors
from counterfoil_oracles.actions.arguments import Action

MAKES: Final[dict[str, Action]] = {
    **devices.MAKES, **buffers.MAKES, **layouts.MAKES, **arrays.MAKES, **door.MAKES, **programs.MAKES,
    **tensors.MAKES, **contexts.MAKES,
}  # fmt: skip

ANSWERS: Final[dict[str, Action]] = {
    **devices.ANSWERS, **buffers.ANSWERS, **layouts.ANSWERS, **arrays.ANSWERS, **door.ANSWERS, **programs.ANSWERS,
    **tensors.ANSWERS, **contexts.ANSWERS,
}  # fmt: skip

MAY_MAKE: Final = frozenset({"buffer.borrow", "layout.move", "array.move", "array.bitcast", "array.borrow"})
