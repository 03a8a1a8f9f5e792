"""reading, writing, export and from_buffer: whose bytes are shared, in which shape, and for how long."""

from __future__ import annotations

import gc
import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import bytes_of, fill, host_bytes, refusal, shapes, state

import counterfoil_reference as cf
from counterfoil_spec.dtypes import BUFFER_FORMATS

SHARED = list(BUFFER_FORMATS)
BY_BYTES = (cf.float16, cf.complex64, cf.complex128)


@given(st.sampled_from(SHARED), shapes(3), st.integers(0, 2))
def test_a_view_has_the_arrays_shape_and_bytes(dtype: cf.Dtype, shape: tuple[int, ...], offset: int) -> None:
    """reading gives a read-only view of the elements' bytes; formats no memoryview has show as bytes, one axis more."""
    layout = cf.Layout(shape, cf.Layout.contiguous(shape).strides, offset)
    width = dtype.bits // 8
    data = bytes(k % 251 for k in range((layout.size + 2) * width))
    array = cf.Array(dtype, layout, host_bytes(data))
    with array.reading() as view:
        assert view.readonly and bytes(view) == data[layout.offset * width :][: layout.size * width]
        if layout.size and dtype in BY_BYTES:
            assert view.shape == (*shape, width) and view.format == "B"
        elif layout.size:
            assert view.shape == shape and view.format == BUFFER_FORMATS[dtype]
        assert array.buffer.claims == (1, False, False)
    assert array.buffer.claims == (0, False, False)


def test_writing_writes_the_array() -> None:
    """What is stored through the view is the array's elements, also when the block raises."""
    a = cf.host_array(cf.int32, [2, 2])
    with pytest.raises(ZeroDivisionError), a.writing() as view:
        view[1, 0] = -7
        raise ZeroDivisionError
    assert a.get([1, 0]) == -7 and a.buffer.claims == (0, False, False)


def test_views_refuse_in_order() -> None:
    """no-format, view-rank, not-contiguous, dead, exclusive, read-only, off-host, lost."""
    deep = cf.host_array(cf.bfloat16, [1] * 17)
    refusal("arrays/no-format", deep.reading().__enter__, function="reading", dtype="bfloat16")
    plain = deep.bitcast(cf.int16)
    assert plain is not None
    refusal("arrays/view-rank", plain.writing().__enter__, function="writing", rank=17, limit=16)
    turned = cf.host_array(cf.int8, [2, 2]).move(cf.Permute([1, 0]))
    assert turned is not None
    refusal("arrays/not-contiguous", turned.export, function="export", shape=(2, 2))
    far = cf.simulated("far")
    away = cf.empty(far, cf.int8, [2])
    refusal("memory/off-host", away.reading().__enter__, function="reading", device="far")
    refusal("arrays/not-on-host", away.export, function="export", device="far")
    refusal("arrays/not-on-host", cf.empty(cf.simulated("near", True), cf.int8, [0]).export)
    frozen = cf.from_buffer(cf.uint8, b"ab")
    refusal("memory/read-only", frozen.writing().__enter__, function="writing")
    with cf.claims(donate=[away.buffer]):
        refusal("memory/exclusive", away.reading().__enter__, function="reading")
    away.buffer.free("freed")
    refusal("memory/dead", away.reading().__enter__, why="freed")
    refusal("memory/dead", turned.buffer.free("x") or turned.copy, function="copy")
    gone = cf.empty(cf.simulated("gone", True), cf.int8, [1])
    gone.device.lose("unplugged")
    refusal("memory/lost", gone.reading().__enter__, device="gone")


def test_no_element_reads_as_empty_whatever_its_memory() -> None:
    """arrays/empty-view: off host too; dead, exclusive and, for writing, read-only are still refused."""
    away = cf.empty(cf.simulated("far"), cf.float32, [2, 0])
    for view_of in (away.reading, away.writing):
        with view_of() as view:
            assert view.nbytes == 0 and view.format == "f"
    frozen = cf.from_buffer(cf.uint8, b"")
    with frozen.reading() as view:
        assert view.nbytes == 0
    refusal("memory/read-only", frozen.writing().__enter__)
    with cf.claims(donate=[away.buffer]):
        refusal("memory/exclusive", away.reading().__enter__)
    away.buffer.free("freed")
    refusal("memory/dead", away.reading().__enter__)


def test_views_wait_as_their_access_asks() -> None:
    """reading performs the last write, writing every use, export every use once; later work is waited for by hand."""
    near = cf.simulated("near", True)
    a = cf.host_array(cf.uint8, [1])
    mapped = a.buffer.borrow(near)
    assert mapped is not None
    cf.submit(near, fill(3), [], [mapped])
    cf.submit(near, fill(0), [mapped], [])
    with a.reading() as view:
        assert view[0] == 3 and state(near) == (2, 1)
    with a.writing():
        assert state(near) == (2, 2)
    cf.submit(near, fill(4), [], [mapped])
    view = a.export()
    assert view[0] == 4 and not view.readonly
    cf.submit(near, fill(5), [], [mapped])
    assert view[0] == 4 and a.get([0]) == 5 and view[0] == 5


def test_memory_stays_donatable_after_reading_and_never_after_export() -> None:
    """A11: reading and writing end; export does not."""
    a = cf.from_values(cf.uint8, [2], [1, 2])
    with a.reading():
        pass
    with cf.claims(donate=[a.buffer]) as held:
        assert held.exclusive(a.buffer)
    a.export()
    with cf.claims(donate=[a.buffer]) as held:
        assert not held.exclusive(a.buffer)


def test_a_view_kept_too_long_sees_its_own_bytes() -> None:
    """A11: after the block, after free, after every name is gone, the view reads the memory and nobody reuses it."""
    a = cf.from_values(cf.uint8, [3], [1, 2, 3])
    with a.reading() as kept:
        pass
    a.buffer.free("freed")
    del a
    gc.collect()
    others = [cf.from_values(cf.uint8, [3], [9, 9, 9]) for _ in range(50)]
    assert bytes(kept) == b"\x01\x02\x03" and len(others) == 50


@given(st.sampled_from(SHARED), st.lists(st.integers(0, 3), max_size=3), st.booleans())
def test_from_buffer_shares_an_objects_bytes(dtype: cf.Dtype, shape: list[int], readonly: bool) -> None:
    """The array has the object's shape and bytes; it is Read where the object is, and outside the claims for good."""
    source = np.zeros(shape, dtype.name)
    source.setflags(write=not readonly)
    array = cf.from_buffer(dtype, source)
    assert array.shape == tuple(shape) and array.layout.is_contiguous and array.device is cf.host()
    assert array.buffer.access is (cf.READ if readonly else cf.READ_WRITE)
    assert array.buffer.claims == (0, False, True) and cf.inspection.live_bytes(cf.host()) >= 0
    if source.size and not readonly:
        source.reshape(-1).view(np.uint8)[0] = 1
        assert bytes_of(array.buffer)[0] == 1
        cf.inspection.poke(array.buffer, bytes([2]) * array.buffer.nbytes)
        assert bytes(source.tobytes()) == bytes([2]) * array.buffer.nbytes


def test_from_buffer_keeps_the_object_alive() -> None:
    """The object's memory lives while the array does, though nobody else names the object."""
    array = cf.from_buffer(cf.uint8, np.arange(1000, dtype=np.uint8))
    gc.collect()
    garbage = [np.full(1000, 255, np.uint8) for _ in range(50)]
    assert array.get([999]) == 999 % 256 and len(garbage) == 50


def test_from_buffer_refuses_in_order() -> None:
    """not-a-buffer, no-format, format-mismatch, view-rank, not-contiguous, misaligned."""
    closed = mmap.mmap(-1, 4)
    closed.close()
    released = memoryview(b"ab")
    released.release()
    for odd in (7, None, [1, 2], "text", closed, released):
        refusal("arguments/not-a-buffer", lambda odd=odd: cf.from_buffer(cf.uint8, odd), argument="obj")
    refusal("arguments/wrong-type", lambda: cf.from_buffer("uint8", b""), argument="dtype")  # type: ignore[arg-type]
    refusal("arrays/no-format", lambda: cf.from_buffer(cf.bfloat16, b"ab"), function="from_buffer", dtype="bfloat16")
    deep = np.zeros([2] * 17, np.int8)
    refusal("arrays/format-mismatch", lambda: cf.from_buffer(cf.uint8, deep), dtype="uint8", format="b")
    refusal("arrays/format-mismatch", lambda: cf.from_buffer(cf.int32, np.zeros(2, ">i4")), format=">i")
    refusal("arrays/format-mismatch", lambda: cf.from_buffer(cf.complex64, np.zeros(2, np.complex128)), format="Zd")
    refusal("arrays/view-rank", lambda: cf.from_buffer(cf.int8, deep.T), rank=17, limit=16)
    refusal("arrays/not-contiguous", lambda: cf.from_buffer(cf.int8, np.zeros([2, 3], np.int8).T), shape=(3, 2))
    odd_bytes = np.zeros(9, np.uint8)[1:].view(np.int16)
    refusal("arrays/misaligned", lambda: cf.from_buffer(cf.int16, odd_bytes), function="from_buffer", alignment=2)
    assert cf.from_buffer(cf.int16, odd_bytes[:0]).shape == (0,)


@pytest.mark.parametrize(("form", "dtype"), [("l", cf.int64), ("q", cf.int64), ("L", cf.uint64), ("n", cf.int64)])
def test_formats_count_by_kind_and_width(form: str, dtype: cf.Dtype) -> None:
    """A C long is an int64 here, whatever letter it has."""
    array = cf.from_buffer(dtype, memoryview(bytearray(8)).cast(form))  # type: ignore[call-overload]
    assert array.shape == (1,) and array.dtype is dtype
