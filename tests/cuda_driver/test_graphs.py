"""Graphs: captured from streams, launched again and again, their kernels given other arguments."""

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, LIBRARY, NON_BLOCKING, Device, call, cubin, pinned, to_device, to_host

TEXT = """
extern "C" __global__ void add(int *a, int by) { *a += by; }
extern "C" __global__ void times(int *a, int by) { *a *= by; }
"""


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        *((f"{what}{axis}", ctypes.c_uint) for what in ("grid", "block") for axis in "xyz"),
        ("shared", ctypes.c_uint),
        *((name, ctypes.c_void_p) for name in ("parameters", "extra", "kernel", "context")),
    )


class Graph:
    """A graph made by capturing what `record` gives to a stream, and ready to run."""

    def __init__(self, stream: Any, record: Callable[[], None], mode: int = 0) -> None:
        self.graph, self.executable = ctypes.c_void_p(), ctypes.c_void_p()
        assert call("cuStreamBeginCapture_v2", handle(stream), mode) == 0
        record()
        self.result = call("cuStreamEndCapture", handle(stream), ctypes.byref(self.graph))
        if self.result == 0:
            made = ctypes.byref(self.executable)
            assert call("cuGraphInstantiateWithFlags", made, self.graph, ctypes.c_uint64(0)) == 0

    def launch(self, stream: Any) -> None:
        """Queues the graph."""
        assert call("cuGraphLaunch", self.executable, handle(stream)) == 0

    def close(self) -> None:
        """Destroys the graph."""
        assert call("cuGraphExecDestroy", self.executable) == call("cuGraphDestroy", self.graph) == 0


def handle(of: Any) -> ctypes.c_void_p:
    """The handle of a stream or event of PyCUDA's."""
    return ctypes.c_void_p(of.handle)


@pytest.fixture
def stream(any_mode: Device) -> Iterator[Any]:
    """A stream, in each of the modes."""
    yield cuda.Stream(NON_BLOCKING)


def test_what_is_captured_does_not_run(stream: Any) -> None:
    """Work given to a captured stream runs when the graph is launched, as often as that, and not before."""
    value = to_device(np.ones(1, "i4"))
    add, times = (cuda.module_from_buffer(cubin(TEXT)).get_function(name) for name in ("add", "times"))

    def record() -> None:
        add(value, np.int32(2), block=(1, 1, 1), stream=stream)
        times(value, np.int32(3), block=(1, 1, 1), stream=stream)

    graph = Graph(stream, record)
    stream.synchronize()
    before = to_host(value, 1, "i4")[0]
    for _ in range(2):
        graph.launch(stream)
    stream.synchronize()
    assert (before, to_host(value, 1, "i4")[0]) == (1, ((1 + 2) * 3 + 2) * 3)
    graph.close()


def test_graphs_are_in_their_stream_order(stream: Any) -> None:
    """A launched graph runs after what its stream was given before, and before what it is given later."""
    source, target, seen = to_device(np.zeros(1, "i4")), cuda.mem_alloc(4), pinned(np.zeros(1, "i4"))
    graph = Graph(stream, lambda: cuda.memcpy_dtod_async(target, source, 4, stream))
    cuda.memset_d32_async(source, 5, 1, stream)
    graph.launch(stream)
    cuda.memcpy_dtoh_async(seen, target, stream)
    cuda.memset_d32_async(source, 6, 1, stream)
    stream.synchronize()
    assert seen[0] == 5
    graph.close()


def test_other_streams_join_a_capture(stream: Any) -> None:
    """A stream that waits for an event of the capture becomes part of it, and joins again by an event."""
    side, value = cuda.Stream(NON_BLOCKING), to_device(np.ones(2, "i4"))

    def record() -> None:
        cuda.memset_d32_async(value, 4, 1, stream)
        side.wait_for_event(cuda.Event().record(stream))
        cuda.memcpy_dtod_async(int(value) + 4, value, 4, side)
        stream.wait_for_event(cuda.Event().record(side))

    graph = Graph(stream, record)
    graph.launch(stream)
    stream.synchronize()
    assert to_host(value, 2, "i4").tolist() == [4, 4]
    graph.close()


def test_a_capture_that_is_not_joined_fails(device: Device) -> None:
    """A stream that took part and was not joined is an error of the end of the capture."""
    first, side, value = cuda.Stream(NON_BLOCKING), cuda.Stream(NON_BLOCKING), cuda.mem_alloc(4)

    def record() -> None:
        side.wait_for_event(cuda.Event().record(first))
        cuda.memset_d32_async(value, 4, 1, side)

    assert Graph(first, record).result == 904


def test_kernels_get_other_arguments(stream: Any) -> None:
    """The arguments of an executable graph's kernel are replaced, for launches made later only."""
    value, module = to_device(np.zeros(1, "i4")), cuda.module_from_buffer(cubin(TEXT))
    add, function = module.get_function("add"), ctypes.c_void_p()
    graph = Graph(stream, lambda: add(value, np.int32(1), block=(1, 1, 1), stream=stream))
    node, count = ctypes.c_void_p(), ctypes.c_size_t(1)
    assert call("cuGraphGetNodes", graph.graph, ctypes.byref(node), ctypes.byref(count)) == 0
    raw = ctypes.c_void_p()
    image = cubin(TEXT)
    assert call("cuModuleLoadData", ctypes.byref(raw), image) == 0
    assert call("cuModuleGetFunction", ctypes.byref(function), raw, b"add") == 0
    pointer, by = ctypes.c_uint64(int(value)), ctypes.c_int(10)
    parameters = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(by))
    changed = KernelNode(function.value, 1, 1, 1, 1, 1, 1, 0, ctypes.addressof(parameters), None, None, None)
    graph.launch(stream)
    assert call("cuGraphExecKernelNodeSetParams_v2", graph.executable, node, ctypes.byref(changed)) == 0
    graph.launch(stream)
    stream.synchronize()
    assert to_host(value, 1, "i4")[0] == 11
    graph.close()
    assert call("cuModuleUnload", raw) == 0


def test_a_graph_takes_the_arguments_of_another(stream: Any) -> None:
    """An executable graph is updated from a graph of the same shape, and refuses one of another."""
    value, add = to_device(np.zeros(1, "i4")), cuda.module_from_buffer(cubin(TEXT)).get_function("add")
    graphs = [
        Graph(stream, lambda by=by: add(value, np.int32(by), block=(1, 1, 1), stream=stream))  # type: ignore[misc]
        for by in (1, 20)
    ]
    copy = Graph(stream, lambda: cuda.memset_d32_async(value, 1, 1, stream))
    results = [call("cuGraphExecUpdate_v2", graphs[0].executable, other.graph, None) for other in (graphs[1], copy)]
    graphs[0].launch(stream)
    stream.synchronize()
    assert (results, to_host(value, 1, "i4")[0]) == ([0, 910], 20)
    for graph in (*graphs, copy):
        graph.close()


UNSAFE: list[tuple[str, Callable[[Any], object]]] = [
    ("alloc", lambda stream: LIBRARY.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 16)),
    ("synchronize", lambda stream: LIBRARY.cuCtxSynchronize()),
    ("query", lambda stream: LIBRARY.cuStreamQuery(handle(stream))),
    ("wait", lambda stream: LIBRARY.cuStreamSynchronize(handle(stream))),
]


@pytest.mark.parametrize(("name", "unsafe"), UNSAFE, ids=[name for name, _ in UNSAFE])
def test_calls_that_wait_spoil_a_capture(device: Device, name: str, unsafe: Callable[[Any], object]) -> None:
    """Allocating, synchronising and asking during a capture are refused, and the capture is invalid."""
    stream, results = cuda.Stream(NON_BLOCKING), []
    graph = Graph(stream, lambda: results.append(unsafe(stream)))
    assert (results, graph.result) == ([900], 901)


def test_the_legacy_stream_is_closed_while_a_blocking_stream_is_captured(device: Device) -> None:
    """Using the legacy stream would make it depend on the captured one."""
    stream, value, results = cuda.Stream(), cuda.mem_alloc(4), []
    null = ctypes.c_void_p()
    graph = Graph(
        stream,
        lambda: results.append(LIBRARY.cuMemsetD8Async(ctypes.c_uint64(int(value)), 1, ctypes.c_size_t(4), null)),
    )
    assert (results, graph.result) == ([906], 901)


def test_after_a_capture_the_stream_is_as_before(device: Device) -> None:
    """A stream works again when its capture has ended, well or badly, and nothing is queued."""
    stream, value = cuda.Stream(NON_BLOCKING), cuda.mem_alloc(4)
    Graph(stream, lambda: None).close()
    cuda.memset_d32_async(value, 3, 1, stream)
    stream.synchronize()
    assert (to_host(value, 1, "i4")[0], EMULATOR.pending()) == (3, 0)


def elsewhere(work: Callable[[], object]) -> None:
    """Run in a thread of its own, in which the test's context is current."""
    context = ctypes.c_void_p()
    assert call("cuCtxGetCurrent", ctypes.byref(context)) == 0

    def run() -> None:
        assert call("cuCtxPushCurrent_v2", context) == 0
        work()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


@pytest.mark.parametrize(("mode", "refused"), [(0, True), (1, False), (2, False)])
def test_a_global_capture_forbids_other_threads_to_ask(device: Device, mode: int, refused: bool) -> None:
    """Whether work is done, among other things; a local or a relaxed one does not."""
    stream, asked, answers = cuda.Stream(NON_BLOCKING), cuda.Stream(NON_BLOCKING), list[int]()
    graph = Graph(stream, lambda: elsewhere(lambda: answers.append(call("cuStreamQuery", handle(asked)))), mode)
    assert (answers, graph.result) == (([900], 901) if refused else ([0], 0))


def test_a_relaxed_thread_is_forbidden_nothing(device: Device) -> None:
    """It says so, and gets told what it was before."""
    stream, asked, answers = cuda.Stream(NON_BLOCKING), cuda.Stream(NON_BLOCKING), list[int]()

    def ask() -> None:
        mode = ctypes.c_int(2)
        answers.extend([call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode)), mode.value])
        answers.append(call("cuStreamQuery", handle(asked)))

    graph = Graph(stream, lambda: elsewhere(ask))
    assert (answers, graph.result) == ([0, 0, 0], 0)
