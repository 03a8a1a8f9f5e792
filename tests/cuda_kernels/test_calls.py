"""Calls of kernels on a device: where they run, what they answer and in which order, what they leave in the queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import counterfoil as cf
from counterfoil.cuda import compiler, cubins
from counterfoil_spec.answers import Answer
from counterfoil_spec.expressions import Apply, Constant, Input, Node


@pytest.fixture
def cuda() -> Iterator[Any]:
    """The device, everything on it done before and after."""
    device = cf.cuda(0)
    device.advance(device.submitted)
    yield device
    device.advance(device.submitted)


def there(device: Any, values: Any) -> cf.Array:
    """Values as an array of the device."""
    return cf.asarray(np.array(values)).to_device(device)


def here(array: cf.Array) -> list[Any]:
    """An array's values."""
    return array.to_device(cf.host()).to_values()


def test_operators_compute_on_the_operands_device(cuda: Any) -> None:
    """Results, and the scalars beside them, lie where the operands do."""
    x = there(cuda, [1.0, 2.0, 3.0])
    result = 2 * x + x / 4
    assert result.device is cuda
    assert here(result) == [2.25, 4.5, 6.75]


def test_functions_allocate_on_the_operands_device(cuda: Any) -> None:
    """cf.where, cf.cast and cf.map too, broadcast operands among them."""
    x = there(cuda, [[1, 2, 3], [4, 5, 6]])
    flags = x < there(cuda, [[2, 3, 4]] * 2)
    chosen = cf.cast(cf.where(flags, x, -x), cf.float32)
    doubled = cf.map(Apply("add", Input(0), Input(0)), [chosen])
    assert doubled.device is cuda
    assert here(doubled) == [2.0, 4.0, 6.0, -8.0, -10.0, -12.0]


def test_an_accepted_call_is_one_submission(cuda: Any) -> None:
    """It answers Done when queued, a copy of an array to itself too; a refused one queues nothing."""
    x, y = there(cuda, [1.0, 2.0]), there(cuda, [0.0, 0.0])
    before = cuda.submitted
    assert cf.kernels.neg(y, x) is Answer.DONE
    assert cf.kernels.copy(y, y) is Answer.DONE
    assert cuda.submitted == before + 2
    assert cf.kernels.neg(there(cuda, [0.0]), x) is Answer.SHAPE_MISMATCH


def test_host_and_device_operands_do_not_mix(cuda: Any) -> None:
    """Off_host, whichever of the operands is elsewhere; pinned memory of the device does mix."""
    x, y, z = there(cuda, [1.0]), cf.asarray(np.array([2.0])), there(cuda, [0.0])
    assert cf.kernels.add(z, x, y) is Answer.OFF_HOST
    assert cf.kernels.add(y, x, z) is Answer.OFF_HOST
    pinned = cf.Array(cf.float64, cf.Layout((1,), (1,), 0), cuda.buffer(8, cf.MemoryKind.PINNED))
    assert cf.kernels.add(pinned, x, x) is Answer.DONE
    assert pinned.to_values() == [2.0]


def faulty(cuda: Any) -> dict[Answer, tuple[cf.Array, list[cf.Array]]]:
    """A destination and sources of ``add`` for each answer, with faults of later answers beside its own."""
    buffer = cuda.buffer(64)
    inside = cf.Array(cf.float64, cf.Layout((2,), (1,), 0), buffer)
    across = cf.Array(cf.float64, cf.Layout((2,), (1,), 1), buffer)
    repeated = cf.Array(cf.float64, cf.Layout((2,), (0,), 0), buffer)
    short = there(cuda, [1.0])
    dead = there(cuda, [1.0, 2.0])
    dead.buffer.free("test")
    host = cf.asarray(np.array([1.0, 2.0]))
    return {
        Answer.DEAD_BUFFER: (repeated, [host, dead]),
        Answer.WRONG_DTYPE: (repeated, [host, cf.asarray(np.array([1, 2]))]),
        Answer.OFF_HOST: (repeated, [host, short]),
        Answer.REPEATED_ELEMENTS: (repeated, [across, short]),
        Answer.OVERLAPPING: (inside, [across, short]),
        Answer.SHAPE_MISMATCH: (inside, [inside, short]),
    }


def test_the_doors_order_holds_on_a_device(cuda: Any) -> None:
    """A3: the first of several faults is the answer, nothing is queued and no claim is left."""
    before = cuda.submitted
    for answer, (dst, sources) in faulty(cuda).items():
        started = cuda.submitted
        assert cf.kernels.add(dst, *sources) is answer
        assert cuda.submitted == started
        assert all(not operand.buffer.claims[0] for operand in (dst, *sources))
    assert cuda.submitted > before


@pytest.mark.parametrize("form", ["f4", "i1", "c16"])
@pytest.mark.parametrize("first", [0, 16, 3])
def test_rows_of_wider_arrays(cuda: Any, form: str, first: int) -> None:
    """Beside a row and a column that are repeated; aligned for vectors or not; what is beside the rows is kept."""
    wide = np.arange(12 * 96).reshape(12, 96).astype(form)
    row, column = np.arange(64).astype(form), np.arange(12).astype(form)[:, None]
    x, dst = there(cuda, wide), there(cuda, -wide)
    inside = (slice(None), slice(first, first + 64))
    given = [x[inside], there(cuda, row).move(cf.Broadcast((12, 64))), there(cuda, column).move(cf.Broadcast((12, 64)))]
    for name, place in (("mul", 1), ("sub", 2)):
        assert getattr(cf.kernels, name)(dst[inside], given[0], given[place]) is Answer.DONE
        other = (row, column)[place - 1]
        right = -wide
        right[inside] = wide[inside] * other if name == "mul" else wide[inside] - other
        assert here(dst) == right.reshape(-1).tolist()


def test_elements_half_a_buffer_apart(cuda: Any) -> None:
    """Bits at positions 0 and 2^31, moved by 64-bit indices: neighbours keep theirs."""
    buffer = cuda.buffer((1 << 28) + 1)
    cf.submit_fill(buffer, 0b10101010)
    ends = cf.Array(cf.bit, cf.Layout((2,), (1 << 31,), 0), buffer)
    assert cf.kernels.fill(ends, True) is Answer.DONE
    around = cf.Array(cf.bit, cf.Layout((2, 8), (1 << 31, 1), 0), buffer)
    assert here(around) == [True, True, False, True, False, True, False, True] * 2


def chain(nodes: int) -> Node:
    """An expression of an odd number of nodes."""
    root: Node = Input(0)
    for _ in range(nodes // 2):
        root = Apply("add", root, Constant(cf.float32, 1.0))
    return root


def test_what_the_host_declines_the_device_declines(cuda: Any) -> None:
    """K1: a program of more than 64 nodes; one of 63 is computed."""
    x, dst = (there(cuda, np.zeros(4, "f4")) for _ in range(2))
    assert cf.kernels.map(dst, chain(65), [x]) is Answer.DECLINED
    assert cf.kernels.map(dst, chain(63), [x]) is Answer.DONE
    assert here(dst) == [31.0] * 4


def test_programs_that_differ_in_constants_share_a_cubin(cuda: Any) -> None:
    """Constants are parameters of the kernel."""
    x, dst = (there(cuda, np.ones(4, "f4")) for _ in range(2))
    assert cf.kernels.map(dst, Apply("mul", x_plus(1.5), Input(0)), [x]) is Answer.DONE
    count = cubins.loaded(cuda)
    assert cf.kernels.map(dst, Apply("mul", x_plus(2.5), Input(0)), [x]) is Answer.DONE
    assert cubins.loaded(cuda) == count
    assert here(dst) == [3.5] * 4


def x_plus(value: float) -> Node:
    """The input and a constant."""
    return Apply("add", Input(0), Constant(cf.float32, value))


def test_a_cubin_is_found_on_disk(cuda: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time a text is asked for nothing is compiled; a text is compiled for each architecture."""
    monkeypatch.setenv("COUNTERFOIL_CACHE", str(tmp_path))
    compiled: list[str] = []
    monkeypatch.setattr(compiler, "cubin", lambda text, arch: compiled.append(arch) or b"bytes")
    found = [cubins.cubin("text", arch) for arch in ("sm_80", "sm_80", "sm_90")]
    assert found == [b"bytes"] * 3
    assert compiled == ["sm_80", "sm_90"]
    assert len(list(tmp_path.glob("*.cubin"))) == 2
