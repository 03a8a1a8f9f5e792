"""cf_overlapping and cf_identical against sets of bytes and lists of bits (A1, A4)."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.native.core import Memory, Strides, bits_of, bytes_of

from counterfoil._native import ffi, lib
from counterfoil_spec.dtypes import Dtype, bit, complex128, float32, int4, int16, uint8

ROOM = 1 << 14

BY = ("range", "dense", "search", "residue", "sums", "sweep")


@st.composite
def layouts(draw: st.DrawFn, most: int = 60) -> Strides:
    """Layouts of few elements, with strides small enough to meet often and large enough to miss."""
    rank = draw(st.integers(0, 4))
    shape = draw(st.tuples(*[st.integers(0, 5) | st.just(2)] * rank))
    strides = draw(st.tuples(*[st.integers(-most, most) | st.sampled_from((1, 2, 3, 4, 8, 12))] * rank))
    lowest = Strides(shape, strides, 0).lowest()
    return Strides(shape, strides, lowest.offset + draw(st.integers(0, 40)))


dtypes = st.sampled_from((uint8, int16, float32, complex128, int4, bit))


def decide(first: tuple[Dtype, Strides], second: tuple[Dtype, Strides]) -> tuple[bool, str]:
    """What the core says of two arrays over one memory, and by which method."""
    memory, by = Memory(ROOM), ffi.new("int *")
    a, b = memory.array(*first), memory.array(*second)
    answer = lib.cf_overlap_decide(a, b, by)
    assert lib.cf_overlap_decide(b, a, by) == answer == lib.cf_overlapping(a, b)
    return bool(answer), BY[by[0]]


@settings(max_examples=400)
@given(dtypes, layouts(), dtypes, layouts())
@example(int4, Strides((3,), (2,), 0), int4, Strides((3,), (2,), 1))
@example(float32, Strides((3,), (2,), 0), float32, Strides((3,), (2,), 1))
@example(bit, Strides((3, 2), (16, 3), 0), bit, Strides((3, 2), (16, 3), 8))
def test_overlap_is_a_common_byte(first: Dtype, a: Strides, second: Dtype, b: Strides) -> None:
    """Two operands overlap iff some byte holds bits of both, whatever their dtypes and layouts."""
    answer, _ = decide((first, a), (second, b))
    assert answer == bool(bytes_of(first, a) & bytes_of(second, b))


@settings(max_examples=300)
@given(st.data())
def test_sparse_operands_are_decided_as_exactly(data: st.DataObject) -> None:
    """Three or four axes of large strides without a common divisor: the cases that reach the last resorts."""

    def sparse() -> Strides:
        rank = data.draw(st.integers(3, 4))
        shape = data.draw(st.tuples(*[st.integers(2, 6)] * rank))
        strides = data.draw(st.tuples(*[st.integers(101, 800)] * rank))
        return Strides(shape, strides, data.draw(st.integers(0, 300)))

    a, b = sparse(), sparse()
    answer, _ = decide((uint8, a), (uint8, b))
    assert answer == bool(bytes_of(uint8, a) & bytes_of(uint8, b))


def hard(extent: int, offset: int) -> tuple[Any, Any, list[Memory]]:
    """The pair of numpy's documentation of shares_memory, at any extent; its bytes are never touched."""
    reach = 1 + (extent - 1) * (36674 + 61119 + 85569)
    memory = Memory(max(reach, offset + 1 + (extent - 1) * (12223 + 12224)))
    a = memory.array(uint8, Strides((extent,) * 3, (36674, 61119, 85569), 0))
    b = memory.array(uint8, Strides((extent, extent, 1), (12223, 12224, 1), offset))
    return a, b, [memory]


def test_the_documented_hard_case_is_decided() -> None:
    """numpy's example of a pair too hard for shares_memory does not overlap, which the residues show."""
    a, b, _memory = hard(1049, 64023025)
    by = ffi.new("int *")
    assert not lib.cf_overlap_decide(a, b, by)
    assert BY[by[0]] == "residue"


@settings(max_examples=60)
@given(st.integers(6, 12), st.integers(0, 400000))
def test_hard_cases_of_few_elements_are_a_common_position(extent: int, offset: int) -> None:
    """The same strides at small extents and any offset, against sets of positions."""
    first = {36674 * i + 61119 * j + 85569 * k for i in range(extent) for j in range(extent) for k in range(extent)}
    second = {offset + 12223 * i + 12224 * j for i in range(extent) for j in range(extent)}
    a, b, _memory = hard(extent, offset)
    assert bool(lib.cf_overlapping(a, b)) == bool(first & second)


@settings(max_examples=150)
@given(dtypes, layouts(), dtypes, layouts())
def test_identical_is_the_same_bits_at_every_index(first: Dtype, a: Strides, second: Dtype, b: Strides) -> None:
    """Identical iff width and shape are equal and every index, of which there is one, lies at the same bits."""
    memory = Memory(ROOM)
    other = Memory(ROOM, base=memory.memory.base)
    bits, bits_other = bits_of(first, a), bits_of(second, b)
    same = first.bits == second.bits and a.shape == b.shape and bits == bits_other != []
    assert bool(lib.cf_identical(memory.array(first, a), other.array(second, b))) == same
    assert bool(lib.cf_identical(memory.array(first, a), other.array(first, a))) == (bits != [])


@given(layouts(), layouts())
def test_overlap_looks_through_two_memories_at_their_bytes(a: Strides, b: Strides) -> None:
    """Two memories over one range of bytes, one a byte further on, overlap where their bytes do."""
    memory = Memory(ROOM)
    other = Memory(ROOM - 1, offset=1, base=memory.memory.base)
    common = bytes_of(uint8, a) & {byte + 1 for byte in bytes_of(uint8, b)}
    assert bool(lib.cf_overlapping(memory.array(uint8, a), other.array(uint8, b))) == bool(common)


@settings(max_examples=150)
@given(st.sampled_from((bit, int4)), st.integers(3, 9), st.lists(st.integers(1, 30), min_size=2, max_size=3), st.data())
def test_windows_of_packed_elements_are_swept_place_by_place(
    dtype: Dtype, extent: int, steps: list[int], data: st.DataObject
) -> None:
    """Packed layouts that reach few places from many indices, against sets of bytes."""
    a = Strides((extent,) * (len(steps) + 1), (*steps, steps[0]), data.draw(st.integers(0, 200)))
    b = Strides((2, 2), (data.draw(st.integers(1, 300)), data.draw(st.integers(1, 9))), data.draw(st.integers(0, 300)))
    answer, _ = decide((dtype, a), (dtype, b))
    assert answer == bool(bytes_of(dtype, a) & bytes_of(dtype, b))


def test_many_indices_of_few_places_are_looked_at_once() -> None:
    """6 * 10^11 indices that reach every other byte, beside bits of a byte between, then of one of theirs."""
    crowd = Strides((200, 200, 200, 200, 200, 2), (48, 80, 112, 176, 208, 4), 0)
    assert decide((bit, crowd), (bit, Strides((2,), (3,), 62009))) == (False, "sweep")
    assert decide((bit, crowd), (bit, Strides((2,), (7,), 62012)))[0]
