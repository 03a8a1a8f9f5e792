"""(h) Donation, aliases and lifetime; (k) memory that grows or is given back twice."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import pytest
from tests.cases.scenario import consumed, counted, fresh, over, raw, refuses, sliced, transposed, unchanged_after


@pytest.mark.parametrize("view", ["the same", "reshaped"])
def test_b41_donated_and_read_in_one_call(cf: Any, view: str) -> None:
    """A donated memory that the same call reads is refused before anything happens."""
    x = counted(cf, cf.float32, [4])
    y = x if view == "the same" else x.move(cf.Reshape([2, 2]))
    unchanged_after(
        cf, "claims/overlapping-donation", [x], lambda: cf.claims(read=[y.buffer], donate=[x.buffer]).__enter__()
    )
    assert x.to_values() == [0.0, 1.0, 2.0, 3.0]
    with cf.claims(donate=[x.buffer]) as held:
        assert held.exclusive(x.buffer)


def test_b41_donated_beside_a_disjoint_half(cf: Any) -> None:
    """Disjoint halves of a memory may be donated and read, but nobody writes in place."""
    buffer = cf.host().buffer(16)
    left, right = buffer.view(0, 8), buffer.view(8, 8)
    with cf.claims(read=[right], donate=[left]) as held:
        assert not held.exclusive(left)
    assert buffer.claims == (0, False, False)


@pytest.mark.parametrize("values", [[5.0], [], [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("how", ["copy", "to_device"])
def test_b42_a_copy_outlives_the_donation(cf: Any, values: list[float], how: str) -> None:
    """A copy, of whatever size, has memory of its own: donating the original does not kill it."""
    x = fresh(cf, cf.float32, values)
    y = x.copy() if how == "copy" else x.to_device(cf.host())
    assert not x.buffer.overlaps(y.buffer)
    if values:
        x.set([0], -1.0)
    consumed(x.buffer, cf, "donated to f")
    assert y.to_values() == values
    assert x.buffer.dead == "donated to f" and y.buffer.dead is None


def test_b43_views_are_no_owners(cf: Any) -> None:
    """Permuted, sliced, reversed, narrowed and windowed views neither share in place nor survive the donation."""
    x = counted(cf, cf.float32, [4, 4])
    views = {
        "permuted": transposed(cf, x),
        "sliced": sliced(cf, x, (0, 2), (0, 4)),
        "reversed": sliced(cf, x, (3, 4, -1), (0, 4)),
        "windowed": x.move(cf.Window(cf.WindowAxis(0, 2))),
    }
    for view in views.values():
        refuses(cf, "OVERLAPPING", [x, x, view], partial(cf.kernels.add, x, x, view))
    narrow = x.bitcast(cf.uint8)
    refuses(cf, "WRONG_DTYPE", [x, x, narrow], lambda: cf.kernels.add(x, x, narrow))
    with cf.claims(donate=[x.buffer]) as held:
        assert held.exclusive(x.buffer)
        held.consume(x.buffer, "donated to f")
    for view in (x, narrow, *views.values()):
        with pytest.raises(cf.DoorRefusal, match="was donated to f"):
            cf.refused("add", cf.door([], [view], lambda: None), [view])


def test_b44_exactly_the_donated_one_dies(cf: Any) -> None:
    """Of three operands the donated one is dead with its reason, also where it could not be held exclusive."""
    a, b, c = (counted(cf, cf.float32, [2]) for _ in range(3))
    with (
        cf.claims(read=[c.buffer]),
        cf.claims(read=[a.buffer, b.buffer], donate=[c.buffer]) as held,
    ):
        assert not held.exclusive(c.buffer)
        held.consume(c.buffer, "donated to f")
    assert [x.buffer.dead for x in (a, b, c)] == [None, None, "donated to f"]
    assert a.to_values() == b.to_values() == [0.0, 1.0]


def test_b45_an_array_keeps_its_object(cf: Any) -> None:
    """An array over a foreign object's memory keeps that object alive."""
    a = cf.from_buffer(cf.int32, memoryview(bytearray(range(64))).cast("i"))
    expected = a.to_values()
    gc.collect()
    garbage = [bytearray(b"\xff" * 64) for _ in range(100)]
    out = cf.host_array(cf.int32, [16])
    assert cf.kernels.copy(out, a) == cf.Answer.DONE
    assert out.to_values() == expected and len(garbage) == 100


def test_b45_an_array_keeps_its_memory(cf: Any) -> None:
    """A view's memory outlives the array and the device work it came from."""
    device = cf.simulated("dev", addressable=True)
    v = sliced(cf, fresh(cf, cf.uint8, [1, 2, 3, 4]).to_device(device), (1, 2))
    cf.submit_fill(v.buffer, 9)
    gc.collect()
    others = [cf.empty(device, cf.uint8, [4]) for _ in range(20)]
    assert v.to_values() == [9, 9] and len(others) == 20


def test_b46_a_temporary_of_pending_work(cf: Any) -> None:
    """A temporary that pending work reads is not reused before the work is done."""
    for _ in range(30):
        device = cf.simulated("dev")
        column = sliced(cf, fresh(cf, cf.float32, [7.0, -1.0] * 8, [8, 2]), (0, 8), (0, 1))
        on_device = column.to_device(device)
        del column
        gc.collect()
        refill = [fresh(cf, cf.float32, [-1.0] * 16) for _ in range(4)]
        assert device.reached < device.submitted
        assert on_device.to_device(cf.host()).to_values() == [7.0] * 8 and len(refill) == 4


def test_b57_memory_of_fifty_steps(cf: Any) -> None:
    """Making, using and dropping arrays leaves as much live memory after fifty steps as after one."""
    device = cf.simulated("dev", addressable=True)
    live = []
    for _ in range(50):
        literal = cf.empty(device, cf.float32, [64])
        assert cf.kernels.fill(literal, 2.0) == cf.Answer.DONE
        total = cf.empty(device, cf.float32, [64])
        assert cf.kernels.add(total, literal, literal) == cf.Answer.DONE
        del literal, total
        gc.collect()
        live.append(cf.inspection.live_bytes(device))
    assert set(live) == {0}


def test_b60_memory_is_freed_once(cf: Any) -> None:
    """Freed memory is refused everywhere, a second time of freeing it included; nothing is freed twice."""
    device = cf.simulated("dev", addressable=True)
    x = cf.empty(device, cf.float32, [4])
    view = over(cf, cf.float32, x.buffer, [2], [1], 1)
    x.buffer.free("released by its root")
    assert cf.inspection.live_bytes(device) == 0
    for use in (x.copy, view.to_values, lambda: x.buffer.free("again"), lambda: view.to_device(cf.host())):
        with pytest.raises(cf.InvalidArgument, match="was released by its root"):
            use()
    assert cf.inspection.live_bytes(device) == 0


def test_b60_a_copy_that_cannot_be_made(cf: Any) -> None:
    """A copy refused for lack of memory leaves its source, its claims and what is live as they were."""
    device = cf.simulated("dev", addressable=True)
    x = cf.empty(device, cf.uint8, [8])
    device.budget = 12
    before = raw(cf, x), x.buffer.claims, cf.inspection.live_bytes(device)
    with pytest.raises(cf.DeviceMemoryExhausted):
        x.copy()
    assert (raw(cf, x), x.buffer.claims, cf.inspection.live_bytes(device)) == before
