"""The Counterfoil Conformance Protocol, version 1 (docs/protocol.md): requests and replies as structures.

One JSON object a line. ``python -m counterfoil_spec.protocol`` prints the JSON Schema of both directions, which is
published as ``counterfoil-protocol-1.schema.json``.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final, Literal

import msgspec

from counterfoil_spec.comparing import SEQUENCES, SETS
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.rules import registry

PROTOCOL: Final = 1

# --- what a target says of itself, and what is asked of it -----------------------------------------------------------


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reply to ``start``: who answers, and what it does. What is not listed is never asked."""

    protocol: int
    name: str
    version: str
    language: str
    homepage: str | None = None
    issues: str | None = None
    chapters: list[str] = []
    dtypes: list[str] = []
    commands: list[str] = []
    rules: Literal["ids", "messages"] = "ids"


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=None):
    """What the rules leave to an implementation, said before it is asked anything.

    ``max_rank``: no command has an array, layout or move of more axes. ``host_alignment``, a power of two: no array is
    laid out over memory, no view taken and no foreign object shared that starts between its multiples, in bytes.
    ``declines`` free: what a call that one side declined leaves is the target's. ``devices``: the kinds used beside
    the host, where the target has commands for them.
    """

    max_rank: Annotated[int, msgspec.Meta(ge=1, le=32)] = 32
    subjects: Literal["compared", "ignored"] = "compared"
    declines: Literal["as listed", "free"] = "as listed"
    devices: list[Literal["simulated", "cuda"]] = msgspec.field(default_factory=lambda: ["simulated"])
    host_alignment: Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096] = 1


class TargetStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command; ``bind`` (``as`` in JSON) names what it makes."""

    do: str
    args: dict[str, Any] = {}
    bind: str | None = msgspec.field(default=None, name="as")


# --- requests --------------------------------------------------------------------------------------------------------


class Start(msgspec.Struct, frozen=True, kw_only=True, tag_field="cmd", tag="start"):
    """The first request."""

    seq: int
    counterfoil: str
    protocol: int = PROTOCOL


class Adopt(msgspec.Struct, frozen=True, kw_only=True, tag_field="cmd", tag="profile"):
    """Asks a target to keep to a profile."""

    seq: int
    profile: Profile


class Run(msgspec.Struct, frozen=True, kw_only=True, tag_field="cmd", tag="run"):
    """Steps of a program; ``fresh`` forgets every name first."""

    seq: int
    steps: list[TargetStep]
    fresh: bool = False


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag_field="cmd", tag="stop"):
    """The last request."""

    seq: int


Request = Start | Adopt | Run | Stop

# --- replies ---------------------------------------------------------------------------------------------------------


class Value(msgspec.Struct, frozen=True, tag_field="is", tag="value"):
    """It returned."""

    value: Any = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="refused", omit_defaults=True):
    """It refused: by a rule's id, or in its own words."""

    rule: str | None = None
    message: str | None = None
    subjects: dict[str, Any] | None = None


class Skipped(msgspec.Struct, frozen=True, tag_field="is", tag="skipped"):
    """It does not do that."""

    reason: str


class Errored(msgspec.Struct, frozen=True, tag_field="is", tag="errored"):
    """It failed in a way it did not mean to."""

    message: str


TargetOutcome = Value | Refusal | Skipped | Errored


class Started(Identity, frozen=True, kw_only=True, omit_defaults=True):
    """The reply to ``start``. A target of another protocol gives its number alone, the other texts empty."""

    seq: int
    name: str = ""
    version: str = ""
    language: str = ""


class Adopted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reply to ``profile``."""

    seq: int
    ok: bool
    reason: str | None = None


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to ``run``: one outcome for each step."""

    seq: int
    outcomes: list[TargetOutcome]


class Stopped(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reply to ``stop``: nothing more, or every reply would be one."""

    seq: int


REPLIES: Final = {Start: Started, Adopt: Adopted, Run: Ran, Stop: Stopped}
"""The reply to each request."""

# --- elements as bits ------------------------------------------------------------------------------------------------


_DIGITS: Final = re.compile("[0-9a-fA-F]+")


def digits(dtype: Dtype) -> int:
    """How many hexadecimal digits one element takes."""
    return max(1, dtype.bits // 4)


def element_bits(dtype: Dtype, bits: int) -> str:
    """An element as the protocol writes it: its bits, most significant digit first."""
    return f"{bits:0{digits(dtype)}x}"


def element_of(dtype: Dtype, text: str) -> int:
    """The bits of an element; ValueError where the text is not of the dtype's width."""
    if len(text) != digits(dtype) or not _DIGITS.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no element of {dtype.name}: {digits(dtype)} hexadecimal digits are")
    bits = int(text, 16)
    if bits >> dtype.bits:
        raise ValueError(f"{text!r} has more bits than {dtype.name}")
    return bits


# --- the schema ------------------------------------------------------------------------------------------------------

Compared = Literal["sent", "exact", "sequence", "by kind", "by name", "never"]
"""How a field is compared: ``sent`` by the checker, and with nothing; ``by kind`` of the value (elements as bits or by
interval, tables field by field); ``by name``, each subject as its own entry says (``counterfoil_spec.comparing``)."""

_REQUESTED: Final = (Start, Adopt, Profile, Run, TargetStep, Stop)
_COMPARED: Final[dict[str, dict[str, Compared]]] = {
    **{kind.__name__: dict.fromkeys((*kind.__struct_encode_fields__, "cmd"), "sent") for kind in _REQUESTED},
    "Started": {"seq": "exact", "protocol": "exact", **dict.fromkeys(Identity.__struct_encode_fields__[1:], "never")},
    "Adopted": {"seq": "exact", "ok": "exact", "reason": "never"},
    "Ran": {"seq": "exact", "outcomes": "sequence"},
    "Stopped": {"seq": "exact"},
    "Value": {"is": "exact", "value": "by kind"},
    "Refusal": {"is": "exact", "rule": "exact", "message": "never", "subjects": "by name"},
    "Skipped": {"is": "exact", "reason": "never"},
    "Errored": {"is": "exact", "message": "never"},
}
"""How each field of each message is compared, by the structure's name and the field's in JSON."""


def _with_comparisons(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """A structure's schema with ``compared`` at each field; KeyError for a field of which nobody says it."""
    for field, described in definition["properties"].items():
        described["compared"] = _COMPARED[name][field]
    return definition


def _subjects() -> dict[str, Any]:
    """How each subject that some rule names is compared."""
    names = {name for rule in registry().values() if rule.kind == "refusal" for name in rule.names}
    kinds = {name: "set" if name in SETS else "sequence" if name in SEQUENCES else "exact" for name in sorted(names)}
    return {name: {"compared": kind} for name, kind in kinds.items()}


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of both directions."""
    types = [*REPLIES, *REPLIES.values()]
    _, components = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    components["Refusal"]["properties"]["subjects"]["properties"] = _subjects()
    requests = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in REPLIES]
    replies = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in REPLIES.values()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Counterfoil Conformance Protocol, version {PROTOCOL}",
        "anyOf": [{"title": "requests", "anyOf": requests}, {"title": "replies", "anyOf": replies}],
        "$defs": {name: _with_comparisons(name, definition) for name, definition in components.items()},
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
