"""Writes docs/sources.md from docs/sources.toml and context-sources.toml: ``python tools/render_sources.py``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"

PREAMBLE = """\
# Where the rules come from

## Arrays

Each row is a sentence of the documentation of Raven's `Nx_array` that says raises, must, never, only, unless or at
most: its line, its place in the line, what it asks for in our words, and the rules it became. Rules cite the same lines
in `spec/counterfoil_spec/rules/`. This page is written from `sources.toml` by `tools/render_sources.py`.

| line | asks for | rules |
|---|---|---|
"""


CONTEXTS = """
## Programs and contexts

Each row is a paragraph of the documentation of OCANNL's `Context`: its line, the function it is of, what it says in our
words, its rules (planned ones too), and the traces and tests that show it. Rules cite the same lines as `context:LINE`.
Written from `context-sources.toml`; `tests/model/test_context_sources.py` holds rows, rules and files to it.

| line | function | says | rules | shown by |
|---|---|---|---|---|
"""


def render(source: str, context_source: str) -> str:
    """The page for the texts of ``sources.toml`` and ``context-sources.toml``."""
    sentences = tomllib.loads(source)["sentence"]
    paragraphs = tomllib.loads(context_source)["paragraph"]
    return PREAMBLE + "".join(map(_row, sentences)) + CONTEXTS + "".join(map(_paragraph, paragraphs))


def _row(entry: dict[str, Any]) -> str:
    return f"| {entry['line']}.{entry['ordinal']} | {entry['gist']} | {_code(entry['rules'])} |\n"


def _paragraph(entry: dict[str, Any]) -> str:
    shown = _code(Path(name).name for name in entry.get("shown", []))
    rules = _code(entry["rules"]) + (" (planned)" if entry.get("planned") else "")
    return f"| {entry['line']} | `{entry['function']}` | {entry['gist']} | {rules} | {shown} |\n"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    texts = [(DOCS / name).read_text("utf-8") for name in ("sources.toml", "context-sources.toml")]
    (DOCS / "sources.md").write_text(render(*texts), "utf-8")
