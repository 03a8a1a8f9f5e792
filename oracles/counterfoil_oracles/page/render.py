"""The page itself: everything in one file, no network, readable without its script and on paper."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

from counterfoil_oracles.explain import explain_rule
from counterfoil_oracles.page import lineage, timeline
from counterfoil_oracles.page.record import Moment, Recording, recorded
from counterfoil_spec import __version__
from counterfoil_spec.commands import Trace
from counterfoil_spec.rules import registry

_LEGEND = (
    ("live", "--live"), ("claimed (how often)", "--claimed"), ("! held exclusive", "--exclusive"),
    ("e exported", "--exported"), ("× dead", "--dead"),
)  # fmt: skip


def page(trace: Trace, reference: Any) -> str:
    """The HTML of a trace, run on the reference."""
    return rendered(recorded(trace, reference))


def rendered(recording: Recording) -> str:
    """The HTML of a recording."""
    start = next((at for at, moment in reversed(list(enumerate(recording.moments))) if moment.rule), None)
    first = len(recording.moments) - 1 if start is None else start
    tree = lineage.tree(recording)
    items = "".join(_item(at, moment) for at, moment in enumerate(recording.moments))
    sections = "".join(_section(at, moment) for at, moment in enumerate(recording.moments))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(recording.title)}</title>",
            f"<style>\n{_file('style.css')}</style></head>",
            f'<body data-start="{first}">',
            f"<header><h1>{escape(recording.title)}</h1>{_about(recording)}</header>",
            "<main>",
            '<div class="layout">',
            f'<ol class="steps">{items}</ol>',
            f'<div class="panel" aria-live="polite">{sections}</div>',
            "</div>",
            f"<h2>Memory and work</h2>{_legend()}",
            f'<div class="scroll" tabindex="0">{timeline.drawing(recording)}</div>',
            *([f"<h2>Contexts</h2>{tree}"] if tree else []),
            "</main>",
            f"<script>\n{_file('page.js')}</script>",
            "</body></html>",
            "",
        ]
    )


def _about(recording: Recording) -> str:
    refused = sum(moment.rule is not None for moment in recording.moments)
    told = f"{len(recording.moments)} steps, {refused} refused"
    named = f"; about {', '.join(recording.rules)}" if recording.rules else ""
    keys = '<span class="keys"> Arrow keys move between steps.</span>'
    return f'<p class="note">{escape(told + named)}. counterfoil {__version__}.{keys}</p>'


def _item(at: int, moment: Moment) -> str:
    kind = ' class="refused"' if moment.rule or moment.unlike else ""
    outcome = escape(moment.outcome) + (f" ({escape(moment.unlike)})" if moment.unlike else "")
    return (
        f'<li><button id="step-{at + 1}" type="button"{kind}>{at + 1}. {escape(moment.words)}'
        f'<span class="outcome">{outcome}</span></button></li>'
    )


def _section(at: int, moment: Moment) -> str:
    parts = [f"<h3>{at + 1}. {escape(moment.words)}</h3><p>{escape(moment.outcome)}</p>"]
    if moment.unlike:
        parts.append(f'<p class="rule">{escape(moment.unlike)}</p>')
    if moment.rule is not None:
        parts.append(f'<div class="rule">{_rule(moment.rule)}</div>')
    if moment.allowed is not None:
        parts.append(_allowed(moment.allowed))
    if moment.facts:
        parts.append(f"<h3>Before this step</h3><pre>{escape(_text(moment.facts))}</pre>")
    parts.append(f"<details><summary>The command</summary><pre>{escape(moment.source)}</pre></details>")
    return f'<section data-step="{at}">{"".join(parts)}</section>'


def _allowed(found: list[str]) -> str:
    """What would have been allowed in place of a refused step."""
    told = "".join(f"<li>{escape(words)}</li>" for words in found)
    said = f"<ul>{told}</ul>" if found else "<p>Nothing else that was tried: the way out is the rule's own.</p>"
    return f'<div class="allowed"><h3>Allowed here instead</h3>{said}</div>'


def _rule(name: str) -> str:
    """A rule's page: its statement, then each line of the explanation as a term and what it says."""
    _, _, statement, *lines = explain_rule(registry()[name])
    parts = [f"<strong>{escape(name)}</strong><p>{escape(statement.strip())}</p><dl>"]
    for line in lines:
        term, _, said = line.strip().partition(": ")
        parts.append(f"<dt>{escape(term)}</dt><dd>{escape(said)}</dd>")
    return "".join([*parts, "</dl>"])


def _legend() -> str:
    shown = "".join(f'<span style="--swatch: var({colour})">{escape(word)}</span>' for word, colour in _LEGEND)
    return f'<div class="legend">{shown}<b>●</b> written <b>○</b> read <b>┄</b> pending work</div>'


def _text(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line)


def _file(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")
