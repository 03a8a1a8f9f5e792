"""Training steps whole, their threads in several orders: the same bits, and no element of one thread's is another's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.compile.running import buffer
from tests.compile.test_networks import attention, convolution, double, perceptron
from tests.compile_cuda.computing import bound, computed, emitted, planned, small
from tests.compile_cuda.hosting import run
from tests.compile_cuda.races import races
from tests.programs.building import spec, store

import counterfoil.compile as fast
from counterfoil.compile.cuda import generate
from counterfoil_spec.programs.assignments import Code


@pytest.mark.parametrize("made", [perceptron, convolution, attention, double])
def test_a_step_of_training(made: Callable[[], Code]) -> None:
    """Blocks and threads forward, backward and shuffled between barriers: ``run`` compares the bits of all buffers."""
    plan = fast.plan(made(), fast.NOTHING_DECIDED, "r")
    assert races([plan.lowered], {}) == []
    random = np.random.default_rng(5)
    buffers = {node: buffer(node) for node in plan.arguments}
    for values in buffers.values():
        values[...] = random.uniform(0.1, 1.0, values.shape)
    before = {node: values.tobytes() for node, values in buffers.items()}
    run(generate([plan.lowered], plan), plan, buffers)
    assert any(before[node] != values.tobytes() for node, values in buffers.items())


@pytest.mark.parametrize("terms", [100, 1000])
def test_a_warp_meets_before_one_of_its_lanes_stores_what_they_read(terms: int) -> None:
    """A shuffle orders no memory; what a sum's lanes all read may be what the map after it stores."""
    x, m, y, z = bound("x", (6,)), bound("m", (6, terms)), bound("y", (6,)), bound("z", (6,))
    scaled = spec("i, i k -> i", y, x, m)
    given = {x: small((6,), 1), m: small((6, terms), 2)}
    buffers, program = computed([scaled, store(x, "neg", y)], given)
    assert len(program.launches) == 1 and program.text.count("__syncwarp();") == 1
    assert np.array_equal(buffers[y], given[x] * given[m].sum(1)) and np.array_equal(buffers[x], -buffers[y])
    assert "__syncwarp" not in emitted(scaled, store(z, "neg", y)).text


SHARED = {
    "block": ("i k -> i", (5,), [(5, 1800)], 0),
    "columns": ("k i -> i", (70,), [(300, 70)], 0),
    "first tile": ("i k, k j -> i j", (70, 70), [(70, 40), (40, 70)], 0),
    "next tile": ("i k, k j -> i j", (70, 70), [(70, 40), (40, 70)], 1),
}
"""What threads share: a contraction, the shapes of its result and its operands, the barrier's place in the text."""


@pytest.mark.parametrize("name", list(SHARED))
def test_a_barrier_that_is_missing_shows(name: str) -> None:
    """Each barrier is needed: without it the bits depend on the order of threads."""
    text, shape, shapes, place = SHARED[name]
    it = spec(text, bound("y", shape), *[bound(f"x{number}", each) for number, each in enumerate(shapes)])
    plan, program = planned(it), emitted(it)
    parts = program.text.split("__syncthreads();")
    assert len(parts) == (3 if "tile" in name else 2)
    less = "__syncthreads();".join(parts[: place + 1]) + "__syncthreads();".join(parts[place + 1 :])
    random = np.random.default_rng(2)
    buffers = {node: random.uniform(1, 2, node.dims).astype(np.float32) for node in plan.arguments}
    run(program, plan, {node: values.copy() for node, values in buffers.items()})
    with pytest.raises(AssertionError, match="order of threads"):
        run(replace(program, text=less), plan, buffers)
