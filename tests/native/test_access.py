"""Elements in and out of the core's arrays, their placement, bitcasts, and who may reach them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.core import Memory, Strides, bits_of, extents, layout_of, plain
from tests.native.test_layout import RULES, small_layouts

from counterfoil._native import ffi, lib
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype, bit, complex128, float32, int4, int16, uint4, uint8

ROOM = 1 << 12
dtypes = st.sampled_from((bit, int4, uint8, int16, float32, complex128))


def filled(seed: int) -> tuple[Memory, int]:
    """Memory of pseudo-random bytes, and its bits as one number, bit k being bit k of the memory."""
    memory = Memory(ROOM)
    data = bytes((seed * 7919 + k * k * 31 + k * 17) >> 3 & 255 for k in range(ROOM))
    ffi.memmove(memory.memory.base, data, ROOM)
    return memory, int.from_bytes(data, "little")


def content(memory: Memory) -> int:
    """The memory's bits as one number."""
    return int.from_bytes(ffi.buffer(memory.memory.base, ROOM)[:], "little")


def code(word: int, first: int, bits: int) -> int:
    """`bits` bits from `first` on."""
    return word >> first & ((1 << bits) - 1)


def loose(dtype: Dtype, codes: list[int]) -> bytes:
    """Codes as loose elements: whole bytes each."""
    return b"".join(value.to_bytes(max(dtype.bits // 8, 1), "little") for value in codes)


@given(dtypes, small_layouts(), st.integers(0, 99))
def test_reading_gives_the_bits_of_each_index(dtype: Dtype, layout: Strides, seed: int) -> None:
    """Reading all, and getting one, give every index's own bits in C order."""
    memory, word = filled(seed)
    array, wanted = memory.array(dtype, layout), bits_of(dtype, layout)
    out = bytearray(len(wanted) * max(dtype.bits // 8, 1))
    assert lib.cf_array_read(array, ffi.from_buffer(out)) == 0
    assert out == loose(dtype, [code(word, first, dtype.bits) for first in wanted])
    words = ffi.new("uint64_t[2]")
    for index, first in zip(product(*map(range, layout.shape)), wanted, strict=True):
        assert lib.cf_array_get(array, index, words) == 0
        assert words[0] | words[1] << 64 == code(word, first, dtype.bits)


@given(dtypes, small_layouts(), st.integers(0, 99))
def test_stores_change_their_own_bits_alone(dtype: Dtype, layout: Strides, seed: int) -> None:
    """Scattering all elements, then setting one, changes exactly their bits; set refuses repeated elements."""
    memory, word = filled(seed)
    array, wanted = memory.array(dtype, layout), bits_of(dtype, layout)
    codes = [code(hash((seed, k)), 0, dtype.bits) for k in range(len(wanted))]
    if len(set(wanted)) < len(wanted):
        assert lib.cf_array_set(array, [0] * len(layout.shape), (0, 0)) == Answer.REPEATED_ELEMENTS
        return
    lib.cf_array_scatter(array, loose(dtype, codes))
    for first, value in zip(wanted, codes, strict=True):
        word = word & ~(((1 << dtype.bits) - 1) << first) | value << first
    assert content(memory) == word
    if wanted:
        last = [extent - 1 for extent in layout.shape]
        assert lib.cf_array_set(array, last, (0, 0)) == 0
        assert content(memory) == word & ~(((1 << dtype.bits) - 1) << wanted[-1])


@given(small_layouts(), st.data())
def test_an_index_outside_its_axis_is_outside(layout: Strides, data: st.DataObject) -> None:
    """One entry below 0 or at its extent, and nothing is read."""
    if not layout.shape:
        return
    memory, _ = filled(0)
    axis = data.draw(st.sampled_from(range(len(layout.shape))))
    index = [0] * len(layout.shape)
    index[axis] = data.draw(st.sampled_from((-1, layout.shape[axis], 2**63 - 1, -(2**63))))
    assert lib.cf_array_get(memory.array(uint8, layout), index, ffi.new("uint64_t[2]")) == lib.CF_OUTSIDE


# --- placement -------------------------------------------------------------------------------------------------------

VECTORS = [
    ((3, 2), (2, 2), 0, float32, False, (2, 1), 0, 24),
    ((2, 3), (-6, 2), 6, float32, False, (-3, 1), 3, 24),
    ((3,), (-1,), 2, float32, True, (-1,), 2, 12),
    ((4,), (2,), 1, float32, False, (1,), 0, 16),
    ((2, 3), (1, 2), 0, float32, True, (1, 2), 0, 24),
    ((3, 2), (0, 1), 5, float32, True, (0, 1), 0, 8),
    ((3, 2), (1, 1), 0, float32, True, (1, 1), 0, 16),
    ((2,), (1,), 1, int4, False, (1,), 0, 1),
    ((3,), (1,), 1, int4, True, (1,), 1, 2),
    ((3,), (-2,), 5, int4, False, (-1,), 2, 2),
    ((4,), (3,), 0, bit, False, (1,), 0, 1),
    ((8,), (1,), 3, bit, False, (1,), 0, 1),
    ((2, 2, 2), (4, 0, -4), 4, float32, False, (2, 0, -1), 1, 16),
    ((2, 3), (10, 1), 0, float32, False, (3, 1), 0, 24),
    ((2, 2), (3, 1), 0, uint8, False, (2, 1), 0, 4),
]


def placed(dtype: Dtype, layout: Strides) -> tuple[bool, Strides, int, int]:
    """The plan of a layout: whether bytes are kept, the copy's layout, the first byte and how many."""
    plan = ffi.new("cf_placement *")
    lib.cf_layout_place(plan, layout_of(layout), dtype.bits)
    return bool(plan.keep), plain(plan.layout), plan.first_byte, plan.nbytes


Vector = tuple[tuple[int, ...], tuple[int, ...], int, Dtype, bool, tuple[int, ...], int, int]


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_placement_vectors(vector: Vector) -> None:
    """The named cases of to_device: kept or compacted, strides, offset and bytes."""
    shape, strides, offset, dtype, keep, copied, start, nbytes = vector
    kept, layout, _, length = placed(dtype, Strides(shape, strides, offset))
    assert (kept, layout, length) == (keep, Strides(shape, copied, start), nbytes)


@given(dtypes, small_layouts())
def test_placement_fits_and_keeps_elements_apart(dtype: Dtype, layout: Strides) -> None:
    """A copy has a place for every index, within its bytes, no more than one element per index, repeats shared."""
    kept, copy, first, nbytes = placed(dtype, layout)
    before, after = list(plain(layout_of(layout)).positions()), list(copy.positions())
    moving = [d for d, stride in zip(copy.shape, copy.strides, strict=True) if stride]
    assert nbytes <= -(-extents(moving) * dtype.bits // 8)
    assert all(position >= 0 and (position + 1) * dtype.bits <= nbytes * 8 for position in after)
    if kept:
        assert [p * dtype.bits - first * 8 for p in before] == [p * dtype.bits for p in after]
    else:
        assert len(set(after)) == extents(moving)


# --- bitcast ---------------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.sampled_from(Dtype.all), st.sampled_from(Dtype.all), small_layouts(), st.integers(0, 3))
def test_bitcast_keeps_every_bit(source: Dtype, target: Dtype, layout: Strides, extra: int) -> None:
    """Bit k of the array's bits in C order stays bit k, and narrowing can be taken back."""
    if max(source.bits, target.bits) > 8 * min(source.bits, target.bits):
        return
    memory = Memory(ROOM << 3)
    if target.bits > source.bits and extra:
        ratio = target.bits // source.bits
        layout = Strides((*layout.shape, ratio), (*(ratio * s for s in layout.strides), 1), layout.offset * ratio)
    out, back, rule = ffi.new("cf_array *"), ffi.new("cf_array *"), ffi.new("int *")
    array = memory.array(source, layout)
    answer = lib.cf_array_bitcast(out, array, target.code, rule)
    if answer != lib.CF_MOVED:
        assert answer == lib.CF_NO_LAYOUT and target.bits > source.bits
        return
    spread = [first + k for first in bits_of(source, layout) for k in range(source.bits)]
    assert [first + k for first in bits_of(target, plain(out.layout)) for k in range(target.bits)] == spread
    assert lib.cf_array_bitcast(back, out, source.code, rule) == lib.CF_MOVED
    assert plain(back.layout) == plain(array.layout)


def test_narrowing_refuses_a_shape_past_the_limit() -> None:
    """An element repeated 2^53 times has no room for one more axis; nor has rank 32."""
    memory, rule, out = Memory(64), ffi.new("int *"), ffi.new("cf_array *")
    repeated = memory.array(float32, Strides((2**53,), (0,), 0))
    deep = memory.array(uint4, Strides((1,) * 32, (0,) * 32, 0))
    assert lib.cf_array_bitcast(out, repeated, uint8.code, rule) == lib.CF_REFUSED
    assert RULES[rule[0]] == "layouts/too-many-elements"
    assert lib.cf_array_bitcast(out, deep, bit.code, rule) == lib.CF_REFUSED
    assert RULES[rule[0]] == "arrays/bitcast-rank"


# --- who may reach them ----------------------------------------------------------------------------------------------


def test_claims_are_counted_and_donated_only_alone() -> None:
    """A donation is exclusive iff its claim is the only one and the buffer spans unexported, writable memory."""
    memory = Memory(16)
    assert lib.cf_claim(memory.buffer, True) == lib.cf_claim(memory.buffer, False) == 0
    assert memory.claims() == (2, False, False) and not lib.cf_donate(memory.buffer)
    lib.cf_release(memory.buffer)
    assert lib.cf_donate(memory.buffer) and memory.claims() == (0, True, False)
    assert lib.cf_claim(memory.buffer, False) == Answer.HELD_EXCLUSIVE
    lib.cf_donate_end(memory.buffer)
    assert memory.claims() == (1, False, False)
    lib.cf_export(memory.buffer)
    assert not lib.cf_donate(memory.buffer) and memory.claims() == (1, False, True)
    lib.cf_release(memory.buffer)


def test_export_while_exclusive_stays_after_it() -> None:
    """A consumer may export what it holds; the memory is then never exclusive again."""
    memory = Memory(16)
    lib.cf_claim(memory.buffer, True)
    assert lib.cf_donate(memory.buffer)
    lib.cf_export(memory.buffer)
    assert memory.claims() == (0, True, True)
    lib.cf_donate_end(memory.buffer)
    assert memory.claims() == (1, False, True) and not lib.cf_donate(memory.buffer)
    lib.cf_release(memory.buffer)


def test_only_unclaimed_live_memory_is_retired() -> None:
    """free counts the claims in its way, names exclusive and dead memory, and kills all buffers when it succeeds."""
    memory = Memory(16)
    lib.cf_claim(memory.buffer, False)
    assert lib.cf_retire(memory.buffer) == 1
    assert lib.cf_donate(memory.buffer) and lib.cf_retire(memory.buffer) == -1
    lib.cf_donate_end(memory.buffer)
    lib.cf_release(memory.buffer)
    assert lib.cf_retire(memory.buffer) == 0 and lib.cf_buffer_dead(memory.buffer)
    assert lib.cf_retire(memory.buffer) == -2 and memory.claims() == (0, False, False)


@given(st.lists(st.sampled_from("ldxr"), min_size=1, max_size=40))
def test_claims_are_taken_all_or_none_by_kind_of_fault(kinds: list[str]) -> None:
    """Of live, dead, exclusive and Read-only buffers, all written: dead is named first, then exclusive, then Read."""
    memories = [Memory(16) for _ in kinds]
    for kind, memory in zip(kinds, memories, strict=True):
        if kind == "d":
            lib.cf_consume(memory.buffer)
        if kind == "x":
            assert lib.cf_claim(memory.buffer, True) == 0 and lib.cf_donate(memory.buffer)
        if kind == "r":
            memory.memory.flags |= lib.CF_MEMORY_READ
    before, where = [memory.claims() for memory in memories], ffi.new("int *")
    vector = [memory.buffer for memory in memories]
    answer = lib.cf_claims_take(vector, b"\1" * len(kinds), len(kinds), where)
    faults = (("d", Answer.DEAD_BUFFER), ("x", Answer.HELD_EXCLUSIVE), ("r", Answer.READ_ONLY))
    wanted = next(((kinds.index(kind), code) for kind, code in faults if kind in kinds), None)
    if wanted is None:
        assert answer == 0 and all(memory.claims()[0] == 1 for memory in memories)
        lib.cf_claims_release(vector, len(vector))
    else:
        assert (where[0], answer) == wanted
    assert [memory.claims() for memory in memories] == before
