"""The live view: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import io

from counterfoil_oracles.campaigns.driving import State
from counterfoil_oracles.campaigns.merging import Merged
from counterfoil_oracles.campaigns.showing import LiveView
from counterfoil_oracles.campaigns.units import Result, Shown


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def state(seconds: float) -> State:
    """Where a campaign is after that many seconds."""
    found = Shown(case=("kernel add: accepted", "door/overlapping"), kind="ACCEPTED", words="", command=b"", trace=b"")
    merged = Merged(seconds=seconds)
    merged.add(Result(steps=1000, rules={"door/overlapping": 3, "memory/dead": 1}, found=[found]), "a unit")
    return State(workers=2, queued=6, merged=merged)


def test_it_tells_how_far_the_campaign_is() -> None:
    """Time, workers, units out, steps and their rate, rules and findings, on one line that it writes over."""
    terminal = Terminal()
    LiveView(terminal)(state(4.0))
    line = "  4.0 s  2 workers  6 units out  1000 steps  250 steps/s  2 rules met  1 findings"
    assert terminal.getvalue() == f"\r\x1b[K{line}\r"


def test_it_is_written_five_times_a_second_at_most() -> None:
    """However often the driver comes by."""
    terminal = Terminal()
    view = LiveView(terminal)
    for tick in range(10):
        view(state(tick / 10))
    assert terminal.getvalue().count("units out") == 5


def test_it_leaves_the_terminal_clean() -> None:
    """Its line is gone at the end."""
    terminal = Terminal()
    view = LiveView(terminal)
    view(state(0.0))
    view.end()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_it_is_silent_where_nobody_watches() -> None:
    """A log holds none of it."""
    log = io.StringIO()
    view = LiveView(log)
    view(state(0.0))
    view.end()
    assert log.getvalue() == ""
