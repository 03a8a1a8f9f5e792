"""Contexts: one stack for each thread, primary contexts that are counted, devices and their properties."""

import ctypes
import threading
from collections.abc import Callable

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, Device, call, run_python, to_device, to_host


def current() -> int:
    """The handle of the current context; 0 when there is none."""
    handle = ctypes.c_void_p()
    assert call("cuCtxGetCurrent", ctypes.byref(handle)) == 0
    return handle.value or 0


def in_a_thread(work: Callable[[], object]) -> object:
    """What a function answers in a thread of its own."""
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join()
    return answers[0]


def test_threads_have_stacks_of_their_own(device: Device) -> None:
    """What is current in one thread is not in another."""
    assert (current(), in_a_thread(current)) == (device.context.handle, 0)


def test_no_context_no_work(device: Device) -> None:
    """A thread without a context allocates nothing."""
    pointer = ctypes.c_uint64()
    assert in_a_thread(lambda: call("cuMemAlloc_v2", ctypes.byref(pointer), 16)) == 201


def test_contexts_are_pushed_and_popped(device: Device) -> None:
    """A pushed context is current until it is popped, and then the one below is again."""
    first = current()
    other = Device(1)
    second = current()
    other.close()
    assert (first != second, current()) == (True, first)


def test_primary_contexts_are_counted(device: Device) -> None:
    """All who retain a device's primary context get the same one, and the last release ends it."""
    handles = [ctypes.c_void_p() for _ in range(3)]
    for handle in handles[:2]:
        assert call("cuDevicePrimaryCtxRetain", ctypes.byref(handle), 1) == 0
    assert [call("cuDevicePrimaryCtxRelease_v2", 1) for _ in range(3)] == [0, 0, 201]
    assert call("cuDevicePrimaryCtxRetain", ctypes.byref(handles[2]), 1) == 0
    assert call("cuDevicePrimaryCtxRelease_v2", 1) == 0
    assert (handles[0].value == handles[1].value, handles[1].value == handles[2].value) == (True, False)


def test_many_threads_work_at_once(any_mode: Device) -> None:
    """Threads that share a primary context, each with its own stream, all get their own answers."""
    context = cuda.Device(0).retain_primary_context()

    def work(number: int) -> bool:
        assert call("cuCtxPushCurrent_v2", ctypes.c_void_p(context.handle)) == 0
        right = True
        for turn in range(20):
            pointer, value = ctypes.c_uint64(), (ctypes.c_uint32 * 64)()
            assert call("cuMemAlloc_v2", ctypes.byref(pointer), 256) == 0
            assert call("cuMemsetD32_v2", pointer, number * 1000 + turn, 64) == 0
            assert call("cuMemcpyDtoH_v2", value, pointer, 256) == 0
            assert call("cuMemFree_v2", pointer) == 0
            right &= set(value) == {number * 1000 + turn}
        assert call("cuCtxPopCurrent_v2", None) == 0
        return right

    answers: list[bool] = []
    threads = [threading.Thread(target=lambda n=n: answers.append(work(n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    context.detach()
    assert answers == [True] * 4


def test_a_context_takes_its_objects_with_it(device: Device) -> None:
    """Streams and events of a context that ended are not there any more."""
    before = EMULATOR.live_objects()
    other = Device(1)
    handles = [ctypes.c_void_p() for _ in range(2)]
    assert call("cuStreamCreate", ctypes.byref(handles[0]), 0) == 0
    assert call("cuEventCreate", ctypes.byref(handles[1]), 0) == 0
    during = EMULATOR.live_objects()
    other.close()
    assert (during, EMULATOR.live_objects()) == (before + 2, before)


def test_a_context_that_ended_is_no_context(device: Device) -> None:
    """A handle of a context that was destroyed cannot be pushed."""
    handle = ctypes.c_void_p()
    assert call("cuCtxCreate_v4", ctypes.byref(handle), None, 0, 1) == 0
    assert [call("cuCtxDestroy_v2", handle), call("cuCtxPushCurrent_v2", handle)] == [0, 201]
    assert current() == device.context.handle


def test_a_device_says_what_it_is(device: Device) -> None:
    """Name, architecture, warp size and limits are those documented."""
    made = cuda.Device(0)
    attribute = cuda.device_attribute
    wanted = {attribute.WARP_SIZE: 32, attribute.MAX_THREADS_PER_BLOCK: 1024, attribute.MAX_GRID_DIM_Y: 65535}
    assert made.compute_capability() == (9, 0)
    assert {one: made.get_attribute(one) for one in wanted} == wanted
    assert "Emulated" in made.name()


def test_every_attribute_has_an_answer(device: Device) -> None:
    """PyCUDA can ask for all attributes that it knows."""
    assert len(cuda.Device(0).get_attributes()) > 80


@pytest.mark.parametrize(("devices", "answer"), [("1", "1"), ("3", "3"), ("0", "no CUDA-capable device is detected")])
def test_the_number_of_devices_is_set(devices: str, answer: str) -> None:
    """EMUCUDA_DEVICES says how many there are; none is an error of cuInit."""
    program = "import pycuda.driver as d\ntry:\n d.init(); print(d.Device.count())\nexcept d.Error as e: print(e)"
    assert answer in run_python(program, EMUCUDA_DEVICES=devices).stdout


def test_a_driver_that_fails_says_so() -> None:
    """A failure planned for cuInit is what the program sees."""
    program = "import pycuda.driver as d\ntry:\n d.init()\nexcept d.Error as e: print(e)"
    assert "unknown error" in run_python(program, EMUCUDA_FAIL="cuInit:1=999").stdout


def test_memory_is_set(device: Device) -> None:
    """EMUCUDA_MEMORY is what every device has."""
    program = "import pycuda.driver as d; d.init(); print([d.Device(i).total_memory() for i in range(2)])"
    assert run_python(program, EMUCUDA_MEMORY="64M").stdout.strip() == str([64 << 20] * 2)


def test_a_setting_that_means_nothing_is_refused(device: Device) -> None:
    """Settings are applied word by word up to the first that means nothing."""
    assert call("emucuda_configure", b"mode=sideways") == -1
    assert call("emucuda_configure", b"mode=lazy") == 0


def test_peers(device: Device) -> None:
    """Devices reach each other, and access is enabled once."""
    other = Device(1)
    device.context.push()
    assert cuda.Device(0).can_access_peer(cuda.Device(1))
    device.context.enable_peer_access(other.context)
    with pytest.raises(cuda.LogicError, match="already enabled"):
        device.context.enable_peer_access(other.context)
    device.context.pop()
    other.close()


def test_calls_are_counted(device: Device) -> None:
    """The number of calls of an entry point is known, versions together."""
    before = EMULATOR.calls("cuMemcpyDtoH")
    to_host(to_device(np.zeros(1)), 1, "f8")
    assert EMULATOR.calls("cuMemcpyDtoH") == before + 1
