"""The training step of a 784-128-10 perceptron at batch 64 (softmax cross-entropy, SGD), as each library writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import counterfoil as cf
from benchmarks.peers import peer

BATCH, INPUTS, HIDDEN, CLASSES = 64, 784, 128, 10
RATE = 0.01

BY_HAND = "numpy by hand"
PEERS = (BY_HAND, "jax", "torch", "torch.compile")
"""Everybody that ours is measured beside, where installed."""

Arrays = Mapping[str, np.ndarray]
Work = Callable[[], object]


def start() -> dict[str, np.ndarray]:
    """Data and parameters by name, the same for every library."""
    rng = np.random.default_rng(0)
    return {
        "x": rng.standard_normal((BATCH, INPUTS)).astype(np.float32),
        "t": np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, BATCH)],
        "w1": (rng.standard_normal((INPUTS, HIDDEN)) / 28).astype(np.float32),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": (rng.standard_normal((HIDDEN, CLASSES)) / 11).astype(np.float32),
        "b2": np.zeros(CLASSES, np.float32),
    }


class Ours:
    """The step as a program: built, compiled, and its arrays uploaded."""

    def __init__(self, arrays: Arrays) -> None:
        self.comp, self.tensors, self.loss = program(arrays)
        self.context = uploaded(cf.Context.cpu(), self.tensors, arrays)
        self.context, self.routine = self.context.compile(self.comp, name="step")

    def step(self) -> None:
        """One training step."""
        self.context = self.context.run(self.routine)


def uploaded(context: Any, tensors: Mapping[str, Any], arrays: Arrays) -> Any:
    """The context holding the leaves' arrays."""
    for name, tensor in tensors.items():
        context = context.from_host(tensor.value, arrays[name])
    return context


def program(arrays: Arrays) -> tuple[Any, dict[str, Any], Any]:
    """(the step's comp, its leaves by name, the loss)."""
    leaves = {name: cf.tensor.data(name, arrays[name].shape) for name in ("x", "t")}
    leaves |= {name: cf.tensor.param(name, arrays[name].shape) for name in ("w1", "b1", "w2", "b2")}
    hidden = (leaves["x"] @ leaves["w1"] + leaves["b1"]).relu()
    logits = hidden @ leaves["w2"] + leaves["b2"]
    loss = -(leaves["t"] * logits.log_softmax()).sum() * (1.0 / BATCH)
    comp = cf.sequence(cf.tensor.grad_update(loss), cf.tensor.sgd_update(loss, RATE))
    return comp, leaves, loss


class ByHand:
    """The step in numpy, every array preallocated."""

    def __init__(self, arrays: Arrays) -> None:
        self.a = {name: array.copy() for name, array in arrays.items()}
        f = np.float32
        self.h, self.dh = np.empty((BATCH, HIDDEN), f), np.empty((BATCH, HIDDEN), f)
        self.z, self.mask = np.empty((BATCH, CLASSES), f), np.empty((BATCH, HIDDEN), bool)
        self.g1, self.g2 = np.empty((INPUTS, HIDDEN), f), np.empty((HIDDEN, CLASSES), f)
        self.column = np.empty((BATCH, 1), f)

    def step(self) -> None:
        """Forward, backward, update."""
        a, h, z, column = self.a, self.h, self.z, self.column
        np.matmul(a["x"], a["w1"], out=h)
        np.add(h, a["b1"], out=h)
        np.greater(h, 0, out=self.mask)
        np.maximum(h, 0, out=h)
        np.matmul(h, a["w2"], out=z)
        np.add(z, a["b2"], out=z)
        np.max(z, axis=1, keepdims=True, out=column)
        np.subtract(z, column, out=z)
        np.exp(z, out=z)
        np.sum(z, axis=1, keepdims=True, out=column)
        np.divide(z, column, out=z)
        np.subtract(z, a["t"], out=z)
        np.multiply(z, np.float32(1 / BATCH), out=z)
        np.matmul(h.T, z, out=self.g2)
        np.matmul(z, a["w2"].T, out=self.dh)
        np.multiply(self.dh, self.mask, out=self.dh)
        np.matmul(a["x"].T, self.dh, out=self.g1)
        for name, gradient in (("w1", self.g1), ("w2", self.g2), ("b1", self.dh.sum(0)), ("b2", z.sum(0))):
            np.multiply(gradient, np.float32(RATE), out=gradient)
            np.subtract(a[name], gradient, out=a[name])


def peers(arrays: Arrays) -> dict[str, Work]:
    """The step of each peer that is installed."""
    found: dict[str, Work | None] = {
        BY_HAND: ByHand(arrays).step,
        "jax": jax_step(arrays),
        "torch": torch_step(arrays),
        "torch.compile": torch_step(arrays, compiled=True),
    }
    return {name: work for name, work in found.items() if work is not None}


def jax_step(arrays: Arrays) -> Work | None:
    """The step jitted with donated parameters, or None without jax."""
    jax = peer("jax")
    if jax is None:
        return None
    compiled, parameters, x, t = jax_program(jax, arrays)
    state = {"p": parameters}

    def step() -> None:
        state["p"] = compiled(state["p"], x, t)
        state["p"]["b2"].block_until_ready()

    return step


def jax_program(jax: Any, arrays: Arrays) -> tuple[Any, dict[str, Any], Any, Any]:
    """(the jitted step, its parameters, x, t)."""
    numpy = jax.numpy

    def loss(p: dict[str, Any], x: Any, t: Any) -> Any:
        hidden = jax.nn.relu(x @ p["w1"] + p["b1"])
        return -(t * jax.nn.log_softmax(hidden @ p["w2"] + p["b2"])).sum() / BATCH

    def step(p: dict[str, Any], x: Any, t: Any) -> Any:
        gradients = jax.grad(loss)(p, x, t)
        return {name: p[name] - RATE * gradients[name] for name in p}

    parameters = {name: numpy.asarray(arrays[name]) for name in ("w1", "b1", "w2", "b2")}
    return jax.jit(step, donate_argnums=0), parameters, numpy.asarray(arrays["x"]), numpy.asarray(arrays["t"])


def torch_step(arrays: Arrays, compiled: bool = False) -> Work | None:
    """The step in torch, eager or compiled, or None without torch."""
    torch = peer("torch")
    if torch is None:
        return None
    a = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    names = ("w1", "b1", "w2", "b2")
    for name in names:
        a[name].requires_grad_(True)

    def step() -> None:
        hidden = torch.relu(torch.addmm(a["b1"], a["x"], a["w1"]))
        logits = torch.addmm(a["b2"], hidden, a["w2"])
        loss = -(a["t"] * torch.log_softmax(logits, 1)).sum() / BATCH
        gradients = torch.autograd.grad(loss, [a[name] for name in names])
        with torch.no_grad():
            for name, gradient in zip(names, gradients, strict=True):
                a[name].sub_(gradient, alpha=RATE)

    return torch.compile(step) if compiled else step
