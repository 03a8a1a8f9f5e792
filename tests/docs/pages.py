"""The site's pages, and the examples in them.

- `python` blocks run in order, in one namespace for a page. `print(...)  # text` says what is printed.
- `console` blocks run in order, in one folder for a page. `$ command` lines are run by a shell; what follows is its
  whole output, but for a line `...`, which stands for any lines, and `...` in a line, which stands for any text. A
  command exits with 0 unless the next one is `echo $?`, which shows with what.
- A block or file with a `:caption:` is a file of that name in the page's folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    DOCS / "index.md",
    *(path for part in ("tutorial", "how-to", "explanation") for path in sorted(DOCS.glob(f"{part}/*.md"))),
]

_BLOCK = re.compile(r"^```(?P<kind>\S+)(?: (?P<argument>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command, and the lines shown beneath it."""

    command: str
    shown: tuple[str, ...]


def python_of(page: Path) -> str:
    """All Python of a page, in order."""
    return "\n".join(body for kind, body in _blocks(page) if kind == "python")


def steps_of(page: Path) -> list[Step]:
    """All commands of a page, in order."""
    found: list[Step] = []
    for line in (line for kind, body in _blocks(page) if kind == "console" for line in body.splitlines()):
        if line.startswith("$ "):
            found.append(Step(line[2:], ()))
        else:
            found[-1] = Step(found[-1].command, (*found[-1].shown, line))
    return found


def files_of(page: Path) -> dict[str, str]:
    """The files that a page shows, by name."""
    files = {}
    for block in _BLOCK.finditer(page.read_text()):
        caption = re.search(r"^:caption: (.+)$", block["body"], re.MULTILINE)
        if caption is not None:
            shown = re.sub(r"\A(:\S+:.*\n)+\n?", "", block["body"])
            is_file = block["kind"] == "{literalinclude}"
            files[caption[1]] = (page.parent / block["argument"]).read_text() if is_file else shown
    return files


def pattern_of(shown: tuple[str, ...]) -> str:
    """The regular expression of an output that is shown in part."""
    return "".join(r"(?:.*\n)*?" if line == "..." else _line(line) for line in shown)


def _line(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("...")) + r"\n"


def _blocks(page: Path) -> list[tuple[str, str]]:
    return [(block["kind"], block["body"]) for block in _BLOCK.finditer(page.read_text())]
