"""What the page says of a trace, without a browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import counterfoil_reference
from counterfoil_oracles.page import page
from counterfoil_oracles.page.record import recorded
from counterfoil_spec.commands import Command, Header, Step, Trace, decode_trace

TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*/*.jsonl"))
VOID = {"meta", "link", "br", "rect", "path", "circle"}


class Checker(HTMLParser):
    """Notes what does not nest, and what points outside."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.wrong += [f"{tag} {name}" for name, value in attrs if name in ("src", "href") and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(f"/{tag}")


@pytest.mark.parametrize("path", TRACES[::12], ids=lambda path: path.stem)
def test_every_trace_makes_a_sound_page(path: Path) -> None:
    """Tags nest, nothing is fetched from elsewhere."""
    checker = Checker()
    checker.feed(page(decode_trace(path.read_bytes()), counterfoil_reference))
    assert (checker.wrong, checker.open) == ([], [])


def test_texts_are_escaped() -> None:
    """A name with angle brackets is no markup."""
    trace = Trace(Header(title="<script>alert(1)</script>"), [Step(command=Command(do="host", bind="<b>"))])
    made = page(trace, counterfoil_reference)
    assert "<script>alert" not in made and "&lt;b&gt;" in made


def test_a_donation_shows_as_exclusive_then_dead() -> None:
    """The lane of a consumed memory changes when it is donated, and when it is consumed."""
    make = Command(do="buffer", args={"device": {"ref": "h"}, "nbytes": 8, "kind": "device"}, bind="b")
    enter = Command(do="claims.enter", args={"read": [], "donate": [{"ref": "b"}]}, bind="c")
    consume = Command(
        do="claims.consume", args={"claims": {"ref": "c"}, "buffer": {"ref": "b"}, "why": "donated"}, bind="n"
    )
    leave = Command(do="claims.exit", args={"claims": {"ref": "c"}})
    steps = [Step(command=each) for each in (Command(do="host", bind="h"), make, enter, consume, leave)]
    moments = recorded(Trace(Header(), steps), counterfoil_reference).moments
    assert [held.state for moment in moments for held in moment.memories.values()] == [
        "live",
        "exclusive",
        "dead",
        "dead",
    ]


def test_a_refused_step_touches_nothing() -> None:
    """A refusal changes nothing, and the drawing says so."""
    path = next(path for path in TRACES if path.stem == "ledger-allowance")
    last = recorded(decode_trace(path.read_bytes()), counterfoil_reference).moments[-1]
    assert last.rule == "gradients/without-reset"
    assert last.touched == {}
