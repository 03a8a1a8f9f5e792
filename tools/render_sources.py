"""Writes docs/sources.md from docs/sources.toml: ``python tools/render_sources.py``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"

PREAMBLE = """\
# Where the rules of the arrays come from

Each row is a sentence of the documentation of Raven's `Nx_array` that says raises, must, never, only, unless or at
most: its line, its place in the line, what it asks for in our words, and the rules it became. Rules cite the same lines
in `spec/counterfoil_spec/rules/`. This page is written from `sources.toml` by `tools/render_sources.py`.

Rules of programs and contexts cite the documentation of OCANNL's `Context` as `context:LINE`. `context-sources.toml`
has a row for each of its paragraphs: what it says in our words, the function it is of, its rules, and the traces and
tests that show it, or that it is planned. `tests/model/test_context_sources.py` holds rows, rules and files to it.

| line | asks for | rules |
|---|---|---|
"""


def render(source: str) -> str:
    """The page for the text of ``sources.toml``."""
    sentences = tomllib.loads(source)["sentence"]
    return PREAMBLE + "".join(map(_row, sentences))


def _row(entry: dict[str, Any]) -> str:
    rules = ", ".join(f"`{rule}`" for rule in entry["rules"])
    return f"| {entry['line']}.{entry['ordinal']} | {entry['gist']} | {rules} |\n"


if __name__ == "__main__":
    (DOCS / "sources.md").write_text(render((DOCS / "sources.toml").read_text("utf-8")), "utf-8")
