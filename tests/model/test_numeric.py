"""Where the rules leave room, the subject's bits are checked and then taken over."""

from types import SimpleNamespace
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.numeric import settle
from counterfoil_reference.intervals import Between, Record
from counterfoil_spec.commands import Command

KERNEL = Command(do="kernel", args={"name": "exp", "dst": {"ref": "v"}, "sources": []})


def half(values: list[float]) -> Driver:
    """A driver that holds float16 values as ``a`` and every second of them as ``v``."""
    driver = Driver(reference)
    made = {"dtype": "float16", "shape": [len(values)], "values": values}
    driver.execute(Command(do="from_values", args=made, bind="a"))
    view = {"slice": [[0, len(values) // 2, 2]]}
    driver.execute(Command(do="array.move", args={"array": {"ref": "a"}, "move": view}, bind="v"))
    return driver


def settled(ours: Driver, theirs: Driver, *accepts: Any) -> str | None:
    """What settling a record of ``v`` says."""
    return settle([Record(ours.names["v"], accepts)], ours, theirs, KERNEL)


def test_bits_in_range_are_taken_over_and_no_others() -> None:
    """An element in its interval becomes the reference's; one without an interval and neighbours do not."""
    ours, theirs = half([1.0, 2.0, 3.0, 4.0]), half([1.001, 9.0, 8.0, 9.0])
    assert settled(ours, theirs, Between(0x3C00, 0x3C01), None) is None
    assert ours.names["a"].to_values() == [theirs.names["a"].to_values()[0], 2.0, 3.0, 4.0]


def test_bits_out_of_range_are_a_difference() -> None:
    """An element outside its interval is named with its index and its code, and nothing is taken over."""
    ours, theirs = half([1.0, 2.0]), half([1.25, 2.0])
    difference = settled(ours, theirs, Between(0x3C00, 0x3C01))
    assert difference is not None and difference.startswith("element [0] is float16 code 0x3d00, not near 0x3c00")
    assert ours.names["a"].to_values() == [1.0, 2.0]


def test_one_record_for_each_element_is_needed() -> None:
    """A record that is too short is a mistake of the reference, and is not passed over."""
    ours = half([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="shorter"):
        settled(ours, ours, SimpleNamespace(accepts=lambda dtype, code: True))
