"""(n) Refusals that name what is wrong, and in which order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.cases.scenario import consumed, counted, fresh, host_buffer, over, refuses, sliced


@pytest.mark.parametrize("addressable", [True, False])
def test_b71_a_reversed_array_goes_to_a_device(cf: Any, addressable: bool) -> None:
    """A reversed array is copied to any device; nothing speaks of memory."""
    x = counted(cf, cf.float32, [6])
    y = sliced(cf, x, (5, 6, -1)).to_device(cf.simulated("dev", addressable=addressable))
    assert y.to_device(cf.host()).to_values() == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]


def test_b72_use_after_donation(cf: Any) -> None:
    """A dead operand is named with its dtype, shape and the consumer's reason; two are named in order."""
    c, d, z = (counted(cf, cf.float32, [3]) for _ in range(3))
    consumed(c.buffer, cf, "donated to mul")
    refuses(cf, "DEAD_BUFFER", [z, c, z], lambda: cf.kernels.add(z, c, z))
    with pytest.raises(cf.DoorRefusal) as caught:
        cf.refused("add", cf.Answer.DEAD_BUFFER, [z, c, z])
    assert str(caught.value) == "add: float32 [3] was donated to mul (float32 [3], float32 [3], float32 [3])"
    consumed(d.buffer, cf, "donated to sub")
    with pytest.raises(cf.DoorRefusal) as caught:
        cf.refused("add", cf.Answer.DEAD_BUFFER, [z, d, c])
    assert caught.value.subjects["dead"] == ["float32 [3] was donated to sub", "float32 [3] was donated to mul"]


def test_b73_where_an_operand_lies(cf: Any) -> None:
    """A host kernel says off host; a device's work given another device's memory names both devices."""
    zero, one = cf.simulated("gpu:0"), cf.simulated("gpu:1")
    x, y = cf.empty(zero, cf.int8, [2]), cf.empty(one, cf.int8, [2])
    z = cf.host_array(cf.int8, [2])
    refuses(cf, "OFF_HOST", [z, y], lambda: cf.kernels.neg(z, y))
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.submit(zero, lambda *views: None, [y.buffer], [x.buffer])
    assert caught.value.rule == "memory/wrong-device"
    assert "gpu:0" in str(caught.value) and "gpu:1" in str(caught.value)


@pytest.mark.parametrize("shape", [[1, 0], [0, 1], [4, 0, 2]])
def test_b74_no_element_no_repeat(cf: Any, shape: list[int]) -> None:
    """An array without an element reaches nothing twice, wherever the 0 stands."""
    x = over(cf, cf.int8, cf.host().buffer(1), shape, [0] * len(shape))
    assert x.layout.is_distinct
    assert cf.kernels.fill(x, 1) == cf.Answer.DONE


FAULTS = (
    "DEAD_BUFFER", "HELD_EXCLUSIVE", "READ_ONLY", "WRONG_DTYPE", "OFF_HOST", "REPEATED_ELEMENTS", "OVERLAPPING",
    "SHAPE_MISMATCH", "DECLINED",
)  # fmt: skip
PAIRS = [
    pair for pair in itertools.combinations(FAULTS, 2) if pair != ("HELD_EXCLUSIVE", "READ_ONLY")
]  # Read memory is never held exclusive; every other pair can be built
"""Pairs of faults that one destination has at once, in the order of the answers."""


class Product:
    """A matrix product whose destination has the faults named, and no other.

    The destination is a [2, 2] array at the start of its own memory. Declined: it is the first source too.
    Overlapping: the second source starts one element further in its memory. Shape: that source has three rows.
    """

    def __init__(self, cf: Any, faults: set[str], directory: Path) -> None:
        self.cf, self.faults = cf, faults
        self.buffer = self._memory(directory)
        dtype = cf.float32 if "WRONG_DTYPE" in faults else cf.int32
        self.dst = over(cf, dtype, self.buffer, [2, 2], [0 if "REPEATED_ELEMENTS" in faults else 2, 1])
        self.left = self.dst if "DECLINED" in faults else counted(cf, cf.int32, [2, 2])
        rows = 3 if "SHAPE_MISMATCH" in faults else 2
        shifted = "OVERLAPPING" in faults
        self.right = (
            over(cf, cf.int32, self.buffer, [rows, 2], [2, 1], 1) if shifted else counted(cf, cf.int32, [rows, 2])
        )
        if "DEAD_BUFFER" in faults and "HELD_EXCLUSIVE" not in faults:
            self.buffer.free("freed")

    def answer(self) -> Any:
        """The kernel's answer, given while a donation holds the memory (and has consumed it) if that is a fault."""
        if "HELD_EXCLUSIVE" not in self.faults:
            return self._call()
        with self.cf.claims(donate=[self.buffer]) as held:
            if "DEAD_BUFFER" in self.faults:
                held.consume(self.buffer, "donated to f")
            return self._call()

    def state(self) -> tuple[bytes, tuple[int, bool, bool]]:
        """The destination memory's bytes and claims."""
        return bytes(self.cf.inspection.memory_bytes(self.buffer)), self.buffer.claims

    def _call(self) -> Any:
        return self.cf.kernels.matmul(self.dst, self.left, self.right)

    def _memory(self, directory: Path) -> Any:
        match "READ_ONLY" in self.faults, "OFF_HOST" in self.faults:
            case True, True:
                (directory / "zeros").write_bytes(bytes(64))
                return self.cf.disk().open(str(directory / "zeros"))
            case True, False:
                return self.cf.from_buffer(self.cf.int32, memoryview(bytes(64)).cast("i")).buffer
            case False, True:
                return self.cf.simulated("gpu").buffer(64)
        return host_buffer(self.cf, bytes(64))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_b75_pairs_of_faults(cf: Any, tmp_path: Path, first: str, second: str) -> None:
    """Of two faults of one destination the earlier of the order answers; with it removed, the later does."""
    both = Product(cf, {first, second}, tmp_path)
    before = both.state()
    assert both.answer().name == first
    assert both.state() == before
    assert Product(cf, {second}, tmp_path).answer().name == second
    assert Product(cf, {first}, tmp_path).answer().name == first
    assert Product(cf, set(), tmp_path).answer() == cf.Answer.DONE


@pytest.mark.parametrize("fault", ["DEAD_BUFFER", "HELD_EXCLUSIVE", "READ_ONLY"])
@pytest.mark.parametrize("later", ["DEAD_BUFFER", "HELD_EXCLUSIVE"])
def test_b75_claims_in_operand_order(cf: Any, tmp_path: Path, fault: str, later: str) -> None:
    """The first operand whose claim is refused answers, whatever is wrong with a later one."""
    x, y = Product(cf, {fault}, tmp_path), Product(cf, {later}, tmp_path)
    held = [case.buffer for case in (x, y) if "HELD_EXCLUSIVE" in case.faults]
    with cf.claims(donate=held):
        assert cf.kernels.add(x.dst, y.dst, y.dst).name == fault
        assert cf.kernels.add(counted(cf, cf.int32, [2, 2]), y.dst, x.dst).name == later
    assert x.buffer.claims[:2] == y.buffer.claims[:2] == (0, False)


def test_b76_an_asynchronous_failure(cf: Any) -> None:
    """After work failed on a device, every later use of its memory names that failure, and one class of exception."""
    device = cf.simulated("dev", addressable=True)
    x = cf.empty(device, cf.uint8, [2])

    def failing(view: Any) -> None:
        raise ZeroDivisionError("first routine")

    cf.submit(device, failing, [], [x.buffer])
    cf.submit_fill(x.buffer, 3)
    told = set()
    for use in (lambda: x.get([0]), x.copy, lambda: cf.kernels.neg(cf.host_array(cf.uint8, [2]), x), x.to_values):
        with pytest.raises(cf.Lost) as caught:
            use()
        told.add(str(caught.value))
    assert len(told) == 1 and "first routine" in told.pop()


@pytest.mark.parametrize(("name", "value"), [("uint4", 16), ("int4", 8)])
def test_b76_range_errors_name_the_dtype(cf: Any, name: str, value: int) -> None:
    """A value out of range names the dtype it was meant for."""
    x = fresh(cf, getattr(cf, name), [0])
    with pytest.raises(cf.InvalidArgument, match=name) as caught:
        x.set([0], value)
    assert caught.value.rule == "dtypes/value-range" and caught.value.subjects["dtype"] == name
