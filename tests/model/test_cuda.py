"""Modelled CUDA devices: where kernels run, what is a submission, what is borrowed, what a loss takes along."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import any_dtype, boom, bytes_of, fill, refusal

import counterfoil_reference as cf
from counterfoil_reference import inspection
from counterfoil_reference.door import computing_device

KINDS = (cf.DEVICE, cf.PINNED, cf.MAPPED)
WHOLE = [cf.int32, cf.uint8, cf.int4, cf.bit, cf.int64]


@pytest.fixture(autouse=True)
def _two_devices() -> Iterator[None]:
    """Two modelled devices, and none afterwards."""
    inspection.model_cuda(2)
    yield
    inspection.model_cuda(None)


def values(array: cf.Array) -> list[object]:
    """The elements, by way of the host."""
    return list(array.to_device(cf.host()).to_values())


def on(device: cf.Device, dtype: cf.Dtype, given: list[int], kind: cf.MemoryKind = cf.DEVICE) -> cf.Array:
    """An array of those values on a device."""
    array = cf.empty(device, dtype, [len(given)], kind)
    cf.transfer(cf.from_values(dtype, [len(given)], given), array)
    return array


def test_a_device_is_one_object_of_its_ordinal() -> None:
    """cuda(n) is the same device each time, named after its ordinal, and the host does not address its memory."""
    assert cf.cuda(1) is cf.cuda(1) is not cf.cuda(0) and cf.cuda(1).name == "cuda:1"
    assert [cf.cuda(0).buffer(4, kind).address is None for kind in KINDS] == [True, False, False]


@pytest.mark.parametrize("ordinal", [-1, 2, 2**70])
def test_an_ordinal_the_driver_lacks(ordinal: int) -> None:
    """memory/ordinal names the ordinal and how many devices there are; without a model the backend is not there."""
    refusal("memory/ordinal", lambda: cf.cuda(ordinal), ordinal=ordinal, devices=2)
    inspection.model_cuda(None)
    refusal("memory/backend-unavailable", lambda: cf.cuda(ordinal), backend="cuda")


@given(st.lists(st.tuples(st.sampled_from(["host", "cuda:0", "cuda:1"]), st.sampled_from(KINDS), st.booleans()),
                min_size=1, max_size=3))  # fmt: skip
def test_where_a_call_runs(places: list[tuple[str, cf.MemoryKind, bool]]) -> None:
    """On the host where it addresses all that has an element, else on the one device that does, else Off_host."""
    devices = {device.name: device for device in (cf.host(), cf.cuda(0), cf.cuda(1))}
    arrays = [cf.empty(devices[name], cf.int32, [2 if some else 0], kind) for name, kind, some in places]
    with_elements = [(name, kind) for name, kind, some in places if some]
    if all(name == "host" or kind is not cf.DEVICE for name, kind in with_elements):
        wanted = None
    else:
        names = {name for name, _ in with_elements}
        wanted = devices[names.pop()] if len(names) == 1 else None
    assert computing_device(arrays) is wanted


def test_off_host_of_two_devices() -> None:
    """Operands of two devices, or of a device and the host, have no place to run."""
    x, y, z = on(cf.cuda(0), cf.int32, [1]), on(cf.cuda(1), cf.int32, [1]), cf.from_values(cf.int32, [1], [1])
    assert cf.kernels.copy(x, y) is cf.kernels.copy(x, z) is cf.kernels.copy(z, x) is cf.Answer.OFF_HOST
    far = cf.empty(cf.simulated("gpu"), cf.int32, [1])
    assert cf.kernels.copy(far, far) is cf.Answer.OFF_HOST


def test_operands_without_elements_decide_nothing() -> None:
    """They need not be addressed; with no element anywhere the host runs the call."""
    here = cf.cuda(0)
    sums = cf.empty(here, cf.int32, [2])
    away = cf.empty(cf.cuda(1), cf.int32, [0])
    assert cf.kernels.copy(away, cf.empty(here, cf.int32, [0])) is cf.Answer.DONE
    before = here.submitted
    assert cf.kernels.sum(sums, cf.empty(here, cf.int32, [2, 0]), [1]) is cf.Answer.DONE
    assert here.submitted == before + 1 and values(sums) == [0, 0]


def test_a_call_is_one_submission_that_waits_for_nothing() -> None:
    """Done comes when the call is queued, with the values of the call; the effect when something waits."""
    device = cf.cuda(0)
    x = on(device, cf.int32, [1, 2, 3])
    device.advance(9)
    y = cf.empty(device, cf.int32, [3])
    inspection.poke(y.buffer, bytes(12))
    before = device.submitted, device.reached
    assert cf.kernels.add(y, x, x) is cf.Answer.DONE
    assert (device.submitted, device.reached) == (before[0] + 1, before[1])
    assert inspection.memory_bytes(y.buffer) == bytes(12) and values(y) == [2, 4, 6]
    assert y.buffer.claims == (0, False, False)


def test_the_order_of_answers_is_the_doors() -> None:
    """Claims, dtype, reach, repeated, overlapping, lost, shape, declined: on a device as on the host (A3)."""
    device = cf.cuda(0)
    x, y, wide = on(device, cf.int32, [1, 2]), on(device, cf.int32, [3, 4]), on(device, cf.int64, [1, 2])
    one = x.move(cf.Slice(cf.Range(0, 1)))
    assert one is not None
    twice = one.move(cf.Broadcast([2]))
    host = cf.from_values(cf.int32, [2], [0, 0])
    assert twice is not None and cf.kernels.add(twice, wide, host) is cf.Answer.WRONG_DTYPE
    assert cf.kernels.add(twice, x, host) is cf.Answer.OFF_HOST
    assert cf.kernels.add(twice, x, on(device, cf.int32, [1])) is cf.Answer.REPEATED_ELEMENTS
    assert cf.kernels.add(x, one, one) is cf.Answer.OVERLAPPING
    assert cf.kernels.add(y, one, one) is cf.Answer.SHAPE_MISMATCH
    assert cf.kernels.sum(y, y, []) is cf.Answer.DECLINED
    device.lose("unplugged")
    refusal("memory/lost", lambda: cf.kernels.add(y, one, one), device="cuda:0", why="unplugged")


def test_refused_calls_queue_nothing() -> None:
    """R3: after a refusal nothing is pending that was not."""
    device = cf.cuda(0)
    x, y = on(device, cf.int32, [1, 2]), on(device, cf.int32, [3])
    before = device.submitted
    assert cf.kernels.add(x, y, y) is cf.Answer.SHAPE_MISMATCH and device.submitted == before


@given(any_dtype(), st.lists(st.integers(0, 1), min_size=1, max_size=9), st.data())
def test_copies_take_any_layout(dtype: cf.Dtype, given_values: list[int], data: st.DataObject) -> None:
    """to_device, transfer and copy move elements of any width between the host and devices, and no other bit."""
    count = len(given_values)
    places = [cf.host(), cf.cuda(0), cf.cuda(1)]
    wide = cf.empty(data.draw(st.sampled_from(places)), dtype, [2 * count])
    inspection.poke(wide.buffer, b"\xa5" * wide.buffer.nbytes)
    every_second = wide.move(cf.Slice(cf.Range(0, count, 2)))
    assert every_second is not None
    source = cf.from_values(dtype, [count], [dtype_value(dtype, value) for value in given_values])
    for _ in range(2):
        source = source.to_device(data.draw(st.sampled_from(places))).copy()
    cf.transfer(source, every_second)
    arrived = wide.to_device(cf.host())
    assert arrived.to_values()[::2] == [dtype_value(dtype, value) for value in given_values]
    untouched = cf.empty(cf.host(), dtype, [2 * count])
    inspection.poke(untouched.buffer, b"\xa5" * untouched.buffer.nbytes)
    kept = [untouched.get([2 * at + 1]) for at in range(count)]
    assert [repr(arrived.get([2 * at + 1])) for at in range(count)] == [repr(value) for value in kept]


def dtype_value(dtype: cf.Dtype, value: int) -> int | float | complex:
    """A number as the dtype reads it back: 0 or 1, which every format has."""
    return cf.from_values(dtype, [1], [bool(value) if dtype in (cf.bit, cf.bool_) else value]).get([0])


def test_sub_byte_elements_off_the_host_need_a_computing_device() -> None:
    """arrays/sub-byte-off-host is refused only of devices that compute nothing."""
    far = cf.empty(cf.simulated("gpu"), cf.int4, [2])
    source = cf.from_values(cf.int4, [2], [1, 2])
    refusal("arrays/sub-byte-off-host", lambda: cf.transfer(source, far), device="gpu")
    refusal("arrays/sub-byte-off-host", far.copy, device="gpu")
    near = source.to_device(cf.cuda(0))
    assert values(near.copy()) == [1, 2] and near.copy().device is cf.cuda(0)


def test_copies_are_submissions_of_the_device() -> None:
    """Between the host and a device the device's; between two devices the source's."""
    one, other = cf.cuda(0), cf.cuda(1)
    source = cf.from_values(cf.int4, [4], [1, 2, 3, 4])
    there = source.to_device(one)
    assert (one.submitted, other.submitted) == (1, 0)
    across = there.to_device(other)
    assert (one.submitted, other.submitted) == (2, 0)
    assert values(across) == [1, 2, 3, 4] and (one.submitted, other.submitted) == (2, 1)
    assert (one.reached, other.reached) == (2, 1)


def test_the_host_reads_pinned_memory_after_the_work() -> None:
    """PINNED and MAPPED memory is host memory in the order of work: its readers wait for the device."""
    device = cf.cuda(0)
    for kind in (cf.PINNED, cf.MAPPED):
        array = on(device, cf.uint8, [1, 2], kind)
        cf.submit(device, fill(7), [], [array.buffer])
        assert array.to_values() == [7, 7] and device.reached == device.submitted
        away = array.borrow(cf.host())
        assert away is not None and away.device is cf.host() and away.get([0]) == 7
        assert array.borrow(cf.cuda(1)) is None and away.borrow(cf.cuda(1)) is None


def test_host_memory_in_whole_pages_is_borrowed() -> None:
    """Whole pages are borrowed, once mapped by the device they compute there; other host memory is None."""
    device = cf.cuda(0)
    pages = cf.from_buffer(cf.uint8, mmap.mmap(-1, 2 * mmap.PAGESIZE))
    lent = pages.borrow(device)
    assert lent is not None and lent.device is device
    assert cf.from_values(cf.uint8, [3], [1, 2, 3]).borrow(device) is None
    own = cf.empty(device, cf.uint8, pages.shape)
    assert cf.kernels.fill(own, 5) is cf.kernels.copy(lent, own) is cf.Answer.DONE
    assert pages.get([4097]) == 5 and device.reached == device.submitted
    assert cf.kernels.copy(pages, own) is cf.Answer.OFF_HOST
    device.borrows = lambda memory: True  # type: ignore[attr-defined]
    assert cf.from_values(cf.uint8, [3], [1, 2, 3]).borrow(device) is not None
    assert cf.empty(cf.cuda(1), cf.uint8, [4]).borrow(device) is None


def test_read_memory_stays_read() -> None:
    """What is borrowed of Read memory is Read: a kernel that writes it is refused."""
    device = cf.cuda(0)
    device.borrows = lambda memory: True  # type: ignore[attr-defined]
    lent = cf.from_buffer(cf.uint8, bytes(4)).borrow(device)
    assert lent is not None and cf.kernels.fill(lent, 1) is cf.Answer.READ_ONLY
    own = cf.empty(device, cf.uint8, [4])
    assert cf.kernels.copy(own, lent) is cf.Answer.DONE and values(own) == [0, 0, 0, 0]


def test_work_of_several_devices_is_ordered_by_memory() -> None:
    """A wait performs what it needs on each device and no more."""
    one, other = cf.cuda(0), cf.cuda(1)
    x, aside = on(one, cf.int32, [1]), on(one, cf.int32, [9])
    y = x.to_device(other)
    assert cf.kernels.add(y, y, y) is cf.Answer.DONE and cf.kernels.add(aside, aside, aside) is cf.Answer.DONE
    assert values(y) == [2]
    assert one.submitted == one.reached + 1 and other.reached == other.submitted


def test_a_failing_submission_loses_the_device() -> None:
    """Its memory of every kind is lost, others' only where it must follow what was not reached."""
    device = cf.cuda(0)
    pinned, copied = device.buffer(1, cf.PINNED), cf.host().buffer(1)
    done = cf.host().buffer(1)
    cf.submit_copy(device.buffer(1), done)
    device.advance(1)
    cf.submit(device, boom, [], [pinned])
    cf.submit_copy(device.buffer(1), copied)
    refusal("memory/lost", lambda: pinned.wait(cf.READ), device="cuda:0")
    refusal("memory/lost", lambda: copied.wait(cf.READ), device="cuda:0")
    refusal("memory/lost", lambda: device.buffer(1, cf.MAPPED), device="cuda:0")
    bytes_of(done)
    cf.cuda(1).buffer(1).wait(cf.READ)


def test_a_new_model_has_new_devices() -> None:
    """What was lost stays lost; devices modelled afterwards are others."""
    lost = cf.cuda(0)
    lost.lose("unplugged")
    inspection.model_cuda(2)
    assert cf.cuda(0) is not lost and cf.cuda(0).submitted == 0
    refusal("memory/lost", lambda: lost.buffer(1), why="unplugged")


@given(st.lists(st.tuples(st.sampled_from(["add", "sub", "mul"]), st.integers(0, 2), st.integers(0, 2),
                          st.integers(0, 2)), max_size=6), st.sampled_from(WHOLE[:2]))  # fmt: skip
def test_a_row_of_calls_computes_what_the_host_does(calls: list[tuple[str, int, int, int]], dtype: cf.Dtype) -> None:
    """Queued calls on a device end in the values that the same calls on the host give."""
    start = [[1, 2, 3], [5, 1, 0], [2, 2, 2]]
    there = [on(cf.cuda(0), dtype, given) for given in start]
    here = [cf.from_values(dtype, [3], given) for given in start]
    for name, dst, x, y in calls:
        kernel = getattr(cf.kernels, name)
        assert kernel(there[dst], there[x], there[y]) is kernel(here[dst], here[x], here[y])
    assert [values(array) for array in there] == [array.to_values() for array in here]
