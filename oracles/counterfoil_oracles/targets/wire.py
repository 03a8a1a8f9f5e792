"""Between traces and the protocol: numbers of a command as exact data, elements of an outcome as bits."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from counterfoil_oracles.targets.target import HarnessBroken
from counterfoil_reference.numbers import value_of_code
from counterfoil_spec.commands import Command, encode_number
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import TargetStep, element_of

MOST_EXACT: Final = 2**53


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


def received(value: Any) -> Any:
    """A value of a reply as a trace's outcome holds it; HarnessBroken where elements are no elements."""
    if isinstance(value, dict):
        if value.keys() == {"dtype", "bits"}:
            return _elements(value["dtype"], value["bits"])
        if value.keys() == {"float"}:
            return _float(value["float"])
        return {key: received(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [received(entry) for entry in value]
    return value


def codes_of(value: Any) -> list[int] | None:
    """The bits of the elements of a reply, where it holds elements."""
    if not (isinstance(value, dict) and value.keys() == {"dtype", "bits"}):
        return None
    dtype, texts = _dtype(value["dtype"]), value["bits"]
    return [_code(dtype, text) for text in ([texts] if isinstance(texts, str) else texts)]


def _elements(name: Any, texts: Any) -> Any:
    dtype = _dtype(name)
    if isinstance(texts, str):
        return encode_number(value_of_code(dtype, _code(dtype, texts)))
    if not isinstance(texts, Sequence):
        raise HarnessBroken(f"the target broke the harness: {texts!r} is no list of elements")
    return [encode_number(value_of_code(dtype, _code(dtype, text))) for text in texts]


def _code(dtype: Dtype, text: Any) -> int:
    try:
        return element_of(dtype, text)
    except (ValueError, TypeError) as error:
        raise HarnessBroken(f"the target broke the harness: {error}") from None


def _dtype(name: Any) -> Dtype:
    found = next((dtype for dtype in Dtype.all if dtype.name == name), None)
    if found is None:
        raise HarnessBroken(f"the target broke the harness: {name!r} is no dtype")
    return found


def _float(text: Any) -> Any:
    try:
        bits = bytes.fromhex(text)
        return encode_number(struct.unpack(">d", bits)[0])
    except (TypeError, ValueError, struct.error):
        raise HarnessBroken(f"the target broke the harness: {text!r} is no binary64") from None


def taken(data: Any) -> Any:
    """The inverse of ``sent``: arguments as a driver takes them."""
    if isinstance(data, dict):
        if data.keys() == {"float"}:
            return _float(data["float"])
        return {key: taken(value) for key, value in data.items()}
    return [taken(entry) for entry in data] if isinstance(data, list) else data
