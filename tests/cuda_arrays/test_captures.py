"""Captures of others: what a device is asked and given meanwhile neither fails nor spoils them."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from tests.cuda_arrays.drawing import bytes_to, raw

import counterfoil as cf
from counterfoil.cuda.device import Cuda

GLOBAL = 0


class Capture:
    """Another library's, in the mode that forbids every thread what is not captured."""

    def __init__(self, device: Cuda) -> None:
        self.driver, self.stream, self.result = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), -1
        self.context = ctypes.c_void_p(device.primary.handle)

    def __enter__(self) -> Capture:
        assert self.driver.cuCtxPushCurrent_v2(self.context) == 0
        assert self.driver.cuStreamCreate(ctypes.byref(self.stream), 1) == 0
        assert self.driver.cuStreamBeginCapture_v2(self.stream, GLOBAL) == 0
        return self

    def __exit__(self, *raised: Any) -> None:
        graph = ctypes.c_void_p()
        self.result = self.driver.cuStreamEndCapture(self.stream, ctypes.byref(graph))
        if graph.value is not None:
            self.driver.cuGraphDestroy(graph)
        self.driver.cuStreamDestroy_v2(self.stream)
        self.driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def use(device: Cuda) -> bytes:
    """Fresh memory, work, questions and waits, a kernel that was not loaded, memory given back."""
    buffer = bytes_to(device, bytes(100))
    cf.submit_fill(buffer, 3)
    array = cf.Array(cf.uint8, cf.Layout.contiguous((100,)), buffer)
    doubled = array + array
    assert device.reached <= device.submitted
    device.advance(1 << 40)
    device.pool.trim()
    return raw(doubled.buffer)


def test_a_capture_of_the_same_thread_goes_on(device: Cuda) -> None:
    """The caller is capturing on a stream of its own."""
    with Capture(device) as capture:
        seen = use(device)
    assert (capture.result, seen) == (0, b"\x06" * 100)


def test_a_capture_of_another_thread_goes_on(device: Cuda) -> None:
    """Work of this thread, while another library captures in its."""
    begun, used = threading.Event(), threading.Event()
    results: list[int] = []

    def record() -> None:
        with Capture(device) as capture:
            begun.set()
            used.wait(60)
        results.append(capture.result)

    other = threading.Thread(target=record)
    other.start()
    begun.wait(60)
    try:
        seen = use(device)
    finally:
        used.set()
        other.join(60)
    assert (results, seen) == ([0], b"\x06" * 100)


def test_a_thread_gets_its_mode_back(device: Cuda) -> None:
    """What it is forbidden outside is what it was before, also after blocks within blocks."""
    driver = ctypes.CDLL("libcuda.so.1")
    mode = ctypes.c_int(1)
    assert driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0
    with device.current(), device.current():
        pass
    assert driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0
    assert mode.value == 1
