"""Our arrays on the device, and the driver's own copies and launches as probes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import counterfoil as cf
from benchmarks.measure import Work
from counterfoil.cuda import compiler

GENERATOR = np.random.default_rng(0)


def on_device(array: np.ndarray[Any, Any]) -> Any:
    """Our array on device 0 with those elements."""
    return cf.asarray(array).to_device(cf.cuda(0))


def empty(dtype: cf.Dtype, shape: Sequence[int]) -> Any:
    """Our array on device 0."""
    return cf.empty(cf.cuda(0), dtype, tuple(shape), cf.MemoryKind.DEVICE)


def waited(call: Callable[[], Any], written: Any) -> Work:
    """A call of a kernel, then a wait for what it wrote; a call that is not done is no measurement."""

    def work() -> None:
        answer = call()
        if answer is not None and answer is not cf.Answer.DONE:
            raise RuntimeError(f"the kernel answered {answer.name}")
        written.buffer.wait(cf.Access.READ)

    return work


def driver_copy(nbytes: int) -> Work:
    """The driver's own device-to-device copy of that many bytes, waited for: it reads and writes each."""
    from pycuda import driver

    device = cf.cuda(0)
    with device.current():
        source, target = driver.mem_alloc(nbytes), driver.mem_alloc(nbytes)
        stream = driver.Stream()

    def work() -> None:
        with device.current():
            driver.memcpy_dtod_async(target, source, nbytes, stream)
            stream.synchronize()

    return work


def driver_host_copy(nbytes: int, to_device: bool) -> Work:
    """The driver's own copy between pinned host memory and the device, waited for."""
    from pycuda import driver

    device = cf.cuda(0)
    with device.current():
        memory, stream = driver.mem_alloc(nbytes), driver.Stream()
        host = driver.pagelocked_empty(nbytes, np.uint8)

    def work() -> None:
        with device.current():
            if to_device:
                driver.memcpy_htod_async(memory, host, stream)
            else:
                driver.memcpy_dtoh_async(host, memory, stream)
            stream.synchronize()

    return work


def driver_launch() -> Work:
    """An empty kernel launched through the driver and waited for: what no launch can be shorter than."""
    from pycuda import driver

    device = cf.cuda(0)
    cubin = compiler.cubin('extern "C" __global__ void nothing() {}', device.arch)
    with device.current():
        function = driver.module_from_buffer(cubin).get_function("nothing")
        function.prepare("")
        stream = driver.Stream()

    def work() -> None:
        with device.current():
            function.prepared_async_call((1, 1), (32, 1, 1), stream)
            stream.synchronize()

    return work
