"""Streams, events and the legacy stream: the orders that CUDA promises, and that no other order is there."""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, LIBRARY, NON_BLOCKING, Device, call, pinned, to_device, to_host

SCALE = 'extern "C" __global__ void scale(int *a, int n, int by) { if (threadIdx.x < n) a[threadIdx.x] *= by; }'
SEEDS = range(40)
Scene = Callable[[], int]


def produced_and_read(order: Callable[[Any, Any], None], flags: int = NON_BLOCKING) -> int:
    """What a reader on one stream sees of a producer on another, with what `order` puts between them."""
    producer, reader = cuda.Stream(flags), cuda.Stream(flags)
    value, seen = to_device(np.zeros(1, "i4")), pinned(np.full(1, -1, "i4"))
    cuda.memset_d32_async(value, 1, 1, producer)
    order(producer, reader)
    cuda.memcpy_dtoh_async(seen, value, reader)
    reader.synchronize()
    producer.synchronize()
    return int(seen[0])


def over_seeds(scene: Scene) -> set[int]:
    """What a scene answers in shuffled mode, over many seeds."""
    answers = set()
    for seed in SEEDS:
        EMULATOR.configure(f"mode=shuffled seed={seed}")
        answers.add(scene())
    return answers


def nothing(producer: Any, reader: Any) -> None:
    """No order."""


def with_event(producer: Any, reader: Any) -> None:
    """The reader waits for an event of the producer's."""
    reader.wait_for_event(cuda.Event().record(producer))


def through_the_legacy_stream(producer: Any, reader: Any) -> None:
    """Something on the legacy stream lies between."""
    cuda.memset_d8(through_the_legacy_stream.allocation, 0, 1)  # type: ignore[attr-defined]


def test_a_reader_without_a_wait_may_be_early(device: Device) -> None:
    """Without a wait, some orders show the reader old data and some the new."""
    assert over_seeds(lambda: produced_and_read(nothing)) == {0, 1}


def test_a_reader_without_a_wait_is_early_when_lazy(device: Device) -> None:
    """In lazy mode, a reader that was not told to wait sees old data, always."""
    EMULATOR.configure("mode=lazy")
    assert {produced_and_read(nothing) for _ in range(5)} == {0}


def test_a_reader_that_waits_is_right(any_mode: Device) -> None:
    """A wait on the producer's event orders the reader after it."""
    assert produced_and_read(with_event) == 1


def test_a_reader_that_waits_is_right_in_every_order(device: Device) -> None:
    """No order that is tried breaks a wait."""
    assert over_seeds(lambda: produced_and_read(with_event)) == {1}


def test_the_legacy_stream_orders_blocking_streams(device: Device) -> None:
    """Work on the legacy stream comes after what blocking streams were given, and before what they are given later."""
    through_the_legacy_stream.allocation = cuda.mem_alloc(1)  # type: ignore[attr-defined]
    assert over_seeds(lambda: produced_and_read(through_the_legacy_stream, flags=0)) == {1}


def test_the_legacy_stream_leaves_other_streams_alone(device: Device) -> None:
    """Streams made NON_BLOCKING are in no order with the legacy stream."""
    through_the_legacy_stream.allocation = cuda.mem_alloc(1)  # type: ignore[attr-defined]
    assert over_seeds(lambda: produced_and_read(through_the_legacy_stream)) == {0, 1}


def test_one_stream_keeps_its_order(device: Device) -> None:
    """Kernels of one stream run in the order in which they were launched."""
    scale = device.kernel(SCALE, "scale")
    add = device.kernel('extern "C" __global__ void add(int *a, int by) { *a += by; }', "add")

    def scene() -> int:
        value, stream = to_device(np.ones(1, "i4")), cuda.Stream(NON_BLOCKING)
        for by in (3, 5, 7):
            scale(value, np.int32(1), np.int32(by), block=(1, 1, 1), stream=stream)
            add(value, np.int32(by), block=(1, 1, 1), stream=stream)
        stream.synchronize()
        return int(to_host(value, 1, "i4")[0])

    assert over_seeds(scene) == {((1 * 3 + 3) * 5 + 5) * 7 + 7}


def test_a_wait_is_for_the_record_it_saw(device: Device) -> None:
    """Recording an event again does not move a wait that was made before."""
    EMULATOR.configure("mode=lazy")
    first, second, reader = (cuda.Stream(NON_BLOCKING) for _ in range(3))
    value, seen = to_device(np.zeros(2, "i4")), pinned(np.full(2, -1, "i4"))
    event = cuda.Event()
    cuda.memset_d32_async(value, 1, 1, first)
    event.record(first)
    reader.wait_for_event(event)
    cuda.memset_d32_async(int(value) + 4, 1, 1, second)
    event.record(second)
    cuda.memcpy_dtoh_async(seen, value, reader)
    reader.synchronize()
    assert seen.tolist() == [1, 0]


def test_a_wait_on_an_event_never_recorded_is_none(device: Device) -> None:
    """An event that was not recorded is reached already."""
    event = cuda.Event()
    cuda.Stream().wait_for_event(event)
    assert event.query()


def test_queries_make_no_progress(device: Device) -> None:
    """In lazy mode, asking does nothing; but a program that asks again and again gets there."""
    EMULATOR.configure("mode=lazy")
    stream, value = cuda.Stream(), cuda.mem_alloc(4)
    cuda.memset_d32_async(value, 1, 1, stream)
    event = cuda.Event().record(stream)
    assert not any(event.query() for _ in range(60))
    assert any(event.query() for _ in range(200))


def test_a_wait_runs_no_more_than_it_must(device: Device) -> None:
    """In lazy mode, a wait for one stream leaves what others were given."""
    EMULATOR.configure("mode=lazy")
    streams = [cuda.Stream(NON_BLOCKING) for _ in range(2)]
    value = cuda.mem_alloc(4)
    for stream in streams:
        cuda.memset_d32_async(value, 1, 1, stream)
    streams[0].synchronize()
    assert ([stream.is_done() for stream in streams], EMULATOR.pending()) == ([True, False], 1)


def test_a_context_waits_for_all_its_streams(any_mode: Device) -> None:
    """After the context is synchronised nothing of it is queued."""
    streams, value = [cuda.Stream(flags) for flags in (0, NON_BLOCKING)], cuda.mem_alloc(4)
    for stream in streams:
        cuda.memset_d32_async(value, 1, 1, stream)
    cuda.Context.synchronize()
    assert ([stream.is_done() for stream in streams], EMULATOR.pending()) == ([True, True], 0)


def test_work_of_a_destroyed_stream_goes_on(device: Device) -> None:
    """Destroying a stream neither waits for its work nor forgets it."""
    EMULATOR.configure("mode=lazy")
    stream, value = cuda.Stream(), to_device(np.zeros(1, "i4"))
    cuda.memset_d32_async(value, 6, 1, stream)
    del stream
    assert EMULATOR.pending() == 1
    assert to_host(value, 1, "i4").tolist() == [6]


def test_events_order_devices(device: Device) -> None:
    """A stream of one device waits for an event of another."""
    EMULATOR.configure("mode=lazy across=plain")
    value, stream = to_device(np.zeros(1, "i4")), cuda.Stream(NON_BLOCKING)
    cuda.memset_d32_async(value, 1, 1, stream)
    event = cuda.Event().record(stream)
    other = Device(1)
    reader, seen = cuda.Stream(NON_BLOCKING), pinned(np.full(1, -1, "i4"))
    reader.wait_for_event(event)
    cuda.memcpy_dtoh_async(seen, value, reader)
    reader.synchronize()
    answer = int(seen[0])
    del reader, seen
    other.close()
    assert answer == 1


def test_an_event_belongs_to_its_context(device: Device) -> None:
    """An event is recorded in streams of the context that made it, and in no others."""
    event = cuda.Event()
    other = Device(1)
    with pytest.raises(cuda.LogicError, match="invalid resource handle"):
        event.record(cuda.Stream())
    other.close()


def test_time_goes_forward(any_mode: Device) -> None:
    """The time between two events of a stream is not negative."""
    start, end, value = cuda.Event(), cuda.Event(), cuda.mem_alloc(1 << 16)
    start.record()
    cuda.memset_d8_async(value, 1, 1 << 16, None)
    end.record()
    end.synchronize()
    assert start.time_till(end) >= 0


def test_no_time_without_timing(device: Device) -> None:
    """Events that were made without timing have no time between them."""
    events = [cuda.Event(cuda.event_flags.DISABLE_TIMING).record() for _ in range(2)]
    with pytest.raises(cuda.LogicError, match="invalid resource handle"):
        events[0].time_till(events[1])


def test_callbacks_run_in_their_place(any_mode: Device) -> None:
    """A function of the host runs after what its stream was given before, and may not call the driver."""
    seen: list[int] = []
    value, stream = pinned(np.zeros(1, "i4")), cuda.Stream()
    source = to_device(np.full(1, 8, "i4"))

    def look(argument: int) -> None:
        seen.extend([int(value[0]), LIBRARY.cuCtxSynchronize()])

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(look)

    cuda.memcpy_dtoh_async(value, source, stream)
    assert call("cuLaunchHostFunc", ctypes.c_void_p(stream.handle), callback, None) == 0
    stream.synchronize()
    assert seen == [8, 800]


def test_a_launch_does_not_wait_for_a_callback(device: Device) -> None:
    """While a callback of one thread runs, another thread queues work behind it and goes on."""
    inside, leave = threading.Event(), threading.Event()
    stream, value = cuda.Stream(NON_BLOCKING), to_device(np.zeros(1, "i4"))

    def hold(argument: int) -> None:
        inside.set()
        leave.wait(10)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(hold)

    def launch() -> None:
        assert call("cuCtxPushCurrent_v2", ctypes.c_void_p(device.context.handle)) == 0
        assert call("cuLaunchHostFunc", ctypes.c_void_p(stream.handle), callback, None) == 0

    thread = threading.Thread(target=launch)
    thread.start()
    assert inside.wait(10)
    cuda.memset_d32_async(value, 4, 1, stream)
    early = stream.is_done()
    leave.set()
    thread.join()
    stream.synchronize()
    assert (early, to_host(value, 1, "i4")[0]) == (False, 4)


def test_a_seed_is_an_order(device: Device) -> None:
    """The same calls after the same seed run in the same order, and other seeds give others."""

    def history(seed: int) -> list[int]:
        EMULATOR.configure(f"mode=shuffled seed={seed}")
        return [produced_and_read(nothing) for _ in range(30)]

    histories = [history(seed) for seed in range(5)]
    assert [history(seed) for seed in range(5)] == histories
    assert len({tuple(one) for one in histories}) > 1
