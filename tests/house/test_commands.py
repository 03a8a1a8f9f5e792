"""What the documents tell people to type is there, and every program says what it does."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil_oracles import cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
OWN = {name: help for name, (_, help) in cli._PROGRAMS.items()}


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command in backquotes or on an indented or fenced line of its own."""
    lines = [
        line.split("#")[0] for line in re.findall(r"^(?:    )?((?:make|counterfoil|python) .*)$", text, re.MULTILINE)
    ]
    for command in [*re.findall(r"`([^`\n]+)`", text), *lines]:
        words = shlex.split(re.split(r" {2,}", command.strip())[0], posix=False)
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words.pop(0)
        if len(words) > 1 and words[0] in ("make", "counterfoil", "python"):
            yield words


def found(word: str) -> list[list[str]]:
    """All commands of the documents that begin with that word."""
    return [words for path in DOCUMENTS for words in commands(path.read_text("utf-8")) if words[0] == word]


@functools.cache
def help_of(name: str) -> str:
    """What ``counterfoil NAME --help`` prints, on one line."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    return " ".join(printed.getvalue().split())


def test_every_make_target_told_of_is_there() -> None:
    """``make X`` in a document names targets of the Makefile."""
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    told = {target for words in found("make") for target in words[1:] if "=" not in target}
    assert len(told) > 8 and told <= targets, told - targets


def test_every_subcommand_told_of_is_there_with_its_options() -> None:
    """``counterfoil X --option`` in a document names a subcommand that takes the option."""
    told = found("counterfoil")
    assert len(told) > 12
    for words in told:
        options = [word for word in words[2:] if word.startswith("--")]
        assert all(option in help_of(words[1]) for option in options), words


def test_every_python_program_told_of_is_there() -> None:
    """``python FILE`` and ``python -m MODULE`` in a document name what exists, with options that its text has."""
    told = found("python")
    assert told
    for words in told:
        module = words[2].replace(".", "/") if words[1] == "-m" else words[1].removesuffix(".py")
        places = [ROOT, *(ROOT / root for root in ("spec", "reference", "fast", "oracles"))]
        files = [place / name for place in places for name in (f"{module}.py", f"{module}/__main__.py")]
        sources = [path for path in files if path.is_file()]
        assert sources, words
        text = sources[0].read_text("utf-8")
        assert all(f'"{word}"' in text for word in words if word.startswith("--")), words


def test_every_path_told_of_is_there() -> None:
    """A path in backquotes that begins with a room of the repository exists."""
    rooms = "|".join(("spec", "reference", "fast", "oracles", "tests", "docs", "examples", "benchmarks", "tools"))
    paths = {
        path
        for document in DOCUMENTS
        for path in re.findall(rf"`((?:{rooms})/[\w./*-]*)`", document.read_text("utf-8"))
        if "..." not in path
    }
    missing = [path for path in paths if not list(ROOT.glob(path.rstrip("/")))]
    assert len(paths) > 15 and missing == []


@pytest.mark.parametrize("name", OWN)
def test_a_program_of_its_own_says_what_the_list_says(name: str) -> None:
    """The help of a subcommand that reads its own arguments begins with the line that ``counterfoil --help`` has."""
    importlib.import_module(cli._PROGRAMS[name][0])
    assert f"{OWN[name][1:]}." in help_of(name)
