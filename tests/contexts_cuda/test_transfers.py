"""Uploads, reads and copies of CUDA pools: every kind of array, margins, and both devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.contexts.scenario import chain, node, number, program, put, refusal, rule, stored

import counterfoil as cf


@pytest.fixture(autouse=True)
def every_mode(mode: str) -> None:
    """Each test in each mode of the driver."""


@pytest.fixture
def start() -> cf.Context:
    """A root on the first device."""
    return cf.Context.cuda()


def padded(label: str, value: float = 7) -> cf.Node:
    """A node of 2 by 3 elements in margins of that value."""
    return node(label, (2, 3), padding=((1, 1), (0, 2)), margin=value)


def bits(array: Any) -> list[Any]:
    """An array's elements, from wherever it lies."""
    return list(array.to_device(cf.host()).to_values())


def test_pools_lie_on_the_device(start: cf.Context) -> None:
    """An array in place is the device's, off the host, and shows what was uploaded."""
    x = node("x")
    context = start.set_values(x, [1.0, 2.0])
    array = context.array(x)
    assert array.device is cf.cuda(0)
    assert rule(array.to_values) == "memory/off-host"
    assert bits(array) == [1.0, 2.0]


def test_a_fresh_pool_is_zero(start: cf.Context) -> None:
    """Whatever its memory held before."""
    cf.inspection.poison(0xA5)
    try:
        x, y = stored("x", (50,)), stored("y", (50,))
        x.mark_zero_valid()
        context, (routine,) = chain(start, program("use", put(y, "add", x, x), embedded=[x, y]))
        assert context.run(routine).get_values(y) == [0.0] * 50
    finally:
        cf.inspection.poison(None)


def test_margins_hold_their_value(start: cf.Context) -> None:
    """From the allocation on; uploads of all and of one element leave them, and copies take them along."""
    x = padded("x")
    context = start.set_values(x, [1, 2, 3, 4, 5, 6]).set_value(x, (1, 0), 40)
    rows = [[7.0] * 5, [1.0, 2.0, 3.0, 7.0, 7.0], [40.0, 5.0, 6.0, 7.0, 7.0], [7.0] * 5]
    expected = [value for row in rows for value in row]
    assert bits(context.array(x)) == expected
    assert context.to_host(x).to_values() == expected
    copied = cf.Context.cuda().copy_from(context, x)
    assert bits(copied.array(x)) == expected


def test_an_upload_ignores_margins(start: cf.Context) -> None:
    """What an array holds there is not stored, whether the host or the device has it."""
    x, given = padded("x"), np.full((4, 5), 9, np.float32)
    given[1:3, :3] = [[1, 2, 3], [4, 5, 6]]
    expected = start.from_host(x, given).to_host(x).to_values()
    array = cf.asarray(given.copy()).to_device(cf.cuda(0))
    assert start.from_host(x, array).to_host(x).to_values() == expected
    assert expected.count(7.0) == 14 and 9.0 not in expected


@pytest.mark.parametrize("kind", list(cf.MemoryKind))
def test_uploads_of_every_kind_of_memory(start: cf.Context, kind: cf.MemoryKind) -> None:
    """Arrays of the device's own memory of each kind are taken as those of the host are."""
    x = node("x")
    array = cf.empty(cf.cuda(0), cf.float32, (2,), kind)
    cf.transfer(cf.from_values(cf.float32, (2,), [3.0, 4.0]), array)
    context = start.from_host(x, array)
    cf.transfer(cf.from_values(cf.float32, (2,), [0.0, 0.0]), array)
    assert context.get_values(x) == [3.0, 4.0]


def test_uploads_of_strided_arrays(start: cf.Context) -> None:
    """On the host and on the device, also of the buffer's own elements the other way round."""
    x = node("x", (2, 3))
    array = cf.from_values(cf.float32, (3, 2), [1, 2, 3, 4, 5, 6]).move(cf.Permute([1, 0]))
    assert array is not None
    context = start.from_host(x, array)
    assert context.get_values(x) == [1, 3, 5, 2, 4, 6]
    assert context.from_host(x, context.array(x)[::-1]).get_values(x) == [2, 4, 6, 1, 3, 5]


def test_arrays_of_other_devices_are_refused(start: cf.Context) -> None:
    """What neither the host nor the context's device addresses is copied by nobody in secret."""
    other = cf.simulated("other")
    array = cf.from_values(cf.float32, (2,), [1.0, 2.0]).to_device(other)
    caught = refusal(lambda: start.from_host(node("x"), array))
    assert (caught.rule, caught.subjects) == ("memory/off-host", {"function": "from_host", "device": other.name})
    own = start.set_values(y := node("y"), [1, 2]).array(y)
    assert rule(lambda: cf.Context.cpu().from_host(y, own)) == "memory/off-host"


def test_copies_to_and_from_a_cpu(start: cf.Context) -> None:
    """Another backend's value comes through the host, in both directions, unwritten ones too."""
    x, y = node("x"), stored("y")
    here = start.set_values(x, [1.0, 2.0])
    there = cf.Context.cpu().copy_from(here, x)
    assert there.get_values(x) == [1.0, 2.0]
    back = cf.Context.cuda().copy_from(there.set_value(x, (0,), 5.0), x)
    assert back.get_values(x) == [5.0, 2.0]
    y.mark_zero_valid()
    allocated, _ = chain(start, program("use", put(node("z"), "add", y, y), number(y, 1), embedded=[y]))
    assert cf.Context.cpu().copy_from(allocated, y).is_initialized(y) is False


def test_no_merge_buffer_is_filled_from_another_backend(start: cf.Context) -> None:
    """transfers/cross-backend, in both directions."""
    x = node("x")
    here, there = start.set_values(x, [1.0, 2.0]), cf.Context.cpu().set_values(x, [1.0, 2.0])
    assert rule(lambda: here.copy_from(there, x, into_merge_buffer=True)) == "transfers/cross-backend"
    assert rule(lambda: there.copy_from(here, x, into_merge_buffer=True)) == "transfers/cross-backend"


def test_literals_are_uploaded_once_for_each_device(start: cf.Context) -> None:
    """A literal that several roots read lies in one pool of the device."""
    literal, y = node("literal", literal=[3.0, 4.0]), stored("y")
    comp = program("use", put(y, "add", literal, literal), embedded=[y])
    one, (first,) = chain(start, comp)
    two, (second,) = chain(cf.Context.cuda(), comp)
    assert one.run(first).get_values(y) == two.run(second).get_values(y) == [6.0, 8.0]
    assert one.array(literal).buffer.overlaps(two.array(literal).buffer)


def test_virtual_nodes_are_recomputed(start: cf.Context) -> None:
    """By a throwaway routine of the device, over the leaves as they are then."""
    x, v, y = node("x"), node("v"), stored("y")
    v.require(cf.Intent.VIRTUAL)
    code = [put(v, "mul", x, x), put(y, "identity", v)]
    context, routine = start.set_values(x, [1.0, 2.0]).compile(program("use", *code, embedded=[v, y]))
    context = context.run(routine).set_values(x, [3.0, 4.0])
    assert (context.get_values(v), context.get_values(y)) == ([9.0, 16.0], [1.0, 4.0])


def test_every_dtype_of_programs(start: cf.Context) -> None:
    """Comes back with the bits that went."""
    for dtype in (cf.float32, cf.float64, cf.int32, cf.int64):
        x = node("x", (3,), dtype=dtype)
        context = start.set_values(x, [-1, 0, 5])
        assert context.get_values(x) == [-1, 0, 5]
        assert context.get_value(x, (2,)) == 5


def test_nodes_without_an_element(start: cf.Context) -> None:
    """Nothing moves, and nothing is refused."""
    x, y = node("x", (0, 3)), stored("y", (0, 3))
    context, routine = start.set_values(x, []).compile(program("use", put(y, "add", x, x), embedded=[y]))
    context = context.run(routine)
    assert context.get_values(y) == []
    assert cf.Context.cuda().copy_from(context, y).get_values(y) == []
