"""to_device, transfer, copy and borrow: which bits arrive, where, when, and what each refuses."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import arrays_on, bytes_of, fill, host_bytes, layouts, positions, refusal, state

import counterfoil_reference as cf
from counterfoil_reference import elements
from counterfoil_reference.placement import compacted

HOST = cf.host()


def codes_there(array: cf.Array) -> list[int]:
    """The elements' bits once all pending work is done."""
    array.buffer.wait(cf.READ_WRITE)
    return elements.codes(array)


def device_of(kind: str) -> cf.Device:
    """The host, or a new simulated device."""
    return HOST if kind == "host" else cf.simulated(kind, kind == "near")


places = st.sampled_from(["host", "near", "far"])


@given(places, places, st.data())
def test_to_device_keeps_every_bit(source: str, target: str, data: st.DataObject) -> None:
    """arrays/compact: the copy holds the source's elements bit for bit in a fresh buffer of no more than its bytes."""
    array = data.draw(arrays_on(device_of(source)))
    expected = elements.codes(array)
    device = device_of(target)
    copied = array.to_device(device)
    layout, bits = array.layout, array.dtype.bits
    moving = math.prod(d for d, s in zip(layout.shape, layout.strides, strict=True) if s) if layout.size else 0
    assert copied.buffer.nbytes <= array.dtype.nbytes(moving)
    assert copied.device is device and copied.buffer.memory is not array.buffer.memory
    assert codes_there(copied) == expected
    low, high = (layout.span[0] * bits // 8, -(-layout.span[1] * bits // 8))
    if high - low <= array.dtype.nbytes(moving):
        assert copied.layout.strides == layout.strides
        assert bytes_of(copied.buffer) == bytes_of(array.buffer)[low:high]  # the bits beside the elements too
    else:
        assert copied.layout.span[0] == 0
        tail = int.from_bytes(bytes_of(copied.buffer), "little") >> moving * bits
        assert tail == 0


@given(layouts(reach=9))
def test_compacted_axes_go_by_decreasing_stride(layout: cf.Layout) -> None:
    """arrays/compact: signs and zeros stay, the order of magnitudes stays, and the positions fill a run from 0."""
    dense = compacted(layout)
    strides = list(zip(layout.strides, dense.strides, strict=True))
    assert all((a > 0) == (b > 0) and (a < 0) == (b < 0) for a, b in strides)
    moving = sorted((axis for axis, s in enumerate(layout.strides) if s), key=lambda k: (-abs(layout.strides[k]), k))
    products = [math.prod(layout.shape[k] for k in moving[p + 1 :]) for p in range(len(moving))]
    assert [abs(dense.strides[k]) for k in moving] == products
    if layout.size:
        assert sorted(set(positions(dense))) == list(range(math.prod(layout.shape[k] for k in moving)))


VECTORS = [
    ([3, 2], [2, 2], 0, cf.int32, [2, 1], 0, 24), ([2, 3], [-6, 2], 6, cf.int32, [-3, 1], 3, 24),
    ([3], [-1], 2, cf.int32, [-1], 2, 12), ([4], [2], 1, cf.int32, [1], 0, 16),
    ([2, 3], [1, 2], 0, cf.int32, [1, 2], 0, 24),
    ([3, 2], [0, 1], 5, cf.int32, [0, 1], 0, 8), ([3, 2], [1, 1], 0, cf.int32, [1, 1], 0, 16),
    ([2], [1], 1, cf.int4, [1], 0, 1), ([3], [1], 1, cf.int4, [1], 1, 2), ([3], [-2], 5, cf.int4, [-1], 2, 2),
    ([4], [3], 0, cf.bit, [1], 0, 1), ([8], [1], 3, cf.bit, [1], 0, 1),
    ([2, 2, 2], [4, 0, -4], 4, cf.int32, [2, 0, -1], 1, 16), ([2, 3], [10, 1], 0, cf.int32, [3, 1], 0, 24),
    ([2, 2], [3, 1], 0, cf.uint8, [2, 1], 0, 4),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "strides", "offset", "dtype", "dense", "first", "nbytes"), VECTORS)
def test_to_device_vectors(
    shape: list[int], strides: list[int], offset: int, dtype: cf.Dtype, dense: list[int], first: int, nbytes: int
) -> None:
    """Known layouts and the layouts of their copies."""
    array = cf.Array(dtype, cf.Layout(shape, strides, offset), host_bytes(bytes(range(100))))
    copied = array.to_device(HOST)
    assert (copied.layout.strides, copied.layout.offset) == (tuple(dense), first)
    assert copied.buffer.nbytes == nbytes and elements.codes(copied) == elements.codes(array)


def test_a_pending_copy_is_followed_by_every_later_access() -> None:
    """arrays/copies-return: off host the copy is pending, and a later store to the source waits for it."""
    far = cf.simulated("far")
    a = cf.from_values(cf.int32, [2, 2], [1, 2, 3, 4])
    there = a.to_device(far)
    assert state(far) == (1, 0) and a.get([0, 0]) == 1 and state(far) == (1, 0)
    a.set([0, 0], 9)
    assert state(far) == (1, 1)
    back = there.to_device(HOST)
    assert state(far) == (2, 1) and back.to_values() == [1, 2, 3, 4] and state(far) == (2, 2)
    near = cf.simulated("near", True)
    assert a.to_device(near).to_values() == [9, 2, 3, 4] and state(near) == (0, 0)


def test_the_host_gathers_nibbles_itself() -> None:
    """Elements narrower than a byte gathered from memory the host does not address are there on return."""
    far, other = cf.simulated("far"), cf.simulated("other")
    a = cf.from_values(cf.int4, [5], range(5)).to_device(far)
    odd = a.move(cf.Slice(cf.Range(1, 2, 2)))
    assert odd is not None and state(far) == (1, 0)
    gathered = odd.to_device(HOST)
    assert state(far) == (1, 1) and gathered.to_values() == [1, 3]
    assert bytes_of(odd.to_device(other).buffer) == b"\x31" and state(other) == (0, 0)
    whole = a.to_device(other)  # the range of bytes as it is: the device copies
    assert state(far) == (2, 1) and bytes_of(whole.buffer) == b"\x00\x00\x00"
    packed = cf.from_values(cf.int4, [4], range(4)).move(cf.Slice(cf.Range(1, 2)))
    assert packed is not None
    there = packed.to_device(other)
    assert state(other) == (1, 0) and codes_there(there) == [1, 2] and bytes_of(there.buffer) == b"\x21"
    target = cf.host_array(cf.int4, [5])
    cf.transfer(a, target)
    assert target.to_values() == [0, 1, 2, 3, 4]


def test_to_device_refuses_in_order() -> None:
    """dead, exclusive, makes-no-memory, lost, exhausted; an array without an element too."""
    a, gone = cf.from_values(cf.int8, [2], [1, 2]), cf.simulated("gone")
    gone.lose("unplugged")
    tight = cf.simulated("tight")
    tight.budget = 1
    refusal("memory/makes-no-memory", lambda: a.to_device(cf.disk()), nbytes=2)
    refusal("memory/lost", lambda: a.to_device(gone), device="gone")
    refusal("memory/exhausted", lambda: a.to_device(tight), device="tight", nbytes=2, used=0, budget=1)
    with cf.claims(donate=[a.buffer]):
        refusal("memory/exclusive", lambda: a.to_device(cf.disk()), function="to_device")
    none = a.move(cf.Slice(cf.Range(0, 0)))
    a.buffer.free("freed")
    assert none is not None
    refusal("memory/dead", lambda: none.to_device(cf.disk()), function="to_device", why="freed")
    refusal("arguments/wrong-type", lambda: none.to_device("host"), argument="device")  # type: ignore[arg-type]


@given(places, places, st.data())
def test_transfer_stores_the_elements_and_no_other_bit(source: str, target: str, data: st.DataObject) -> None:
    """arrays/store-neighbours: every bit outside the destination's elements stays; sub-byte off host is refused."""
    src = data.draw(arrays_on(device_of(source)))
    dst = data.draw(arrays_on(device_of(target), src.dtype, src.shape))
    before, wanted = bytes_of(dst.buffer), elements.codes(src)
    if src.dtype.bits < 8 and target == "far" and src.layout.size:
        refusal("arrays/sub-byte-off-host", lambda: cf.transfer(src, dst), function="transfer", device="far")
    elif not dst.layout.is_distinct:
        refusal("arrays/repeated", lambda: cf.transfer(src, dst), function="transfer")
    else:
        cf.transfer(src, dst)
        assert codes_there(dst) == wanted
        own = sum((1 << src.dtype.bits) - 1 << position * src.dtype.bits for position in positions(dst.layout))
        changed = int.from_bytes(before, "little") ^ int.from_bytes(bytes_of(dst.buffer), "little")
        assert changed & ~own == 0
        return
    assert bytes_of(dst.buffer) == before


def test_transfer_to_nibbles_between_neighbours() -> None:
    """[-1, -2, -3] into the middle of [1 .. 6] leaves 1, 5 and 6."""
    a = cf.from_values(cf.int4, [6], [1, 2, 3, 4, 5, 6])
    middle = a.move(cf.Slice(cf.Range(1, 3)))
    assert middle is not None
    cf.transfer(cf.from_values(cf.int4, [3], [-1, -2, -3]), middle)
    assert a.to_values() == [1, -1, -2, -3, 5, 6]


def test_transfer_refuses_in_order() -> None:
    """dtypes, shapes, dead, exclusive, read-only, sub-byte off host, repeated, overlapping, lost."""
    a, b = cf.from_values(cf.int8, [2], [1, 2]), cf.from_values(cf.int16, [3], [1, 2, 3])
    frozen = cf.from_buffer(cf.int8, memoryview(b"ab").cast("b"))
    wide, frozen_wide = (x.move(cf.Broadcast([2, 2])) for x in (a, frozen))
    square = cf.host_array(cf.int8, [2, 2])
    assert wide is not None and frozen_wide is not None
    refusal("arrays/dtypes-differ", lambda: cf.transfer(a, b), source="int8", destination="int16")
    refusal("arrays/shapes-differ", lambda: cf.transfer(a, square), source=(2,), destination=(2, 2))
    refusal("memory/read-only", lambda: cf.transfer(square, frozen_wide), function="transfer")
    refusal("arrays/repeated", lambda: cf.transfer(wide, wide), dtype="int8", shape=(2, 2))
    head, tail = (square.move(cf.Slice(cf.Range(k, 1), cf.Range(0, 2))) for k in (0, 1))
    turned = square.move(cf.Permute([1, 0]))
    assert head is not None and tail is not None and turned is not None
    refusal("arrays/overlapping", lambda: cf.transfer(turned, square), function="transfer")
    cf.transfer(head, tail)
    cf.transfer(square, square)
    with cf.claims(donate=[a.buffer]):
        refusal("memory/exclusive", lambda: cf.transfer(frozen, a), function="transfer")
    a.buffer.free("freed")
    refusal("memory/dead", lambda: cf.transfer(wide, frozen_wide), why="freed")
    refusal("arguments/wrong-type", lambda: cf.transfer(None, None), argument="src")  # type: ignore[arg-type]


def test_transfer_of_nothing_waits_for_nothing() -> None:
    """Identical arrays and arrays without an element are checked and leave nothing to do."""
    near, far = cf.simulated("near", True), cf.simulated("far")
    a = cf.empty(near, cf.uint8, [2])
    cf.submit(near, fill(1), [], [a.buffer])
    cf.transfer(a, a)
    cf.transfer(cf.empty(far, cf.int4, [0]), cf.empty(far, cf.int4, [0]))
    assert state(near) == (1, 0) and state(far) == (0, 0)
    near.lose("unplugged")
    refusal("memory/lost", lambda: cf.transfer(a, a), device="near")


@given(places, st.data())
def test_copy_is_fresh_and_contiguous_on_the_same_device(place: str, data: st.DataObject) -> None:
    """copy holds the elements bit for bit in C order; below a byte it is refused off host, before any memory."""
    device = device_of(place)
    array = data.draw(arrays_on(device))
    expected, live = elements.codes(array), cf.inspection.live_bytes(device)
    if place == "far" and array.dtype.bits < 8 and array.layout.size:
        refusal("arrays/sub-byte-off-host", array.copy, function="copy", dtype=array.dtype.name, device="far")
        assert cf.inspection.live_bytes(device) == live and state(device) == (0, 0)
        return
    copied = array.copy()
    assert copied.layout == cf.Layout.contiguous(array.shape) and copied.device is device
    assert copied.buffer.nbytes == array.dtype.nbytes(array.layout.size) and not copied.buffer.overlaps(array.buffer)
    assert codes_there(copied) == expected
    used = array.layout.size * array.dtype.bits
    assert int.from_bytes(bytes_of(copied.buffer), "little") >> used == 0


def test_a_copy_outlives_what_it_was_made_from() -> None:
    """Donating or freeing the original does not touch its copy."""
    a = cf.from_values(cf.float32, [2], [1.5, 2.5])
    b, c = a.copy(), a.to_device(HOST)
    with cf.claims(donate=[a.buffer]) as held:
        held.consume(a.buffer, "donated to f")
    assert b.to_values() == c.to_values() == [1.5, 2.5]
    refusal("memory/dead", a.copy, function="copy", why="donated to f")


def test_borrowed_arrays_show_each_others_writes() -> None:
    """borrow keeps dtype and layout over the same bytes; itself on its own device; None where nothing maps it."""
    near = cf.simulated("near", True)
    a = cf.from_values(cf.int16, [2], [1, 2])
    b = a.borrow(near)
    assert b is not None and b.device is near and b.layout is a.layout and b.dtype is cf.int16
    b.set([1], 7)
    assert a.to_values() == [1, 7] and a.borrow(HOST) is a and a.borrow(cf.simulated("far")) is None
    a.buffer.free("freed")
    refusal("memory/dead", lambda: b.borrow(HOST), function="borrow", why="freed")


def test_a_compacted_copy_ends_in_zero_bits() -> None:
    """arrays/fresh-tail: past the last element gathered, the last byte is zero, whatever the memory held."""
    spread = cf.from_values(cf.int4, [5], [1, 2, 3, 4, 5]).move(cf.Slice(cf.Range(0, 3, 2)))
    assert spread is not None
    cf.inspection.poison(255)
    try:
        copies = [spread.to_device(device) for device in (HOST, cf.simulated("far"))]
    finally:
        cf.inspection.poison(None)
    for copied in copies:
        copied.buffer.wait(cf.READ)
        assert bytes_of(copied.buffer) == b"\x31\x05"


def test_a_copy_waits_for_the_last_write_of_one_and_every_use_of_the_other() -> None:
    """Where the host moves the bytes it waits first: for what wrote the source, and for what reads the destination."""
    near = cf.simulated("near", True)
    a, b = cf.empty(near, cf.uint8, [1]), cf.empty(near, cf.uint8, [1])
    for copy in (lambda: cf.transfer(a, b), lambda: cf.submit_copy(a.buffer, b.buffer)):
        start = near.submitted
        seen: list[bytes] = []
        before = bytes_of(b.buffer)
        cf.submit(near, lambda view, seen=seen: seen.append(bytes(view)), [b.buffer], [])
        cf.submit(near, fill(0), [a.buffer], [])
        cf.submit(near, fill(0), [], [])
        copy()
        assert state(near) == (start + 3, start + 1) and seen == [before]
        near.advance(2)
        cf.submit(near, fill(start + 5), [], [a.buffer])
        copy()
        assert bytes_of(b.buffer) == bytes([start + 5])
