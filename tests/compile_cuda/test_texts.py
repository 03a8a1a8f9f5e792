"""What is emitted: canonical texts, few kernels, no pass that only fills, nothing stored that nobody reads."""

from __future__ import annotations

import itertools
import re

import numpy as np
from tests.compile.test_networks import perceptron
from tests.compile_cuda.computing import bound, computed, emitted, planned, small
from tests.programs.building import spec, store

import counterfoil.compile as fast
from counterfoil.compile.cuda import CudaProgram, Kind, generate
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Constant, Fetch, Read
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.projections import Projections, at
from counterfoil_spec.programs.symbols import Iterator, Symbol


def network(prefix: str) -> list[Assignment]:
    """A layer and the sum of its squares, the same but for its labels."""
    x, w, b = bound(f"{prefix}x", (32, 40)), bound(f"{prefix}w", (40, 64)), bound(f"{prefix}b", (64,))
    h, r, total = (Node(f"{prefix}{label}", shape) for label, shape in (("h", (32, 64)), ("r", (32, 64)), ("t", ())))
    total.require(Intent.ON_DEVICE)
    r.require(Intent.ON_DEVICE)
    return [
        spec("i k, k j -> i j", h, x, w),
        spec("i j, j -> i j", r, h, b, operation="add"),
        spec("i j, i j -> ", total, r, r),
    ]


def test_equal_programs_have_equal_texts() -> None:
    """Labels, identities and what was compiled before leave no trace in the text or the launches."""
    first = emitted(*network("one"))
    emitted(*network("between"))
    second = emitted(*network("another"))
    assert first == second
    assert "one" not in re.sub(r"\bnone\b", "", first.text)


def test_launches_name_every_kernel_and_its_parameters() -> None:
    """Each kernel is launched once, in order, with as many parameters as it takes, all of the plan's."""
    plan = fast.plan(perceptron(), fast.NOTHING_DECIDED, "r")
    program = generate([plan.lowered], plan)
    heads = re.findall(r'extern "C" __global__ void __launch_bounds__\((\d+)[\d, ]*\) (\w+)\((.*)\) \{', program.text)
    assert [name for _, name, _ in heads] == [launch.name for launch in program.launches]
    for (threads, _, parameters), launch in zip(heads, program.launches, strict=True):
        assert int(threads) == np.prod(launch.block) <= 1024 and min(*launch.grid, *launch.block) >= 1
        assert parameters.count(",") + 1 == len(launch.parameters)
        assert len(launch.packed(range(100, 200), 1 << 20, 0, [])) == 8 * len(launch.parameters)
        for parameter in launch.parameters:
            assert parameter.kind is not Kind.SCRATCH or parameter.value % 64 == 0
    writes = {plan.arguments[place] for launch in program.launches for place in launch.writes}
    assert writes == set(plan.writes)


def kernels(program: CudaProgram) -> int:
    return len(program.launches)


def test_a_zeroing_that_only_starts_an_accumulation_is_elided() -> None:
    """A gradient zeroed, then added to all over, starts from zero in a register: one kernel."""
    x, y, g = bound("x", (6, 5)), bound("y", (5,)), bound("g", (6, 5))
    body = [Fetch(g, Constant(0.0)), spec("ij,j->ij", g, x, y, initialize=False)]
    given = {x: small((6, 5), 1), y: small((5,), 2), g: small((6, 5), 3)}
    buffers, program = computed(body, given)
    assert np.array_equal(buffers[g], given[x] * given[y])
    assert kernels(program) == 1


def test_a_zeroing_that_something_sees_stays() -> None:
    """Read before it is added to, or added to in part only: the zeros are stored."""
    x, y, g, h = bound("x", (6, 5)), bound("y", (5,)), bound("g", (6, 5)), bound("h", (5, 6))
    read = [Fetch(g, Constant(0.0)), spec("ij->ji", h, g), spec("ij,j->ij", g, x, y, initialize=False)]
    part = [Fetch(g, Constant(0.0)), spec("ij,j->0 j", g, x, y, initialize=False)]
    given = {x: small((6, 5), 1), y: small((5,), 2), g: small((6, 5), 3)}
    buffers, program = computed(read, {**given, h: np.ones((5, 6))})
    assert kernels(program) == 3 and not buffers[h].any()
    assert np.array_equal(buffers[g], given[x] * given[y])
    buffers, program = computed(part, given)
    assert kernels(program) == 2 and not buffers[g][1:].any()
    assert np.array_equal(buffers[g][0], (given[x] * given[y]).sum(0))


def test_a_zeroing_before_a_part_known_at_the_run_stays() -> None:
    """Added to up to a binding: the zeros past it are stored."""
    count, i = Symbol("count", 6, extent=True), Iterator("i")
    x, g = bound("x", (6,)), bound("g", (6,))
    added = Accumulate(g, "add", "identity", (Read(x),), Projections(((i, count),), (at(i),), ((at(i),),)), True)
    given = {x: small((6,), 1), g: small((6,), 2)}
    buffers, _ = computed([added], given, {count: 4})
    assert np.array_equal(buffers[g], [*given[x][:4], 0, 0])


def test_a_serial_loop_sees_what_it_stored() -> None:
    """An element set again and again from itself, after a fill in the same kernel, is what it was set to last."""
    x, y, loop = bound("x", (4,)), bound("y", ()), Iterator("k")
    again = Projections(((loop, 4),), (), ((at(loop),), ()))
    body = [Fetch(y, Constant(1.0)), Accumulate(y, "arg2", "add", (Read(x), Read(y)), again, False)]
    buffers, program = computed(body, {x: np.arange(4)})
    assert buffers[y] == 7 and kernels(program) == 1


def test_scratch_that_nobody_reads_may_be_set_in_several_ways() -> None:
    """A scratch element filled, then set by a loop, then forgotten: the kernel compiles and the rest is right."""
    x, y, unused, loop = bound("x", (4,)), bound("y", ()), Node("unused", ()), Iterator("k")
    unused.require(Intent.LOCAL)
    last = Projections(((loop, 4),), (), ((at(loop),),))
    body = [
        Fetch(unused, Constant(1.0)), Accumulate(unused, "arg2", "identity", (Read(x),), last, False),
        spec("i -> ", y, x),
    ]  # fmt: skip
    buffers, _ = computed(body, {x: np.arange(4)})
    assert buffers[y] == 6


def test_margins_of_scratch_outlive_what_came_before() -> None:
    """A padded scratch node used late shares no room with one used early: its margins are there from the start."""
    x, y, z = bound("x", (300,)), bound("y", (300,)), bound("z", (300,))
    early = Node("early", (300,))
    late = Node("late", (300,), padding=((1, 1),), margin=5.0)
    for node in (early, late):
        node.require(Intent.LOCAL)
    body = [
        store(early, "neg", x), spec("-1*i+299->i", y, early), spec("-1*i+299->i", late, y), spec("i-1->i", z, late),
    ]  # fmt: skip
    buffers, _ = computed(body, {x: np.arange(300)})
    assert np.array_equal(buffers[z], [5, *-np.arange(0.0, 299)])


def test_a_gathered_gradient_starts_from_zero_itself() -> None:
    """The zeroing in front of an overlapping accumulation that reaches every element is elided as well."""
    x, g = bound("x", (6, 3)), bound("g", (8,))
    buffers, program = computed([Fetch(g, Constant(0.0)), spec("a b -> a+b", g, x, initialize=False)], {x: 1.0})
    assert kernels(program) == 1
    assert buffers[g].tolist() == [1, 2, 3, 3, 3, 3, 2, 1]


def test_what_follows_a_product_is_carried_out_with_it() -> None:
    """A layer's bias and nonlinearity are no kernels of their own, and what stands in a register is not stored."""
    x, w, b, out = bound("x", (32, 40)), bound("w", (40, 64)), bound("b", (64,)), bound("out", (32, 64))
    h, s = Node("h", (32, 64), float32), Node("s", (32, 64), float32)
    body = [spec("i k, k j -> i j", h, x, w), spec("i j, j -> i j", s, h, b, operation="add"), store(out, "relu", s)]
    for node in (h, s):
        node.require(Intent.LOCAL)
    given = {x: small((32, 40), 1), w: small((40, 64), 2), b: small((64,), 3)}
    buffers, program = computed(body, given)
    assert np.array_equal(buffers[out], np.maximum(given[x] @ given[w] + given[b], 0))
    assert kernels(program) == 1 and program.scratch_bytes == 0


def test_updates_join_the_kernel_of_what_they_follow() -> None:
    """Independent chains whose steps are written in turns are one kernel each."""
    nodes = [[bound(f"{label}{place}", (10 + place,)) for label in "xyz"] for place in range(2)]
    body = [store(y, "neg", x) for x, y, _ in nodes] + [store(z, "add", y, x) for x, y, z in nodes]
    buffers, program = computed(body, {node: small(node.shape, 1) for (node, _, _) in nodes})
    assert kernels(program) == 2
    assert not any(buffers[z].any() for _, _, z in nodes)


def test_works_over_short_rows_are_one_kernel() -> None:
    """Extremes, differences and sums of rows of ten, as a softmax has them: a thread a row, one kernel."""
    shape = (70, 10)
    x, shifted, squared = bound("x", shape), bound("shifted", shape), bound("squared", shape)
    top, total = bound("top", (70,)), bound("total", (70,))
    body = [
        spec("i j -> i", top, x, accumulator="max"),
        spec("i j, i -> i j", shifted, x, top, operation="sub"),
        store(squared, "mul", shifted, shifted),
        spec("i j -> i", total, squared),
        spec("i j, i -> i j", x, squared, total, operation="sub", initialize=False),
    ]
    given = {x: small(shape, 1)}
    buffers, program = computed(body, given)
    want = (given[x] - given[x].max(1)[:, None]) ** 2
    assert kernels(program) == 1
    assert np.array_equal(buffers[total], want.sum(1))
    assert np.array_equal(buffers[x], given[x] + want - want.sum(1)[:, None])


def test_rows_that_reach_into_each_other_are_kernels_of_their_own() -> None:
    """What reads the next row, or turned rows, waits until all rows are there."""
    x, y, z, total = bound("x", (33, 4)), bound("y", (33, 4)), bound("z", (32, 4)), bound("total", (33,))
    given = {x: small((33, 4), 1)}
    body = [store(y, "neg", x), spec("i j -> i", total, y), spec("i+1 j -> i j", z, y)]
    buffers, program = computed(body, given)
    assert kernels(program) == 2
    assert np.array_equal(buffers[z], -given[x][1:]) and np.array_equal(buffers[total], -given[x].sum(1))
    x, y, z = bound("x", (8, 8)), bound("y", (8, 8)), bound("z", (8,))
    given = {x: small((8, 8), 1)}
    buffers, program = computed([store(y, "neg", x), spec("j i -> i", z, y)], given)
    assert kernels(program) == 2 and np.array_equal(buffers[z], -given[x].sum(0))


def test_what_is_read_elsewhere_waits_for_a_kernel_of_its_own() -> None:
    """A store that reads its neighbour's result at another position sees all of it."""
    x, y, z = bound("x", (64,)), bound("y", (64,)), bound("z", (64,))
    given = {x: small((64,), 4)}
    buffers, program = computed([store(y, "neg", x), spec("-1*i+63->i", z, y)], given)
    assert np.array_equal(buffers[z], -given[x][::-1]) and kernels(program) == 2


def test_sums_never_depend_on_who_comes_first() -> None:
    """No atomics: the order of every sum is written down (N4)."""
    text = emitted(*network("n")).text
    assert "atomic" not in text and "__shfl_down_sync" in text


def test_scratch_not_needed_at_once_lies_at_one_place() -> None:
    """A chain of scratch nodes, each read only by the next, takes the room of two."""
    chain = [bound("x", (4096,)), *(Node(f"s{place}", (4096,)) for place in range(20)), bound("y", (4096,))]
    for node in chain[1:-1]:
        node.require(Intent.LOCAL)
    plan = planned(*(spec("-1*i+4095->i", later, earlier) for earlier, later in itertools.pairwise(chain)))
    assert generate([plan.lowered], plan).scratch_bytes == 2 * 4096 * 4


def test_tiles_past_an_edge_have_positions_within_it() -> None:
    """A tile that is not full counts no position from rows that are not there, which need not fit its type."""
    x, y, z = bound("x", (131, 64)), bound("y", (64, 128)), bound("z", (131, 128))
    text = emitted(spec("i k, k j -> i j", z, x, y)).text
    assert text.count("f = e < 130u ? e : 130u;") == 1
