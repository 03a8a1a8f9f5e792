"""Arrays: what makes one, bitcast, and elements one by one."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import all_of, any_dtype, arrays_on, bytes_of, fill, host_bytes, layouts, refusal, state

import counterfoil_reference as cf
from counterfoil_reference import elements


def bits_of(array: cf.Array, index: tuple[int, ...]) -> list[int]:
    """The bits of the memory that an element occupies, straight from the definition: (byte, bit) counted as one."""
    first = array.buffer.first * 8 + array.layout.position(index) * array.dtype.bits
    return list(range(first, first + array.dtype.bits))


def memory_bits(array: cf.Array) -> list[int]:
    """All bits of the array's memory: bit 8q + r is bit r of byte q."""
    data = array.buffer.memory.read(0, array.buffer.memory.nbytes)
    return [byte >> r & 1 for byte in data for r in range(8)]


@given(arrays_on(cf.host()))
def test_an_element_is_its_bits_low_bits_first(array: cf.Array) -> None:
    """Element p of b bits is the bits p*b to p*b + b - 1, bit 8q + r being bit r of byte q."""
    bits = memory_bits(array)
    expected = [sum(bits[b] << k for k, b in enumerate(bits_of(array, index))) for index in all_of(array.layout)]
    assert elements.codes(array) == expected == [elements.load_code(array, index) for index in all_of(array.layout)]


@given(arrays_on(cf.host()), st.data())
def test_a_store_changes_its_own_bits_only(array: cf.Array, data: st.DataObject) -> None:
    """arrays/store-neighbours: every bit outside the element stays as it was."""
    if array.layout.size == 0:
        return
    index = data.draw(st.sampled_from(list(all_of(array.layout))))
    code = data.draw(st.integers(0, 2**array.dtype.bits - 1))
    before, own = memory_bits(array), bits_of(array, index)
    elements.store_code(array, index, code)
    after = memory_bits(array)
    assert [b for k, b in enumerate(after) if k not in own] == [b for k, b in enumerate(before) if k not in own]
    assert elements.load_code(array, index) == code


@given(any_dtype(), layouts(), st.integers(0, 9), st.integers(0, 40))
def test_an_array_reaches_only_bits_of_its_buffer(dtype: cf.Dtype, layout: cf.Layout, first: int, nbytes: int) -> None:
    """past-the-end and misaligned are refused iff a bit lies past the buffer, or the first byte is not aligned."""
    buffer = cf.host().buffer(first + nbytes).view(first, nbytes)
    bits = [layout.position(index) * dtype.bits + dtype.bits for index in all_of(layout)]
    if any(last > nbytes * 8 for last in bits):
        refusal("arrays/past-the-end", lambda: cf.Array(dtype, layout, buffer), dtype=dtype.name, nbytes=nbytes)
    elif bits and first % dtype.alignment:
        refusal("arrays/misaligned", lambda: cf.Array(dtype, layout, buffer), alignment=dtype.alignment)
    else:
        assert cf.Array(dtype, layout, buffer).layout is layout


@pytest.mark.parametrize(
    ("dtype", "shape", "strides", "offset", "first", "rule"),
    [
        (cf.float32, [4], [1], 0, 0, None), (cf.float32, [4], [-1], 3, 0, None),
        (cf.float32, [5], [1], 0, 0, "arrays/past-the-end"), (cf.float32, [4], [1], 1, 0, "arrays/past-the-end"),
        (cf.int4, [32], [1], 0, 0, None), (cf.int4, [33], [1], 0, 0, "arrays/past-the-end"),
        (cf.bit, [128], [1], 0, 0, None), (cf.bit, [129], [1], 0, 0, "arrays/past-the-end"),
        (cf.complex128, [2], [1], 0, 0, "arrays/past-the-end"), (cf.float32, [1], [1], 0, 1, "arrays/misaligned"),
        (cf.uint8, [15], [1], 0, 1, None), (cf.int4, [30], [1], 0, 1, None),
        (cf.float64, [1], [1], 0, 4, "arrays/misaligned"), (cf.complex64, [1], [1], 0, 4, None),
        (cf.complex128, [0], [1], 0, 4, None), (cf.float32, [1], [1], 1, 2, "arrays/misaligned"),
        (cf.float32, [0], [1], 0, 1, None), (cf.float32, [0], [1], 0, 16, None),
    ],
)  # fmt: skip
def test_reach_and_alignment_vectors(
    dtype: cf.Dtype, shape: list[int], strides: list[int], offset: int, first: int, rule: str | None
) -> None:
    """Known arrays over 16 bytes, reach before alignment."""
    for device in (cf.host(), cf.simulated("far")):
        buffer = device.buffer(16).view(first, 16 - first)
        layout = cf.Layout(shape, strides, offset)
        if rule is None:
            assert cf.Array(dtype, layout, buffer).shape == tuple(shape)
        else:
            refusal(rule, lambda layout=layout, buffer=buffer: cf.Array(dtype, layout, buffer))


def test_host_memory_is_aligned_by_address_too() -> None:
    """A view of foreign memory that starts at an odd address holds no wide element at even offsets."""
    odd = memoryview(bytearray(17))[1:]
    buffer = cf.from_buffer(cf.uint8, odd).buffer
    refusal("arrays/misaligned", lambda: cf.Array(cf.int16, cf.Layout.contiguous([2]), buffer))
    refusal("arrays/misaligned", lambda: cf.Array(cf.int16, cf.Layout.contiguous([2]), buffer.view(1, 8)))


def test_parts_of_another_class_are_refused() -> None:
    """arguments/wrong-type names the argument and the class, before the buffer is looked at."""
    dtype, layout, buffer = cf.int8, cf.Layout.contiguous([1]), host_bytes(b"x")
    buffer.free("freed")
    for position, name in enumerate(["dtype", "layout", "buffer"]):
        parts: list[object] = [dtype, layout, buffer]
        parts[position] = 7
        refusal("arguments/wrong-type", lambda parts=parts: cf.Array(*parts), argument=name, expected=name.title())
    refusal("memory/dead", lambda: cf.Array(cf.float64, layout, buffer), function="Array", why="freed")


@given(any_dtype(), st.lists(st.integers(0, 3), max_size=3), st.integers(0, 255))
def test_a_fresh_array_ends_in_zero_bits(dtype: cf.Dtype, shape: list[int], poison: int) -> None:
    """arrays/fresh-tail: C-contiguous at offset 0, exactly its bytes, and zero past a sub-byte array's last element."""
    far = cf.simulated("far")
    cf.inspection.poison(poison)
    try:
        for array in (cf.empty(cf.host(), dtype, shape), cf.empty(far, dtype, shape)):
            array.buffer.wait(cf.READ)
            count = math.prod(shape)
            assert array.layout == cf.Layout.contiguous(shape) and array.buffer.nbytes == dtype.nbytes(count)
            value = int.from_bytes(bytes_of(array.buffer), "little")
            everywhere = int.from_bytes(bytes([poison]) * array.buffer.nbytes, "little")
            assert value == everywhere & (1 << count * dtype.bits) - 1
    finally:
        cf.inspection.poison(None)


def test_empty_refuses_in_order() -> None:
    """The shape before the memory: no-memory devices, lost ones and budgets come after it."""
    gone = cf.simulated("gone")
    gone.lose("unplugged")
    refusal("layouts/negative-extent", lambda: cf.empty(gone, cf.int8, [-1]))
    refusal("memory/makes-no-memory", lambda: cf.empty(cf.disk(), cf.int8, [1]), nbytes=1)
    refusal("memory/lost", lambda: cf.empty(gone, cf.int8, [1]), why="unplugged")
    refusal("arguments/wrong-type", lambda: cf.empty(None, None, None), argument="device")  # type: ignore[arg-type]
    refusal("arguments/wrong-type", lambda: cf.empty(gone, "int8", [1]))  # type: ignore[arg-type]
    assert cf.empty(cf.disk(), cf.int8, [0, 3]).shape == (0, 3)


def test_from_values_counts_before_it_looks() -> None:
    """One value per index; the count before the values' types, and those before any memory."""
    assert cf.from_values(cf.int32, [2, 2], iter([1, 2, 3, 4])).to_values() == [1, 2, 3, 4]
    assert cf.from_values(cf.float64, [0, 3], []).to_values() == []
    refusal("arrays/values-count", lambda: cf.from_values(cf.int8, [2, 2], ["a"]), values=1, shape=(2, 2))
    refusal("layouts/negative-extent", lambda: cf.from_values(cf.int8, [-1], []))
    refusal("dtypes/value-range", lambda: cf.from_values(cf.uint4, [2], [15, 16]), dtype="uint4")
    refusal("dtypes/value-type", lambda: cf.from_values(cf.int8, [1], [True]), dtype="int8")
    refusal("arguments/wrong-type", lambda: cf.from_values(cf.int8, [1], 5), argument="values")  # type: ignore[arg-type]


@given(arrays_on(cf.host()), st.data())
def test_bitcast_keeps_the_bits_where_it_answers(array: cf.Array, data: st.DataObject) -> None:
    """arrays/bitcast-map: the result reads the same bits in the same order, and casting back gives the same array."""
    dtype = data.draw(any_dtype())
    cast = array.bitcast(dtype)
    if cast is None:
        assert dtype.bits > array.dtype.bits or array.buffer.first % dtype.alignment
        return
    assert cast.buffer is array.buffer
    narrow, wide = (cast, array) if dtype.bits < array.dtype.bits else (array, cast)
    ratio = wide.dtype.bits // narrow.dtype.bits
    if ratio > 1:
        assert narrow.shape == (*wide.shape, ratio)
    for index in all_of(wide.layout):
        parts = [(*index, k) for k in range(ratio)] if ratio > 1 else [index]
        assert [b for part in parts for b in bits_of(narrow, part)] == bits_of(wide, index)
    back = cast.bitcast(array.dtype)
    assert back is not None and back.layout == array.layout


def test_bitcast_vectors() -> None:
    """Known casts: values, Nones by stride, offset, extent and alignment."""
    a = cf.from_values(cf.float32, [2], [1.0, -2.0]).bitcast(cf.uint8)
    assert a is not None and a.shape == (2, 4) and a.to_values() == [0, 0, 128, 63, 0, 0, 0, 192]
    b = cf.from_values(cf.uint8, [2], [0x21, 0xF7])
    nibbles, bits = b.bitcast(cf.int4), b.bitcast(cf.bit)
    assert nibbles is not None and nibbles.to_values() == [1, 2, 7, -1]
    assert bits is not None and bits.to_values()[:8] == [True, False, False, False, False, True, False, False]
    eight = cf.host_array(cf.uint8, [2, 4])
    turned, cut = eight.move(cf.Permute([1, 0])), eight.move(cf.Slice(cf.Range(0, 2), cf.Range(1, 2)))
    assert turned is not None and turned.bitcast(cf.uint16) is None
    assert cut is not None and cut.bitcast(cf.uint16) is None
    assert cf.host_array(cf.uint8, [2, 3]).bitcast(cf.float32) is None
    assert cf.host_array(cf.uint8, []).bitcast(cf.uint16) is None
    four = cf.host_array(cf.uint8, [0, 4]).bitcast(cf.float32)
    assert four is not None and four.shape == (0,)
    assert cf.host_array(cf.uint8, [0, 3]).bitcast(cf.float32) is None
    shifted = cf.Array(cf.complex64, cf.Layout.contiguous([1]), cf.host().buffer(16).view(4, 8))
    assert shifted.bitcast(cf.float64) is None and shifted.bitcast(cf.float32) is not None
    refusal("arrays/bitcast-rank", lambda: cf.host_array(cf.uint16, [1] * 32).bitcast(cf.uint8), rank=32)
    dead = cf.host_array(cf.uint16, [1] * 32)
    dead.buffer.free("freed")
    refusal("memory/dead", lambda: dead.bitcast(cf.uint8), function="bitcast")


def test_moves_and_bitcasts_share_the_buffer() -> None:
    """A move works on a dead array too; a write through one view shows in the other."""
    a = cf.from_values(cf.int16, [2, 2], range(4))
    turned = a.move(cf.Permute([1, 0]))
    assert turned is not None and turned.buffer is a.buffer
    turned.set([1, 0], 7)
    assert a.to_values() == [0, 7, 2, 3]
    a.buffer.free("freed")
    assert turned.move(cf.Reshape([1, 2, 2])) is not None


def test_expect_names_both_dtypes() -> None:
    """expect gives the array itself at its own dtype."""
    a = cf.host_array(cf.int8, [1])
    assert a.expect(cf.int8) is a
    refusal("arrays/expect", lambda: a.expect(cf.uint8), wanted="uint8", found="int8")
    refusal("arguments/wrong-type", lambda: a.expect("int8"))  # type: ignore[arg-type]


NUMPY = [cf.float64, cf.float32, cf.float16, cf.int64, cf.uint64, cf.int32, cf.int8, cf.complex64, cf.bool_]


@given(st.sampled_from(NUMPY), st.data())
def test_elements_read_as_numpy_reads_them(dtype: cf.Dtype, data: st.DataObject) -> None:
    """get and to_values agree with numpy over the same bytes; odd boolean bytes read true."""
    array = data.draw(arrays_on(cf.host(), dtype))
    store = np.frombuffer(bytes_of(array.buffer) + bytes(16), dtype.name, array.buffer.nbytes * 8 // dtype.bits)
    if dtype is cf.bool_:
        store = store.view(np.uint8) != 0
    values = [array.get(index) for index in all_of(array.layout)]
    assert repr(values) == repr(array.to_values())
    for value, index in zip(values, all_of(array.layout), strict=True):
        expected = store[array.layout.position(index)].item()
        assert value == expected or (value != value and expected != expected)


def test_get_and_set_refuse_in_order() -> None:
    """Index facts, then the value, then dead, exclusive, read-only, off host, repeated, lost (A13)."""
    a = cf.from_values(cf.uint8, [2], [1, 2])
    wide = a.move(cf.Broadcast([3, 2]))
    assert wide is not None
    refusal("arrays/index-rank", lambda: a.get([0, 0]), index=(0, 0), rank=1)
    refusal("arrays/index-range", lambda: a.get([2]), index=(2,), shape=(2,))
    refusal("arrays/index-range", lambda: a.set([-1], "x"), index=(-1,))  # type: ignore[arg-type]
    refusal("arguments/not-integer", lambda: a.get([True]), argument="index")
    refusal("arguments/wrong-type", lambda: a.get(0), argument="index")  # type: ignore[arg-type]
    refusal("arrays/repeated", lambda: wide.set([0, 0], 5), function="set", dtype="uint8", shape=(3, 2))
    frozen = cf.from_buffer(cf.uint8, b"ab").move(cf.Broadcast([3, 2]))
    assert frozen is not None
    refusal("memory/read-only", lambda: frozen.set([0, 0], 5), function="set")
    far = cf.empty(cf.simulated("far"), cf.uint8, [2])
    refusal("memory/off-host", lambda: far.get([0]), function="get", device="far")
    assert cf.empty(cf.simulated("far"), cf.uint8, [0]).to_values() == []
    a.buffer.free("freed")
    refusal("dtypes/value-range", lambda: a.set([0], 256), dtype="uint8")
    refusal("memory/dead", lambda: wide.set([0, 0], 5), why="freed")
    refusal("memory/dead", lambda: cf.Array.over(a.dtype, cf.Layout([0], [0]), a.buffer).to_values())


def test_reading_waits_for_the_write_and_writing_for_every_use() -> None:
    """get performs the last write of the memory and no more; set performs the reads pending on it too."""
    near = cf.simulated("near", True)
    a = cf.empty(near, cf.uint8, [1])
    cf.submit(near, fill(5), [], [a.buffer])
    cf.submit(near, fill(0), [a.buffer], [])
    cf.submit(near, fill(0), [], [])
    assert a.get([0]) == 5 and state(near) == (3, 1)
    a.set([0], 6)
    assert state(near) == (3, 2) and a.to_values() == [6] and state(near) == (3, 2)


def test_a_lost_memory_is_read_by_nobody() -> None:
    """memory/lost is raised with no claim left behind."""
    near = cf.simulated("near", True)
    a = cf.empty(near, cf.uint8, [1])
    near.lose("unplugged")
    for call in (lambda: a.get([0]), lambda: a.set([0], 1), a.to_values):
        refusal("memory/lost", call, device="near", why="unplugged")
    assert a.buffer.claims == (0, False, False)


@given(st.lists(st.integers(-8, 7), min_size=1, max_size=9))
def test_nibbles_lie_low_first(values: list[int]) -> None:
    """int4 elements are packed two to a byte, the first in the low nibble."""
    a = cf.from_values(cf.int4, [len(values)], values)
    padded = [v & 15 for v in values] + [0] * (len(values) % 2)
    packed = bytes(low | high << 4 for low, high in zip(padded[::2], padded[1::2], strict=True))
    assert bytes_of(a.buffer) == packed and a.to_values() == values


def test_unsigned_and_wide_values_read_true() -> None:
    """A12: values read back are Python's: float, complex, bool and true int, unsigned included."""
    a = cf.host_array(cf.uint64, [1])
    cf.inspection.poke(a.buffer, struct.pack("<Q", 2**64 - 1))
    assert a.get([0]) == 2**64 - 1
    cf.inspection.poke(a.buffer, b"\x02" + bytes(7))
    flags = a.bitcast(cf.bool_)
    assert flags is not None and flags.to_values() == [True, *itertools.repeat(False, 7)]
    assert type(flags.get([0, 7])) is bool
