"""Memory shared with numpy and through DLPack, both ways: the same elements, the same bytes, deleted once."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterfoil as cf
from counterfoil import dlpack

NUMPY_NAMES = [
    "float64", "float32", "float16", "int64", "uint64", "int32", "uint32", "int16", "uint16", "int8", "uint8",
    "complex128", "complex64", "bool",
]  # fmt: skip


def dtype_of(name: str) -> Any:
    return cf.Dtype.of_name(name)


@st.composite
def strided(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """A numpy view with steps, reversals, transposed axes and offsets over its own memory."""
    shape = draw(st.lists(st.integers(1, 5), max_size=3))
    base = np.arange(int(np.prod(shape)), dtype=draw(st.sampled_from(["i2", "f4", "f8"]))).reshape(shape)
    bound = st.none() | st.integers(-5, 5)
    step = st.sampled_from([1, 2, -1, -2])
    view = base[(..., *(slice(draw(bound), draw(bound), draw(step)) for _ in shape))]
    return view.transpose(draw(st.permutations(range(view.ndim))))


@given(strided())
def test_asarray_sees_numpys_elements_and_writes_show(theirs: np.ndarray[Any, Any]) -> None:
    """An array over a strided numpy view reads its elements in C order, and a store shows in numpy's."""
    ours = cf.asarray(theirs)
    assert ours.shape == theirs.shape and ours.dtype.name == theirs.dtype.name
    assert ours.to_values() == theirs.ravel().tolist()
    if theirs.size:
        index = tuple(extent - 1 for extent in theirs.shape)
        ours.set(index, 77 if theirs.dtype.kind == "i" else 77.0)
        assert theirs[index] == 77


@given(strided())
def test_numpy_sees_our_elements(theirs: np.ndarray[Any, Any]) -> None:
    """numpy over one of our strided views is the same elements over the same memory."""
    ours = cf.asarray(theirs.copy(order="K"))[...]
    back = np.asarray(ours)
    assert (back == theirs).all() and back.dtype == theirs.dtype
    assert np.shares_memory(np.from_dlpack(ours), back) or not theirs.size


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_each_shared_dtype_goes_both_ways(name: str) -> None:
    """numpy -> ours -> numpy by the array interface and by DLPack keeps the dtype and the bytes."""
    theirs = np.array([0, 1, 1], name)
    ours = cf.asarray(theirs)
    assert ours.dtype is dtype_of(name)
    for back in (np.asarray(ours), np.from_dlpack(ours), np.asarray(cf.from_dlpack(theirs)), np.array(ours, copy=True)):
        assert back.dtype == theirs.dtype and back.tobytes() == theirs.tobytes()


def test_array_converts_on_request() -> None:
    """__array__ gives another numpy dtype as a copy, and refuses one where no copy is allowed."""
    ours = cf.from_values(cf.int32, [2], [1, 2])
    assert ours.__array__(np.float64).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError):
        ours.__array__(np.float64, copy=False)


@pytest.mark.parametrize(
    ("theirs", "rule"),
    [
        (np.zeros(2, ">f4"), "arrays/format-mismatch"),
        (np.zeros(2, "M8[s]"), "arrays/no-format"),
        (np.zeros(2, object), "arrays/no-format"),
        (np.zeros(2, [("a", "i1"), ("b", "f4")])["b"], "arrays/misaligned"),
        (np.zeros(9, "u1")[1:].view("f8"), "arrays/misaligned"),
        (np.zeros([1] * 33), "layouts/rank"),
        ([1, 2, 3], "arguments/wrong-type"),
        ("text", "arguments/wrong-type"),
        (None, "arguments/wrong-type"),
    ],
)
def test_what_cannot_be_shared_is_refused(theirs: Any, rule: str) -> None:
    """Foreign byte order, unknown formats, odd strides and addresses, and what would need a copy."""
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.asarray(theirs)
    assert caught.value.rule == rule


def test_read_only_memory_stays_read_only_both_ways() -> None:
    """Read-only numpy memory is Read memory; Read memory is read-only in numpy, in DLPack and in its capsule's flag."""
    theirs = np.arange(3.0)
    theirs.flags.writeable = False
    ours = cf.asarray(theirs)
    assert ours.buffer.access is cf.Access.READ
    with pytest.raises(cf.InvalidArgument, match="read-only"):
        ours.set([0], 1.0)
    assert not np.asarray(ours).flags.writeable and not np.from_dlpack(ours).flags.writeable
    assert cf.from_dlpack(ours).buffer.access is cf.Access.READ
    with pytest.raises(BufferError):
        ours.__dlpack__()  # the unversioned capsule cannot say it


def test_every_way_out_is_an_export() -> None:
    """After any of them the memory is never exclusive again."""
    ways = (np.asarray, np.from_dlpack, cf.from_dlpack, lambda x: x.__array__(), lambda x: x.export())
    for way in ways:
        ours = cf.from_values(cf.float64, [2], [1.0, 2.0])
        kept = way(ours)
        with cf.claims(donate=[ours.buffer]) as held:
            assert not held.exclusive(ours.buffer)
        assert kept is not None and ours.buffer.claims == (0, False, True)


def test_refusals_of_the_ways_out() -> None:
    """Off-host, dead and formatless arrays are refused by every protocol, naming it."""
    device = cf.simulated("gpu", addressable=True)
    away, dead, nibbles = cf.empty(device, cf.float32, [2]), cf.host_array(cf.float32, [2]), cf.host_array(cf.int4, [2])
    dead.buffer.free("freed")
    for array, rule in ((away, "arrays/not-on-host"), (dead, "memory/dead"), (nibbles, "arrays/no-format")):
        for function in ("__array__", "__dlpack__"):
            with pytest.raises(cf.InvalidArgument) as caught:
                getattr(array, function)()
            assert caught.value.rule == rule and caught.value.subjects["function"] == function
        with pytest.raises(cf.InvalidArgument) as caught:
            np.asarray(array)
        assert caught.value.rule == rule
    with pytest.raises(cf.InvalidArgument):
        away.__dlpack_device__()
    assert nibbles.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", [cf.bfloat16, cf.float8_e4m3fn, cf.float8_e5m2], ids=lambda dtype: str(dtype.name))
def test_formats_numpy_lacks_go_through_dlpack(dtype: Any) -> None:
    """A capsule names bfloat16 and the float8 formats by DLPack's own codes, over the same bytes."""
    ours = cf.from_values(dtype, [2, 2], [1.0, 2.0, -0.5, 0.0])
    back = cf.from_dlpack(ours[::-1])
    assert back.dtype is dtype and back.to_values() == [-0.5, 0.0, 1.0, 2.0]
    back.set([0, 0], 4.0)
    assert ours.to_values() == [1.0, 2.0, 4.0, 0.0]


# --- capsules made by hand -------------------------------------------------------------------------------------------

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))


class Producer:
    """Offers a float32 [2, 3] tensor with negative strides by a capsule made here, and counts calls of its deleter."""

    def __init__(self, **changes: Any) -> None:
        self.deleted = 0
        self.memory = (ctypes.c_float * 6)(*range(6))
        self.shape, self.strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(-3, 1)
        self.deleter = dlpack._DELETER(self.delete)
        self.managed = dlpack._Versioned(major=1, minor=1, flags=0)
        self.managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)
        tensor = self.managed.tensor
        tensor.data, tensor.byte_offset = ctypes.addressof(self.memory), 12
        tensor.device.kind, tensor.ndim = 1, 2
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = 2, 32, 1
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        owners = {"bits": tensor.dtype, "lanes": tensor.dtype, "kind": tensor.device}
        owners |= {"ndim": tensor, "byte_offset": tensor}
        for name, value in changes.items():
            setattr(owners.get(name, self.managed), name, value)
        self.capsule = _new(ctypes.addressof(self.managed), b"dltensor_versioned", None)

    def delete(self, managed: int) -> None:
        self.deleted += 1

    def __dlpack__(self, max_version: Any = None) -> Any:
        return self.capsule


@pytest.fixture
def collected() -> Iterator[None]:
    """Garbage of earlier tests is gone before, and ours after."""
    gc.collect()
    yield
    gc.collect()


def test_a_taken_capsule_is_deleted_once(collected: None) -> None:
    """The deleter runs once, when the last view of the memory is gone, and the capsule's name says it was used."""
    producer = Producer()
    array = cf.from_dlpack(producer)
    assert array.to_values() == [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]
    assert _name_of(producer.capsule) == b"used_dltensor_versioned"
    row = array[0]
    del array
    assert producer.deleted == 0 and row.to_values() == [3.0, 4.0, 5.0]
    del row
    assert producer.deleted == 1


@pytest.mark.parametrize(
    "changes", [{"major": 2}, {"bits": 24}, {"lanes": 4}, {"kind": 2}, {"ndim": 40}, {"byte_offset": 13}], ids=str
)
def test_a_refused_capsule_stays_the_producers(changes: dict[str, int], collected: None) -> None:
    """Another version, format or device, a rank past the limit, an odd address: refused, the deleter not called."""
    producer = Producer(**changes)
    with pytest.raises(cf.InvalidArgument):
        cf.from_dlpack(producer)
    assert _name_of(producer.capsule) == b"dltensor_versioned" and producer.deleted == 0


def test_a_capsules_read_only_flag_is_kept(collected: None) -> None:
    """The read-only bit gives Read memory."""
    assert cf.from_dlpack(Producer(flags=1)).buffer.access is cf.Access.READ


@pytest.mark.parametrize("taken", [False, True])
def test_our_capsule_gives_its_memory_back_once(taken: bool, collected: None) -> None:
    """The memory of an exported array lives until the capsule, or what took it, is gone; and then no longer."""
    before = cf.inspection.live_bytes(cf.host())
    array = cf.host_array(cf.float32, [1000])
    capsule: Any = array.__dlpack__(max_version=(1, 1))
    kept = np.from_dlpack(Holder(capsule)) if taken else capsule
    del array, capsule
    assert cf.inspection.live_bytes(cf.host()) == before + 4000
    del kept
    gc.collect()
    assert cf.inspection.live_bytes(cf.host()) == before


class Holder:
    """Hands one capsule on."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
