"""Conformance vectors, version 1 (docs/protocol.md): programs with what every step must come to, as data.

``python -m counterfoil_spec.vectors`` prints the JSON Schema of a file of vectors, which is published as
``counterfoil-vectors-1.schema.json``.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from counterfoil_spec.comparing import Comparison

SCHEMA: Final = "counterfoil-vectors-1"


class Room(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"other": "or"}):
    """What is right for one element: all that one of the fields allows, each by the element's bits.

    ``low`` and ``high``: codes between them in the order of their values, zeros of either sign alike; ``nan``: any NaN
    too; ``codes``: these; ``other``: what any of these rooms allows; ``real`` and ``imaginary``: each part of a complex
    element by itself; ``anything``: any bits.
    """

    low: str | None = None
    high: str | None = None
    nan: bool = False
    codes: list[str] = []
    other: list[Room] = []
    real: Room | None = None
    imaginary: Room | None = None
    anything: bool = False


class Elements(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an array holds: the bits of its elements in C order, compared as bits (a NaN like any other NaN).

    ``room``, where there is any, has an entry for each element: null where the bits alone are right.
    """

    array: str
    dtype: str
    bits: list[str]
    room: list[Room | None] | None = None


class Returns(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="value", omit_defaults=True):
    """The step returns ``value``. ``compare`` says how, for a table field by field in ``fields``."""

    value: Any = None
    compare: Comparison = "exact"
    fields: dict[str, Comparison] = {}


class Refuses(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="refused", omit_defaults=True):
    """The step is refused by ``rule``: by a refusal, or by ``answer`` as its value. Subjects given are compared."""

    rule: str
    subjects: dict[str, Any] | None = None
    fields: dict[str, Comparison] = {}
    answer: str | None = None


class Fails(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="errored"):
    """An exception of the program's own work leaves the step; its text is not compared."""

    message: str


class VectorStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command as the protocol sends it, what it comes to, and what an array holds right afterwards."""

    do: str
    expect: Returns | Refuses | Fails
    args: dict[str, Any] = {}
    bind: str | None = msgspec.field(default=None, name="as")
    holds: Elements | None = None


class Vector(msgspec.Struct, frozen=True, kw_only=True):
    """A program from no names: steps in order. ``triggers`` and ``passes``: rules it shows refusing, and passing."""

    name: str
    title: str
    chapter: str
    rules: list[str]
    triggers: list[str]
    passes: list[str]
    steps: list[VectorStep]


class VectorFile(msgspec.Struct, frozen=True, kw_only=True):
    """The vectors of a chapter."""

    schema: str
    chapter: str
    vectors: list[Vector]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a set: its name, how many vectors and steps it has, and the SHA-256 of its bytes."""

    file: str
    chapter: str
    vectors: int
    steps: int
    sha256: str


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """``index.json``: the files of a set, and by which vectors each rule is triggered and passed."""

    schema: str
    counterfoil: str
    protocol: int
    files: list[Entry]
    triggered: dict[str, list[str]]
    passed: dict[str, list[str]]
    exempt: dict[str, str]


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a file of vectors and of the index."""
    _, components = msgspec.json.schema_components([VectorFile, Index], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Counterfoil conformance vectors, version 1",
        "anyOf": [{"$ref": "#/$defs/VectorFile"}, {"$ref": "#/$defs/Index"}],
        "$defs": components,
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
