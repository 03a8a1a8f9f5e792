"""``counterfoil fixtures DIRECTORY`` writes conformance vectors; ``--check TARGET`` (or ``-- PROGRAM``) runs them.

One JSON file for each chapter, ``index.json``, and the JSON Schema of both. Exit codes of ``--check`` are those of
``counterfoil check``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles import subjects
from counterfoil_oracles.coverage import OUT_OF_REACH
from counterfoil_oracles.targets import options as common
from counterfoil_oracles.targets.expecting import vector
from counterfoil_oracles.targets.judging import Judge
from counterfoil_oracles.targets.snippets import add_snippets
from counterfoil_oracles.targets.vectors import named
from counterfoil_spec import __version__
from counterfoil_spec.protocol import PROTOCOL
from counterfoil_spec.rules import CHAPTERS
from counterfoil_spec.vectors import SCHEMA, Entry, Index, Vector, VectorFile, schema

SCHEMA_FILE: Final = "counterfoil-vectors-1.schema.json"
INDEX: Final = "index.json"
_PROG: Final = "counterfoil fixtures"


def made() -> Iterator[Vector]:
    """Every vector, made on the reference now."""
    reference = subjects.half("counterfoil_reference")
    for name, trace in named():
        yield vector(name, trace, reference)


def write(directory: Path, vectors: Iterable[Vector]) -> Index:
    """Write vectors as a set of files; the index. The same vectors give the same bytes."""
    chapters: defaultdict[str, list[Vector]] = defaultdict(list)
    triggered: defaultdict[str, list[str]] = defaultdict(list)
    passed: defaultdict[str, list[str]] = defaultdict(list)
    for each in vectors:
        chapters[each.chapter].append(each)
        for table, rules in ((triggered, each.triggers), (passed, each.passes)):
            for rule in rules:
                table[rule].append(each.name)
    for names in (*triggered.values(), *passed.values()):
        names.sort()
    directory.mkdir(parents=True, exist_ok=True)
    entries = [_written(directory, chapter, chapters[chapter]) for chapter in CHAPTERS if chapter in chapters]
    index = Index(
        schema=SCHEMA, counterfoil=__version__, protocol=PROTOCOL, files=entries,
        triggered=dict(sorted(triggered.items())), passed=dict(sorted(passed.items())), exempt=OUT_OF_REACH,
    )  # fmt: skip
    (directory / INDEX).write_bytes(msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n")
    (directory / SCHEMA_FILE).write_text(json.dumps(schema(), indent=1) + "\n")
    return index


def _written(directory: Path, chapter: str, vectors: Sequence[Vector]) -> Entry:
    """One file: a vector a line, so that changes of it read well."""
    head = json.dumps({"schema": SCHEMA, "chapter": chapter})[:-1]
    lines = b",\n".join(msgspec.json.encode(each) for each in vectors)
    data = head.encode() + b', "vectors": [\n' + lines + b"\n]}\n"
    name = f"{chapter}.json"
    (directory / name).write_bytes(data)
    steps = sum(len(each.steps) for each in vectors)
    digest = hashlib.sha256(data).hexdigest()
    return Entry(file=name, chapter=chapter, vectors=len(vectors), steps=steps, sha256=digest)


def read(directory: Path) -> Iterator[Vector]:
    """The vectors of a set; common.UsageError for a file that is missing, changed, or of another schema."""
    try:
        index = msgspec.json.decode((directory / INDEX).read_bytes(), type=Index)
        if index.schema != SCHEMA:
            raise common.UsageError(f"{directory}: schema {index.schema!r} is not {SCHEMA!r}")
        for entry in index.files:
            data = (directory / Path(entry.file).name).read_bytes()
            if hashlib.sha256(data).hexdigest() != entry.sha256:
                raise common.UsageError(f"{directory / entry.file} is not as its index says")
            yield from msgspec.json.decode(data, type=VectorFile).vectors
    except (OSError, msgspec.MsgspecError) as error:
        raise common.UsageError(f"{directory} holds no vectors: {error}") from error


def main(arguments: Sequence[str]) -> int:
    """Write or check; the exit code."""
    words, program = common.split(arguments)
    parser = argparse.ArgumentParser(
        prog=_PROG, description="conformance vectors written, or run on a target".capitalize() + ".", epilog=__doc__
    )
    parser.add_argument("directory", nargs="?", type=Path, help="where they are written, or with --check read")
    parser.add_argument("--check", nargs="?", const="", dest="target", metavar="TARGET", help="run them on a target")
    common.add_target(parser, "--target")
    common.add_report(parser)
    options = parser.parse_args(list(words))
    return common.guarded(_PROG, lambda: _done(options, program))


def _done(options: argparse.Namespace, program: Sequence[str]) -> int:
    if options.target is None and not program:
        if options.directory is None:
            raise common.UsageError("name a directory to write to, or --check a target")
        index = write(options.directory, made())
        print(f"{sum(entry.vectors for entry in index.files)} vectors in {len(index.files)} files: {options.directory}")
        return common.CONFORMS
    options.target = options.target or None
    selection, setting = common.selected(options), common.setting(options, program)
    expected = common.entries(options)
    vectors = made() if options.directory is None else read(options.directory)
    judge = Judge(setting.reopen(), setting.profile, setting.words, selection, options.keep)
    report = judge.run(vectors)
    report.named = setting.named
    add_snippets(report, setting.named, setting.profile)
    return common.concluded(options, report, expected, selection, whole=True)
