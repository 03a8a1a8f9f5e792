"""Where a lineage keeps a node, and why."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


class Mode(enum.Enum):
    """A node's place in a lineage: its definition alone, scratch of each routine, or a buffer of the context."""

    VIRTUAL = "virtual"
    LOCAL = "local"
    ON_DEVICE = "on_device"


@dataclass(frozen=True, slots=True)
class Placement:
    """A decision and the code of its reason (``REASONS``)."""

    mode: Mode
    provenance: int


REASONS: Final[dict[int, str]] = {
    1: "read more often than MAX_VISITS",
    5: "a setter's index is no one-to-one map onto the node",
    6: "a setter's loop has a symbolic extent",
    8: "a setter reads the node at another position than its own",
    9: "read before its last setter",
    10: "a leaf of its definition is written after it",
    19: "declared observable",
    20: "declared Virtual",
    21: "declared Never_virtual",
    22: "declared Local",
    23: "declared On_device, or constant and needing a buffer",
    24: "decided by decide_materialized",
    36: "read before it is written",
    37: "only read",
    39: "a reduction larger than MAX_INLINE_REDUCTION",
    40: "a constant scalar",
    41: "reads more materialized nodes than MAX_INLINE_FANIN",
    152: "nothing speaks against inlining",
}
"""Why a node was placed as it was. Where a node may not be inlined, the code is of the reason why not."""


class Observability(enum.Enum):
    """Whether a host read of a node can be served, and if not, why. The last five are refused."""

    STORED = "stored"
    HOST_INIT = "host_init"
    RECOMPUTABLE = "recomputable"
    LOCAL = "local"
    ALIASED = "aliased"
    MERGE = "merge"
    LAUNCH_BOUND = "launch_bound"
    NEEDS_CONTEXT = "needs_context"

    @property
    def readable(self) -> bool:
        """Whether ``to_host`` serves it."""
        return self in (Observability.STORED, Observability.HOST_INIT, Observability.RECOMPUTABLE)


def placeholder(kind: Observability, path: Sequence[str]) -> str | None:
    """What printers show for a node that cannot be read, None for a readable one.

    ``path``: labels from the node to what the reason stands for (docs/contexts.md, section 6).
    """
    alone, last = len(path) == 1, path[-1] if path else ""
    match kind:
        case Observability.LOCAL:
            reason = "placed Local" if alone else f"reads Local {last}"
        case Observability.ALIASED:
            reason = "buffer reused" if alone else f"reads reused {last}"
        case Observability.MERGE:
            reason = f"reads the merge buffer of {last}"
        case Observability.LAUNCH_BOUND:
            reason = f"depends on {last}"
        case Observability.NEEDS_CONTEXT:
            reason = "not in the context" if alone else f"reads absent {last}"
        case _:
            return None
    return f"<unobservable: {reason}>"
