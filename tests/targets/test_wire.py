"""What a target says is data: strict numbers and elements, fields compared as documented, words made harmless."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.target import HarnessBroken, legible
from counterfoil_oracles.targets.verdicts import judged
from counterfoil_spec.commands import Command, Refused, Returned
from counterfoil_spec.comparing import agree
from counterfoil_spec.dtypes import Dtype, int32
from counterfoil_spec.protocol import Profile, Refusal, TargetOutcome, Value, element_bits, element_of

COMMAND = Command(do="array.facts")


def finding(expected: object, actual: object) -> object:
    return judged(COMMAND, Returned(expected), Value(actual), Profile(), Mapper())


@given(st.sampled_from(Dtype.all), st.data())
def test_elements_come_back_as_they_were_written(dtype: Dtype, data: st.DataObject) -> None:
    """Every code of every dtype survives its text."""
    code = data.draw(st.integers(0, (1 << dtype.bits) - 1))
    assert element_of(dtype, element_bits(dtype, code)) == code


@pytest.mark.parametrize("text", ["0x000001", "+0000001", "0000_001", " 0000001", "1", "١٢٣٤٥٦٧٨", "0000000g", ""])
def test_an_element_is_hexadecimal_digits_alone(text: str) -> None:
    """What Python's int() would forgive is refused."""
    with pytest.raises(ValueError):
        element_of(int32, text)


@pytest.mark.parametrize(
    "value",
    [
        {"int": "9" * 5000}, {"int": "1_0"}, {"int": 3}, {"int": "٣"}, {"float": "7ff8"}, {"float": None},
        {"float": "7ff0 0000 0000 00"}, {"dtype": "int32", "bits": 7}, {"dtype": ["int32"], "bits": []},
        {"dtype": "int32", "bits": [7]},
    ],
)  # fmt: skip
def test_numbers_that_are_none_break_the_harness(value: object) -> None:
    """They are neither a divergence nor an error of the checker."""
    with pytest.raises(HarnessBroken):
        wire.received(value)


@given(st.integers(-(2**80), 2**80))
def test_an_integer_agrees_with_its_text(value: int) -> None:
    """However a target writes an exact integer, it is that integer, and no other."""
    assert finding(wire.received(value), {"int": str(value)}) is None
    assert finding(wire.received(value), {"int": str(value + 1)}) is not None


@given(st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_floats_agree_by_their_bits(one: float, other: float) -> None:
    """Zeros of two signs differ, NaNs do not."""
    bits = [struct.pack(">d", value).hex() for value in (one, other)]
    alike = bits[0] == bits[1] or (one != one and other != other)
    assert agree({"float": bits[0]}, {"float": bits[1]}) is alike


def test_facts_agree_whatever_the_order_of_their_keys() -> None:
    """A table is a table; a list under another name than those of sets is a sequence."""
    assert finding({"shape": [2, 3], "offset": 0}, {"offset": 0, "shape": [2, 3]}) is None
    assert finding({"shape": [2, 3]}, {"shape": [3, 2]}) is not None


@pytest.mark.parametrize(("theirs", "agrees"), [(["b", "a"], True), (["a"], False), (["a", "a", "b"], False)])
def test_subjects_that_name_all_of_some_are_sets(theirs: list[str], agrees: bool) -> None:
    """Their order is the implementation's; how many there are is not."""
    expected = Refused("run/unwritten-inputs", {"routine": "r", "nodes": ["a", "b"]})
    actual: TargetOutcome = Refusal(rule="run/unwritten-inputs", subjects={"nodes": theirs, "routine": "r"})
    assert (judged(Command(do="run"), expected, actual, Profile(), Mapper()) is None) is agrees


@given(st.text())
def test_foreign_words_are_harmless(text: str) -> None:
    """They stay on one line, and hold nothing that a terminal or an XML reader acts on."""
    shown = legible(text)
    assert "\n" not in shown and "\r" not in shown and "\x1b" not in shown and "\x00" not in shown
    assert json.loads(json.dumps(shown)) == shown
    shown.encode("utf-8")


def test_foreign_words_are_cut() -> None:
    """A message of megabytes fills no report."""
    found = judged(COMMAND, Returned(None), Refusal(message="x" * 10**6), Profile(), Mapper())
    assert found is not None and len(found.words) < 3000
