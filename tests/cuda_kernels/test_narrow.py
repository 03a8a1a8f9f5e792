"""Elements narrower than a byte in memory that the host addresses: a device's atomics never touch it.

The emulated driver ends a kernel that does an atomic operation there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.cuda_arrays.emulated import EMULATED, calls

import counterfoil as cf
from counterfoil_spec.answers import Answer

KINDS = (cf.MemoryKind.PINNED, cf.MemoryKind.MAPPED)


def there(dtype: Any, shape: tuple[int, ...]) -> cf.Array:
    """Elements of the device's own memory."""
    values = [place * 5 % 7 % 2 for place in range(math.prod(shape))]
    given = [bool(value) for value in values] if dtype is cf.bit else values
    return cf.from_values(dtype, shape, given).to_device(cf.cuda(0))


def within(device: Any, kind: cf.MemoryKind, dtype: Any, shape: tuple[int, ...]) -> cf.Array:
    """An array of every other element of some memory, all bits of which are set, from the third on."""
    strides, step = [0] * len(shape), 2
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= shape[axis]
    layout = cf.Layout(shape, strides, 3)
    buffer = device.buffer(-(-layout.span[1] * dtype.bits // 8) + 2, kind)
    cf.inspection.poke(buffer, b"\xff" * buffer.nbytes)
    return cf.Array(dtype, layout, buffer)


CALLS: list[tuple[str, Any, Callable[[Any], Answer], tuple[int, ...]]] = [
    ("add", cf.int4, lambda dst: cf.kernels.add(dst, there(cf.int4, (3, 5)), there(cf.int4, (3, 5))), (3, 5)),
    ("cast", cf.uint4, lambda dst: cf.kernels.cast(dst, there(cf.float32, (3, 5))), (3, 5)),
    ("copy", cf.bit, lambda dst: cf.kernels.copy(dst, there(cf.bit, (3, 5))), (3, 5)),
    ("sum", cf.int4, lambda dst: cf.kernels.sum(dst, there(cf.int4, (3, 5)), (1,)), (3,)),
    ("max", cf.float4_e2m1fn, lambda dst: cf.kernels.max(dst, there(cf.float4_e2m1fn, (3, 5)), (0,)), (5,)),
    ("cumsum", cf.int4, lambda dst: cf.kernels.cumsum(dst, there(cf.int4, (3, 5)), 1), (3, 5)),
    ("softmax", cf.float4_e2m1fn, lambda dst: cf.kernels.softmax(dst, there(cf.float4_e2m1fn, (3, 5)), 1), (3, 5)),
    ("matmul", cf.int4, lambda dst: cf.kernels.matmul(dst, there(cf.int4, (3, 4)), there(cf.int4, (4, 5))), (3, 5)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "call", "shape"), [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
def test_results_are_those_in_the_devices_memory(kind: cf.MemoryKind, dtype: Any, call: Any, shape: Any) -> None:
    """And neighbours keep their bits, whoever stores the elements."""
    device = cf.cuda(0)
    found = []
    for where in (kind, cf.MemoryKind.DEVICE):
        dst = within(device, where, dtype, shape)
        assert call(dst) is Answer.DONE
        dst.buffer.wait(cf.Access.READ)
        found.append(bytes(cf.inspection.memory_bytes(dst.buffer)))
    assert found[0] == found[1] != b"\xff" * len(found[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_transfer_of_the_devices_is_the_hosts_in_the_end(kind: cf.MemoryKind) -> None:
    """From memory of the device into page-locked memory, elements in between others."""
    device = cf.cuda(0)
    source, target = there(cf.int4, (3, 5)), within(device, kind, cf.int4, (3, 5))
    cf.transfer(source, target)
    assert target.to_values() == source.to_device(cf.host()).to_values()
    kept = cf.inspection.memory_bytes(target.buffer)
    assert kept[0] == 0xFF and {byte & 15 for byte in kept} == {15}


def test_a_destination_identical_to_a_source_is_read_first() -> None:
    """Page-locked memory doubled in place; a reduction of itself is declined as anywhere."""
    device = cf.cuda(0)
    array = within(device, cf.MemoryKind.PINNED, cf.int4, (3, 5))
    own = there(cf.int4, (3, 5))
    assert cf.kernels.copy(array, own) is Answer.DONE
    assert cf.kernels.add(array, array, own) is Answer.DONE
    assert array.to_values() == [2 * value for value in own.to_device(cf.host()).to_values()]
    square = within(device, cf.MemoryKind.PINNED, cf.int4, (2, 2))
    assert cf.kernels.matmul(square, square, there(cf.int4, (2, 2))) is Answer.DECLINED


@pytest.mark.skipif(not EMULATED, reason="counts calls of the emulated driver")
def test_whole_bytes_need_no_part_of_the_hosts() -> None:
    """A result whose elements fill their bytes in a row is copied to where it belongs."""
    device = cf.cuda(0)
    dst = cf.empty(device, cf.int4, (3, 4), cf.MemoryKind.PINNED)
    before = calls("cuMemcpyDtoHAsync")
    assert cf.kernels.add(dst, there(cf.int4, (3, 4)), there(cf.int4, (3, 4))) is Answer.DONE
    assert calls("cuMemcpyDtoHAsync") == before + 1
    device.advance(1 << 40)
    assert device.reached == device.submitted
