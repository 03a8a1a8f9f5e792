"""How each field of an outcome is compared (docs/protocol.md): exactly, as a sequence, as a set, as bits.

Two outcomes agree where their JSON does, with four liberties that JSON itself takes or the rules leave: keys in any
order, an integer written as a number or as ``{"int": text}``, one NaN like another, and the fields of ``SETS``, whose
entries may come in any order.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Final, Literal

Comparison = Literal["exact", "bits", "sequence", "set", "nothing"]

SETS: Final = frozenset(
    {"fragments", "nodes", "missing", "bindings", "consumers", "others", "tried", "deps", "owned", "accumulates",
     "zeroes", "requires", "embedded", "shared_reads", "inputs", "outputs", "gradients"}
)  # fmt: skip
"""Subjects of refusals, and fields of facts, that name all of some things; the rules give them no order."""

SEQUENCES: Final = frozenset(
    {"claims", "complex", "dead", "destination", "expected", "first", "given", "index", "operands", "other", "padding",
     "path", "placement", "shape", "shapes", "source", "span", "strides", "target"}
)  # fmt: skip
"""Subjects and fields that are lists in an order: axes, operands as they were given, a path. Every list is in one of
the two; a list of any other name, which no rule has yet, is compared in its order too."""


class NotExact(ValueError):
    """Data that claims to be a number and is none."""


def agree(expected: Any, actual: Any) -> bool:
    """Whether two values or tables of subjects are alike; NotExact where a number of either is none."""
    return normal(expected) == normal(actual)


def comparison(key: str, value: Any) -> Comparison:
    """How a field of that name and value is compared."""
    if isinstance(value, dict) and value.keys() == {"dtype", "bits"}:
        return "bits"
    if isinstance(value, list):
        return "set" if key in SETS else "sequence"
    return "exact"


def normal(data: Any, key: str = "") -> str:
    """Data as JSON text that is equal exactly where the data agree."""
    if isinstance(data, dict):
        number = _number(data)
        if number is not None:
            return number
        fields = (f"{json.dumps(str(name))}:{normal(value, str(name))}" for name, value in sorted(data.items()))
        return "{" + ",".join(fields) + "}"
    if isinstance(data, (list, tuple)):
        entries = [normal(entry) for entry in data]
        return "[" + ",".join(sorted(entries) if key in SETS else entries) + "]"
    if isinstance(data, float) and not isinstance(data, bool):
        return _float(data)
    return json.dumps(data)


def _number(data: dict[Any, Any]) -> str | None:
    """A number that JSON could not hold, as text; None where the table is no number."""
    try:
        match data:
            case {"int": str(text)} if len(data) == 1:
                return str(int(text))
            case {"float": str(bits)} if len(data) == 1:
                return _float(struct.unpack(">d", bytes.fromhex(bits))[0])
    except (ValueError, struct.error) as error:
        raise NotExact(f"{str(data)[:80]} is no number: {error}"[:200]) from None
    return None


def _float(value: float) -> str:
    return "NaN" if math.isnan(value) else struct.pack(">d", value).hex()
