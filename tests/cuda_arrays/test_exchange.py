"""CUDA memory shared with other libraries, both ways, in order without a wait of the host's."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pycuda.driver
import pytest
from tests.cuda_arrays.drawing import bytes_to, elements, raw
from tests.cuda_arrays.emulated import EMULATED

import counterfoil as cf
from counterfoil import dlpack
from counterfoil.cuda.device import Cuda, pointer


class Consumer:
    """Another user of PyCUDA on the same device, with a stream of its own."""

    def __init__(self, device: Cuda) -> None:
        self.device = device
        with device.current():
            self.stream = pycuda.driver.Stream(1)

    @property
    def handle(self) -> int:
        return int(self.stream.handle)

    def fetch(self, address: int, nbytes: int) -> bytes:
        """Bytes of the device, in order on the stream."""
        data = bytearray(nbytes)
        with self.device.current():
            pycuda.driver.memcpy_dtoh_async(data, address, self.stream)
            self.stream.synchronize()
        return bytes(data)

    def finish(self) -> None:
        """Wait for everything on the stream."""
        with self.device.current():
            self.stream.synchronize()

    def store(self, address: int, byte: int, nbytes: int) -> None:
        """A byte everywhere, in order on the stream."""
        with self.device.current():
            pycuda.driver.memset_d8_async(address, byte, nbytes, self.stream)


class Producer:
    """An object that hands out memory of the device on a stream of its own, one way or the other."""

    def __init__(self, consumer: Consumer, array: Any) -> None:
        self.consumer, self.array = consumer, array
        self.asked: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.consumer.device.ordinal)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.asked.append(stream)
        return self.array.__dlpack__(stream=stream, max_version=max_version)


class Described:
    """An object with ``__cuda_array_interface__`` alone."""

    def __init__(self, **said: Any) -> None:
        self.said = said

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.said


@pytest.fixture
def consumer(device: Cuda) -> Consumer:
    """A second user of the device."""
    return Consumer(device)


def test_a_consumers_stream_follows_the_devices_work(device: Cuda, consumer: Consumer) -> None:
    """What was queued before the export is done before what the consumer enqueues after it."""
    array = cf.from_values(cf.int32, (6,), range(6)).to_device(device)
    cf.submit_fill(array.buffer, 1)
    array.__dlpack__(stream=consumer.handle)
    assert consumer.fetch(pointer(array.buffer), 24) == b"\x01" * 24


def test_the_interface_names_the_stream_that_has_the_work(device: Cuda, consumer: Consumer) -> None:
    """A consumer that lets its stream follow the one named sees the work of every device done."""
    array = cf.from_values(cf.int32, (2, 3), range(6)).to_device(device)
    said = array.move(cf.Permute((1, 0))).__cuda_array_interface__
    assert said["shape"] == (3, 2) and said["strides"] == (4, 12) and said["typestr"] == "<i4" and said["version"] == 3
    assert said["stream"] == device.handle and said["data"] == (pointer(array.buffer), False)
    cf.submit_fill(array.buffer, 2)
    with device.current():
        device.timeline.raw.synchronize()
    assert consumer.fetch(said["data"][0], 24) == b"\x02" * 24
    assert array.__cuda_array_interface__["strides"] is None


def test_foreign_memory_comes_in_after_its_producers_work(device: Cuda, consumer: Consumer) -> None:
    """The producer is told the device's stream, and what it had queued is done before the device's work."""
    theirs = cf.from_values(cf.uint8, (8,), range(8)).to_device(device)
    producer = Producer(consumer, theirs)
    ours = cf.from_dlpack(producer)
    assert producer.asked == [device.handle] and ours.device is device and ours.buffer.claims[2]
    assert pointer(ours.buffer) == pointer(theirs.buffer) and elements(ours) == list(range(8))


def test_a_named_stream_is_followed(device: Cuda, consumer: Consumer) -> None:
    """__cuda_array_interface__ with a stream: the device's stream waits for what is there."""
    memory = bytes_to(device, bytes(16))
    consumer.store(pointer(memory), 5, 16)
    said = Described(
        shape=(4, 2), typestr="<i2", data=(pointer(memory), False), strides=(2, 8), version=3, stream=consumer.handle
    )
    ours = cf.asarray(said)
    assert ours.shape == (4, 2) and ours.dtype is cf.int16 and elements(ours) == [0x0505] * 8


def test_both_ways_are_exports(device: Cuda) -> None:
    """Memory that was handed out is never held exclusive again."""
    for way in (lambda x: x.__dlpack__(stream=-1), lambda x: x.__cuda_array_interface__, cf.from_dlpack):
        array = cf.from_values(cf.int8, (3,), [1, 2, 3]).to_device(device)
        way(array)
        assert array.buffer.claims[2]


def test_pinned_memory_is_host_memory_to_numpy(device: Cuda) -> None:
    """numpy takes PINNED memory as it is, after the work on it."""
    buffer = bytes_to(device, bytes(8), cf.MemoryKind.PINNED)
    array = cf.Array(cf.int16, cf.Layout.contiguous((4,)), buffer)
    assert array.__dlpack_device__() == (3, 0)
    cf.submit_fill(buffer, 1)
    theirs = np.from_dlpack(array)
    assert theirs.tolist() == [0x0101] * 4
    theirs[2] = 7
    assert array.get((2,)) == 7
    again = cf.from_dlpack(array)
    assert again.device is device and again.to_values() == [0x0101, 0x0101, 7, 0x0101]


def test_foreign_memory_is_let_go_of_once_its_work_is_done(device: Cuda, consumer: Consumer) -> None:
    """The producer's memory is kept by the array, its views and pending work, no longer."""
    theirs = cf.from_values(cf.uint8, (8,), range(8)).to_device(device)
    gone = weakref.ref(theirs.buffer.memory)
    ours = cf.from_dlpack(theirs)
    view = ours[2:]
    del theirs, ours
    gc.collect()
    assert gone() is not None and elements(view) == [2, 3, 4, 5, 6, 7]
    del view
    device.advance(1 << 20)
    gc.collect()
    assert gone() is None


def test_memory_others_had_is_not_used_again(device: Cuda, consumer: Consumer) -> None:
    """What a consumer still does to memory it had, nobody else's memory shows."""
    array = cf.empty(device, cf.uint8, (5000,))
    where = pointer(array.buffer)
    capsule = array.__dlpack__(stream=consumer.handle)
    consumer.store(where, 3, 5000)
    del array, capsule
    gc.collect()
    fresh = bytes_to(device, bytes(5000))
    consumer.finish()
    assert raw(fresh) == bytes(5000)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "bool", "complex64", "float64"])
def test_dtypes_go_through_dlpack(device: Cuda, name: str) -> None:
    """Also those that numpy lacks, in any strides."""
    dtype = cf.Dtype.of_name(name)
    values = [True, False, False, True] if dtype is cf.bool_ else [1, 0, 0, 1]
    array = cf.from_values(dtype, (2, 2), values).to_device(device).move(cf.Permute((1, 0)))
    back = cf.from_dlpack(array)
    assert back.dtype is dtype and back.layout.strides == array.layout.strides and elements(back) == elements(array)


def test_another_device_is_a_copy_on_the_host_or_refused(device: Cuda) -> None:
    """dl_device: the host by a copy unless that is forbidden; any other device is a BufferError."""
    array = cf.from_values(cf.int8, (2,), [5, 6]).to_device(device)
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(2, 7))

    class OnHost:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **asked: Any) -> Any:
            return array.__dlpack__(**asked | {"dl_device": (1, 0)})

    assert np.from_dlpack(OnHost()).tolist() == [5, 6]


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda x: x.__dlpack__(stream=0), "arguments/wrong-type"),
        (lambda x: x.__dlpack__(stream=-2), "arguments/wrong-type"),
        (lambda x: cf.empty(x.device, cf.int4, (3,)).__dlpack__(), "arrays/no-format"),
        (lambda x: cf.empty(x.device, cf.bfloat16, (3,)).__cuda_array_interface__, "arrays/no-format"),
        (
            lambda x: cf.asarray(Described(shape=(1,), typestr="|u1", data=(1, False), version=3)),
            "arguments/wrong-type",
        ),
    ],
)
def test_what_is_refused(device: Cuda, call: Any, rule: str) -> None:
    """Streams that are none, dtypes without a name there, addresses of no device."""
    with pytest.raises(cf.InvalidArgument) as caught:
        call(cf.empty(device, cf.int8, (3,)))
    assert caught.value.rule == rule


def test_arrays_of_the_host_have_no_cuda_interface() -> None:
    """So that libraries which ask do not take them for the device's."""
    assert not hasattr(cf.host_array(cf.int8, (2,)), "__cuda_array_interface__")


def test_page_locked_memory_has_the_hosts_address_to_dlpack(device: Cuda) -> None:
    """And the device's to __cuda_array_interface__: of MAPPED memory they may differ. It comes back with both."""
    buffer = bytes_to(device, bytes(range(8)), cf.MemoryKind.MAPPED)
    array = cf.Array(cf.uint8, cf.Layout.contiguous((8,)), buffer)
    theirs = np.from_dlpack(array)
    assert theirs.tolist() == list(range(8))
    assert array.__cuda_array_interface__["data"][0] == pointer(buffer)
    assert not EMULATED or pointer(buffer) != theirs.ctypes.data
    back = cf.from_dlpack(array)
    assert back.to_values() == list(range(8)) and pointer(back.buffer) == pointer(buffer)
    there = device.buffer(8)
    cf.submit_copy(back.buffer, there)
    assert raw(there) == bytes(range(8))


def test_page_locked_memory_that_is_none_is_refused(device: Cuda) -> None:
    """A producer that says so of pages that no driver knows."""
    values = np.arange(3, dtype=np.int8)

    class Lying:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (3, 0)

        def __dlpack__(self, **asked: Any) -> Any:
            capsule = values.__dlpack__(max_version=(1, 0))
            dlpack.place(capsule, 3, 0)
            return capsule

    with pytest.raises(cf.InvalidArgument) as caught:
        cf.from_dlpack(Lying())
    assert caught.value.rule == "arguments/wrong-type"
