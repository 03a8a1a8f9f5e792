"""The training step of the CPU table on the device: ours captured, PyTorch eager and as a CUDA graph, CuPy by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import counterfoil as cf
from benchmarks.gpu.peers import cupy_work, torch_work
from benchmarks.gpu.timing import Row
from benchmarks.measure import Work
from benchmarks.networks import BATCH, RATE, Arrays, program, start, uploaded


def steps() -> Iterator[Row]:
    """One step, waited for."""
    arrays = start()
    peers = torch_work(lambda t: _torch_step(t, arrays)) | torch_work(lambda t: _captured(t, arrays), "torch, captured")
    yield Row("MLP step 784-128-10, batch 64", _ours(arrays), peers | cupy_work(lambda c: _cupy_step(c, arrays)))


def _ours(arrays: Arrays) -> Work:
    comp, leaves, _ = program(arrays)
    context = uploaded(cf.Context.cuda(0), leaves, arrays)
    context, routine = context.compile(comp, name="step")
    state = {"context": context}

    def step() -> None:
        state["context"] = state["context"].run(routine)
        state["context"].sync()

    return step


def _captured(module: Any, arrays: Arrays) -> Work:
    """PyTorch's step as a CUDA graph."""
    eager = _torch_step(module, arrays)
    graph = module.cuda.CUDAGraph()
    side = module.cuda.Stream()
    with module.cuda.stream(side):  # warm up outside the capture, as PyTorch asks
        eager()
    module.cuda.synchronize()
    with module.cuda.graph(graph):
        eager()
    replay: Work = graph.replay
    return replay


def _torch_step(module: Any, arrays: Arrays) -> Work:
    names = ("w1", "b1", "w2", "b2")
    a = {name: module.from_numpy(array.copy()).cuda() for name, array in arrays.items()}
    for name in names:
        a[name].requires_grad_(True)

    def step() -> None:
        hidden = module.relu(module.addmm(a["b1"], a["x"], a["w1"]))
        logits = module.addmm(a["b2"], hidden, a["w2"])
        loss = -(a["t"] * module.log_softmax(logits, 1)).sum() / BATCH
        gradients = module.autograd.grad(loss, [a[name] for name in names])
        with module.no_grad():
            for name, gradient in zip(names, gradients, strict=True):
                a[name].sub_(gradient, alpha=RATE)

    return step


def _cupy_step(module: Any, arrays: Arrays) -> Work:
    a = {name: module.asarray(array) for name, array in arrays.items()}

    def step() -> None:
        hidden = module.maximum(a["x"] @ a["w1"] + a["b1"], 0)
        logits = hidden @ a["w2"] + a["b2"]
        raised = module.exp(logits - logits.max(1, keepdims=True))
        error = (raised / raised.sum(1, keepdims=True) - a["t"]) * (1 / BATCH)
        below = (error @ a["w2"].T) * (hidden > 0)
        gradients = {"w2": hidden.T @ error, "b2": error.sum(0), "w1": a["x"].T @ below, "b1": below.sum(0)}
        for name, gradient in gradients.items():
            a[name] -= RATE * gradient

    return step
