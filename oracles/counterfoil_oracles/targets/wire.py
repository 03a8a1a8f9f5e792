"""Between traces and the protocol: numbers of a command as exact data, elements of an outcome as bits."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any, Final

from counterfoil_oracles.reads import READS as CONTEXT_READS
from counterfoil_oracles.targets.target import HarnessBroken, legible
from counterfoil_reference.numbers import value_of_code
from counterfoil_spec.commands import Command, encode_number
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import TargetOutcome, TargetStep, Value, element_of

_RAW: Final = frozenset({"array.reading", "array.export", "buffer.bytes", "buffer.export"})
_SINGLE: Final = frozenset({"array.get", "get_value"})
MEMORY_READS: Final = _RAW | _SINGLE | CONTEXT_READS | {"array.to_values"}
"""Commands whose value is what memory holds."""

MOST_EXACT: Final = 2**53
_DEEPEST: Final = 64
_MOST_DIGITS: Final = 400


def step_of(command: Command) -> TargetStep:
    """A command as it is sent."""
    return TargetStep(do=command.do, args=sent(command.args), bind=command.bind)


def sent(data: Any) -> Any:
    """Arguments as they are sent: floats as the bits of their binary64, integers past 2^53 as decimal text."""
    if isinstance(data, dict):
        return {key: sent(value) for key, value in data.items()}
    if isinstance(data, list):
        return [sent(entry) for entry in data]
    if isinstance(data, float):
        return {"float": struct.pack(">d", data).hex()}
    if isinstance(data, int) and not isinstance(data, bool) and abs(data) > MOST_EXACT:
        return {"int": str(data)}
    return data


def received(value: Any, depth: int = 0) -> Any:
    """A value of a reply as a trace's outcome holds it; HarnessBroken where elements are no elements."""
    if depth > _DEEPEST:
        raise HarnessBroken("the target broke the harness: its value has no end")
    if isinstance(value, dict):
        if value.keys() == {"dtype", "bits"}:
            return _elements(value["dtype"], value["bits"])
        if value.keys() == {"float"}:
            return _float(value["float"])
        if value.keys() == {"int"}:
            return _integer(value["int"])
        return {key: received(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list):
        return [received(entry, depth + 1) for entry in value]
    return encode_number(value)


def codes_of(value: Any) -> list[int] | None:
    """The bits of the elements of a reply, where it holds elements."""
    if not (isinstance(value, dict) and value.keys() == {"dtype", "bits"}):
        return None
    dtype, texts = _dtype(value["dtype"]), value["bits"]
    if not isinstance(texts, str | list):
        raise HarnessBroken(f"the target broke the harness: {str(texts)[:80]!r} is no list of elements")
    return [_code(dtype, text) for text in ([texts] if isinstance(texts, str) else texts)]


def codes_shown(do: str, outcome: TargetOutcome, dtype: str) -> list[int] | None:
    """The bits of the elements that a read showed; None where it showed none, or some of another dtype."""
    check_bits(do, outcome)
    if not isinstance(outcome, Value):
        return None
    codes = codes_of(outcome.value)
    return codes if codes is not None and outcome.value["dtype"] == dtype else None


def check_bits(do: str, outcome: TargetOutcome) -> None:
    """HarnessBroken where a command that shows memory answers numbers: what memory holds travels as bits.

    An element that was asked for alone may be an exact number: an integer, ``{"int"}`` or ``{"float"}``.
    """
    if not isinstance(outcome, Value) or do not in MEMORY_READS or (do in _SINGLE and _is_exact(outcome.value)):
        return
    if _holds_number(outcome.value, 0):
        shown = legible(str(outcome.value), 80)
        wanted = "hexadecimal digits" if do in _RAW else 'elements, {"dtype": .., "bits": ..}'
        raise HarnessBroken(
            f"the target broke the harness: the field value of its answer to {do} is {shown}, not {wanted}: "
            "what memory holds travels as bits, never as numbers"
        )


def _is_exact(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, dict) and value.keys() in ({"int"}, {"float"}))


def _holds_number(value: Any, depth: int) -> bool:
    """Whether a number stands in a value in place of bits; how deep a value may be is looked at elsewhere."""
    if depth > _DEEPEST:
        return False
    if isinstance(value, dict):
        is_number = value.keys() in ({"int"}, {"float"}, {"complex"})
        return is_number or any(_holds_number(entry, depth + 1) for entry in value.values())
    if isinstance(value, list):
        return any(_holds_number(entry, depth + 1) for entry in value)
    return isinstance(value, int | float)


def _elements(name: Any, texts: Any) -> Any:
    dtype = _dtype(name)
    if isinstance(texts, str):
        return encode_number(value_of_code(dtype, _code(dtype, texts)))
    if not isinstance(texts, Sequence):
        raise HarnessBroken(f"the target broke the harness: {str(texts)[:80]!r} is no list of elements")
    return [encode_number(value_of_code(dtype, _code(dtype, text))) for text in texts]


def _code(dtype: Dtype, text: Any) -> int:
    try:
        return element_of(dtype, text)
    except (ValueError, TypeError) as error:
        raise HarnessBroken(f"the target broke the harness: {legible(str(error), 200)}") from None


def _dtype(name: Any) -> Dtype:
    found = next((dtype for dtype in Dtype.all if dtype.name == name), None)
    if found is None:
        raise HarnessBroken(f"the target broke the harness: {str(name)[:80]!r} is no dtype")
    return found


def _float(text: Any) -> Any:
    try:
        bits = bytes.fromhex(text if len(text) == 16 else "")
        return encode_number(struct.unpack(">d", bits)[0])
    except (AttributeError, TypeError, ValueError, struct.error):
        raise HarnessBroken(f"the target broke the harness: {str(text)[:80]!r} is no binary64") from None


def _integer(text: Any) -> Any:
    """An integer that JSON could not hold; of so many digits that no rule can ask for it, it is none."""
    if isinstance(text, str) and len(text) <= _MOST_DIGITS and re.fullmatch(r"-?[0-9]+", text, re.ASCII):
        return encode_number(int(text))
    raise HarnessBroken(f"the target broke the harness: {str(text)[:80]!r} is no integer")


def taken(data: Any) -> Any:
    """The inverse of ``sent``: arguments as a driver takes them."""
    if isinstance(data, dict):
        if data.keys() == {"float"}:
            return _float(data["float"])
        return {key: taken(value) for key, value in data.items()}
    return [taken(entry) for entry in data] if isinstance(data, list) else data
