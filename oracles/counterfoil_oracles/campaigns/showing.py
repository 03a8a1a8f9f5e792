"""A campaign as text: a live line on a terminal, and what the report of a check does not say."""

from __future__ import annotations

import sys
from typing import TextIO

from counterfoil_oracles.campaigns.driving import State
from counterfoil_oracles.campaigns.merging import Merged


class LiveView:
    """One line on a terminal, five times a second at most; nothing elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._next = 0.0
        self._is_live = self._stream.isatty()

    def __call__(self, state: State) -> None:
        """Say where the campaign is."""
        if self._is_live and state.merged.seconds >= self._next:
            self._next = state.merged.seconds + 0.2
            self._stream.write(f"\r\x1b[K{line(state)}\r")
            self._stream.flush()

    def end(self) -> None:
        """Leave the terminal clean."""
        if self._is_live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def line(state: State) -> str:
    """Where a campaign is."""
    merged = state.merged
    return (
        f"{merged.seconds:5.1f} s  {state.workers} workers  {state.queued} units out  {merged.steps} steps  "
        f"{merged.rate:.0f} steps/s  {len(merged.rules)} rules met  {len(merged.shown)} findings"
    )


def said(merged: Merged) -> list[str]:
    """What a campaign has to say beside the report of a check."""
    lines = [
        f"{merged.steps_now} steps in {merged.seconds:.1f} s ({merged.rate:.0f} a second) in this run; "
        f"{len(merged.results)} units so far"
    ]
    if merged.healed:
        lines.append(f"{merged.healed} known findings are healed")
    return lines + [f"NO VERDICT {words}" for words in merged.unsettled]
