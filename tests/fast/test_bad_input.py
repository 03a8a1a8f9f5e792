"""Bad input is refused by name at the surface: never a crash, a hang or half a change."""

from __future__ import annotations

import gc
import io
import math
import mmap
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterfoil as cf

K = cf.kernels
LARGEST = {
    cf.float64: (2 - 2.0**-52) * 2.0**1023,
    cf.float32: (2 - 2.0**-23) * 2.0**127,
    cf.complex64: (2 - 2.0**-23) * 2.0**127,
    cf.bfloat16: (2 - 2.0**-7) * 2.0**127,
    cf.float8_e4m3fn: 448.0,
}
HUGE = 10**40
FOREIGN = [None, True, "seven", 0.5, float("nan"), b"\x00", {}, object(), np.zeros(2), [], cf.float32]


def array(dtype: Any = cf.float32, *shape: int) -> cf.Array:
    return cf.fill(cf.host_array(dtype, shape or (2, 3)), True if dtype in (cf.bool_, cf.bit) else 1)


def refused(call: Callable[[], object]) -> cf.Refusal:
    """The refusal a call ends in; anything else raised is a bug."""
    with pytest.raises(cf.Refusal) as caught:
        call()
    return caught.value


# What takes an object of ours, by the argument it must name.
TAKES_OBJECTS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "move": ("move", lambda x: array().move(x)),
    "layout.move": ("move", lambda x: cf.Layout([2], [1]).move(x)),
    "move_shape": ("move", lambda x: cf.move_shape(x, [2])),
    "bitcast": ("dtype", lambda x: array().bitcast(x)),
    "expect": ("dtype", lambda x: array().expect(x)),
    "to_device": ("device", lambda x: array().to_device(x)),
    "array.borrow": ("device", lambda x: array().borrow(x)),
    "buffer.borrow": ("device", lambda x: array().buffer.borrow(x)),
    "overlaps": ("other", lambda x: array().buffer.overlaps(x)),
    "wait": ("access", lambda x: array().buffer.wait(x)),
    "transfer.src": ("src", lambda x: cf.transfer(x, array())),
    "transfer.dst": ("dst", lambda x: cf.transfer(array(), x)),
    "submit_copy": ("dst", lambda x: cf.submit_copy(array().buffer, x)),
    "submit_fill": ("buffer", lambda x: cf.submit_fill(x, 0)),
    "submit.device": ("device", lambda x: cf.submit(x, print, [], [])),
    "submit.reads": ("reads", lambda x: cf.submit(cf.simulated("d"), print, [x], [])),
    "submit.writes": ("writes", lambda x: cf.submit(cf.simulated("d"), print, [], [x])),
    "claims.read": ("read", lambda x: cf.claims(read=[x])),
    "claims.donate": ("donate", lambda x: cf.claims(donate=[x])),
    "array.layout": ("layout", lambda x: cf.Array(cf.float32, x, array().buffer)),
    "array.buffer": ("buffer", lambda x: cf.Array(cf.float32, cf.Layout([1], [1]), x)),
    "empty.device": ("device", lambda x: cf.empty(x, cf.float32, [1])),
    "empty.kind": ("kind", lambda x: cf.empty(cf.host(), cf.float32, [1], x)),
    "door.written": ("written", lambda x: cf.door([x], [], print)),
    "door.read": ("read", lambda x: cf.door([], [x], print)),
    "refused.answer": ("answer", lambda x: cf.refused("f", x, [])),
    "refused.operands": ("operands", lambda x: cf.refused("f", cf.Answer.OVERLAPPING, [x])),
    "coalesce": ("layouts", lambda x: cf.coalesce([x])),
    "add.dst": ("dst", lambda x: K.add(x, array(), array())),
    "add.x": ("x", lambda x: K.add(array(), x, array())),
    "add.y": ("y", lambda x: K.add(array(), array(), x)),
    "where.c": ("c", lambda x: K.where(array(), x, array(), array())),
    "fma.z": ("z", lambda x: K.fma(array(), array(), array(), x)),
    "neg.x": ("x", lambda x: K.neg(array(), x)),
    "sum.x": ("x", lambda x: K.sum(array(), x, [0])),
    "map.inputs": ("inputs", lambda x: K.map(array(), cf.Input(0), [x])),
    "live_bytes": ("device", lambda x: cf.inspection.live_bytes(x)),
    "memory_bytes": ("buffer", lambda x: cf.inspection.memory_bytes(x)),
}


@pytest.mark.parametrize("name", TAKES_OBJECTS)
def test_foreign_objects_are_named(name: str) -> None:
    """Every argument that is an object of ours refuses every other object, naming the argument."""
    argument, call = TAKES_OBJECTS[name]
    for foreign in FOREIGN:
        if foreign is cf.float32 and argument == "dtype":
            continue
        refusal = refused(lambda foreign=foreign: call(foreign))
        assert refusal.rule == "arguments/wrong-type" and refusal.subjects["argument"] == argument


TAKES_INTEGERS: dict[str, Callable[[Any], object]] = {
    "shape": lambda n: cf.host_array(cf.float32, [2, n]),
    "strides": lambda n: cf.Layout([2], [n]),
    "offset": lambda n: cf.Layout([2], [1], n),
    "index": lambda n: array().get([0, n]),
    "nbytes": lambda n: cf.host().buffer(n),
    "first": lambda n: array().buffer.view(n, 1),
    "count": lambda n: cf.simulated("d").advance(n),
    "byte": lambda n: cf.submit_fill(array().buffer, n),
    "axis": lambda n: K.cumsum(array(), array(), n),
    "axes": lambda n: K.sum(array(), array(), [n]),
    "budget": lambda n: setattr(cf.simulated("d"), "budget", n),
    "ordinal": lambda n: cf.cuda(n),
}


@pytest.mark.parametrize("argument", TAKES_INTEGERS)
def test_what_is_no_integer_is_named(argument: str) -> None:
    """bool, float, NaN and text are no integers, wherever one is taken."""
    for foreign in (True, 1.0, float("nan"), "1", b"1", {}, 1j):
        refusal = refused(lambda foreign=foreign: TAKES_INTEGERS[argument](foreign))
        assert refusal.rule == "arguments/not-integer" and refusal.subjects["argument"] == argument


@pytest.mark.parametrize("argument", sorted(set(TAKES_INTEGERS) - {"axis", "axes", "budget", "strides", "offset"}))
@pytest.mark.parametrize("value", [-HUGE, -(2**63) - 1, HUGE, 2**63, 2**64])
def test_huge_integers_are_refused_exactly(argument: str, value: int) -> None:
    """Integers past 64 bits are refused like any other outside the range, and named in full."""
    refusal = refused(lambda: TAKES_INTEGERS[argument](value))
    assert refusal.rule != "arguments/not-integer"


@pytest.mark.parametrize("value", [-HUGE, -(2**63) - 1, 2**63, HUGE])
def test_huge_axes_fit_no_shape(value: int) -> None:
    """An axis past 64 bits is an axis of nothing: Shape_mismatch, as the door's order has it."""
    assert K.sum(array(), array(), [value]) is cf.Answer.SHAPE_MISMATCH
    assert K.cumsum(array(), array(), value) is cf.Answer.SHAPE_MISMATCH
    assert K.iota(array(), value) is cf.Answer.SHAPE_MISMATCH


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "rule"),
    [
        ([2], [HUGE], 0, "layouts/past-limit"),
        ([2], [-HUGE], 0, "layouts/negative-position"),
        ([2], [-HUGE], HUGE, "layouts/past-limit"),
        ([2, 2], [HUGE, -HUGE], 0, "layouts/negative-position"),
        ([2, 2], [2**62, 2**62], 2**62, "layouts/past-limit"),
        ([1], [1], -HUGE, "layouts/negative-position"),
        ([HUGE], [0], 0, "layouts/too-many-elements"),
        ([HUGE, 0], [0, 0], 0, "layouts/too-many-elements"),
        ([-HUGE], [0], 0, "layouts/negative-extent"),
    ],
)
def test_layouts_far_outside_are_classified_exactly(shape: Any, strides: Any, offset: int, rule: str) -> None:
    """Entries past 64 bits are judged by the exact positions they reach, and shown as they were given."""
    refusal = refused(lambda: cf.Layout(shape, strides, offset))
    assert refusal.rule == rule
    if "strides" in refusal.subjects:
        assert refusal.subjects == {"shape": shape, "strides": strides, "offset": offset}


def test_entries_that_do_not_count_may_be_huge() -> None:
    """Strides of axes of extent 1, and everything beside a 0 extent, are dropped before any range is looked at."""
    assert cf.Layout([1, 2], [HUGE, 1], 3) == cf.Layout([1, 2], [0, 1], 3)
    assert cf.Layout([0, 5], [HUGE, -HUGE], -HUGE) == cf.Layout([0, 5], [0, 0])


@pytest.mark.parametrize("dtype", [cf.int8, cf.uint64, cf.int4, cf.bit, cf.bool_, cf.float32, cf.complex64], ids=repr)
def test_values_of_another_kind_are_refused_and_nothing_is_stored(dtype: Any) -> None:
    """Text, None, and numbers of a kind the dtype does not take leave the array as it was."""
    x = array(dtype)
    before = cf.inspection.memory_bytes(x.buffer)
    numbers: dict[Any, list[Any]] = {cf.float32: [1j, True], cf.complex64: [True], cf.bit: [1, 0.0], cf.bool_: [1]}
    for value in ["1", None, [1], object(), *numbers.get(dtype, [0.5, True, 1j, float("nan"), HUGE, -HUGE])]:
        for call in (lambda v: x.set([0, 0], v), lambda v: K.fill(x, v), lambda v: cf.from_values(dtype, [1], [v])):
            rule = refused(lambda call=call, value=value: call(value)).rule
            assert rule in ("dtypes/value-type", "dtypes/value-range")
    assert cf.inspection.memory_bytes(x.buffer) == before and x.buffer.claims == (0, False, False)


def test_the_index_is_looked_at_before_the_value() -> None:
    """A wrong index and a wrong value: the index is named."""
    assert refused(lambda: array().set([5, 5], "x")).rule == "arrays/index-range"


@pytest.mark.parametrize("value", [2**53 + 1, -(2**60) - 1, 2**64 + 1, 10**30, 10**400, -(10**400)])
@pytest.mark.parametrize("dtype", [cf.float64, cf.float32, cf.bfloat16, cf.float8_e4m3fn, cf.complex64], ids=repr)
def test_integers_of_any_size_round_once_into_floats(dtype: Any, value: int) -> None:
    """An int past 2^53, past 2^64 or past the largest float stores as its exact value rounds; no OverflowError."""
    x = cf.host_array(dtype, [1])
    x.set([0], value)
    stored = x.get([0])
    exact = Fraction(value)
    if stored not in (math.inf, -math.inf) and abs(exact) <= LARGEST[dtype]:
        spacing = Fraction(2) ** (value.bit_length() - 1 - dtype.float_format.fraction_bits)
        assert abs(Fraction(stored.real) - exact) <= spacing / 2
    else:
        assert abs(stored) in (math.inf, LARGEST[dtype]) and (stored.real > 0) == (value > 0)


@pytest.mark.parametrize("given", [io.BytesIO(), 5, "text", None, [1, 2], object()], ids=lambda x: type(x).__name__)
def test_from_buffer_takes_buffers_only(given: Any) -> None:
    """Objects without a memory of their own are refused by name."""
    assert refused(lambda: cf.from_buffer(cf.uint8, given)).rule == "arguments/not-a-buffer"


def test_closed_and_released_memory_is_refused(tmp_path: Path) -> None:
    """A closed map and a released view offer no memory; a map we hold cannot be closed."""
    view = memoryview(bytearray(4))
    view.release()
    assert refused(lambda: cf.from_buffer(cf.uint8, view)).rule == "arguments/not-a-buffer"
    (tmp_path / "file").write_bytes(b"abcd")
    with (tmp_path / "file").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 4)
        x = cf.from_buffer(cf.uint8, mapped)
        with pytest.raises(BufferError):
            mapped.close()
        assert x.to_values() == list(b"abcd")
        del x
        mapped.close()
        assert refused(lambda: cf.from_buffer(cf.uint8, mapped)).rule == "arguments/not-a-buffer"


@pytest.mark.parametrize("path", ["", "missing", ".", "a\0b", "x" * 5000, "/dev/zero"])
def test_paths_that_name_no_regular_file(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """open refuses what is no regular file, without waiting for a device or a pipe."""
    monkeypatch.chdir(tmp_path)
    assert refused(lambda: cf.disk().open(path)).rule == "memory/file"
    os.mkfifo(tmp_path / "pipe")
    assert refused(lambda: cf.disk().open("pipe")).rule == "memory/file"


def test_files_are_created_whole_or_not_at_all(tmp_path: Path) -> None:
    """create never writes over a file, and leaves none behind where its size cannot be had."""
    path = tmp_path / "new"
    assert refused(lambda: cf.disk().create(str(path), 2**62)).rule == "memory/file"
    assert refused(lambda: cf.disk().create(str(path), HUGE)).rule == "memory/file"
    assert not path.exists()
    cf.disk().create(str(path), 3)
    assert refused(lambda: cf.disk().create(str(path), 3)).rule == "memory/file"
    assert path.read_bytes() == bytes(3)


def test_a_file_cut_short_is_refused_not_touched(tmp_path: Path) -> None:
    """Copying from a file that shrank since it was opened is refused; the process lives."""
    path = tmp_path / "file"
    path.write_bytes(bytes(100_000))
    disk = cf.Array(cf.uint8, cf.Layout.contiguous([100_000]), cf.disk().open(str(path)))
    os.truncate(path, 10)
    assert refused(lambda: disk.to_device(cf.host())).rule == "memory/file"
    assert refused(lambda: cf.inspection.memory_bytes(disk.buffer)).rule == "memory/file"


def test_allocations_no_machine_has_are_refused() -> None:
    """Sizes past the address space are memory/exhausted, and nothing counts as live."""
    gc.collect()
    before = cf.inspection.live_bytes(cf.host())
    for call in (lambda: cf.host().buffer(2**62), lambda: cf.host_array(cf.complex128, [2**53])):
        refusal = refused(call)
        assert isinstance(refusal, cf.DeviceMemoryExhausted) and refusal.rule == "memory/exhausted"
    assert cf.inspection.live_bytes(cf.host()) == before


def test_arrays_made_behind_the_constructor_do_nothing_harmful() -> None:
    """An array without its parts, as copy or __new__ could make it, raises; so do copies and pickles of arrays."""
    import copy
    import pickle

    hollow = object.__new__(cf.Array)
    good = array()
    calls: list[Callable[[], object]] = [
        lambda: K.add(good, hollow, good),
        lambda: hollow.get([]),
        lambda: hollow.move(cf.Reshape([])),
        lambda: hollow[...],
        lambda: hollow.to_values(),
        lambda: cf.transfer(hollow, good),
        lambda: copy.copy(good),
        lambda: pickle.dumps(good),
        lambda: cf.door([hollow], [], print),
    ]
    for call in calls:
        with pytest.raises((TypeError, AttributeError, cf.Refusal)):
            call()
    with pytest.raises(TypeError):
        cf.Buffer()


def test_moves_and_layouts_survive_pickling_after_use() -> None:
    """What a move keeps beside its fields after its first use changes neither its equality nor its pickle's."""
    import pickle

    move, layout = cf.Slice(cf.Range(0, 1), cf.Range(2, 2, -1)), cf.Layout([2, 3], [3, 1])
    assert layout.move(move) is not None
    assert pickle.loads(pickle.dumps(move)) == move == cf.Slice(cf.Range(0, 1), cf.Range(2, 2, -1))
    assert pickle.loads(pickle.dumps(layout)) == layout and len({layout, cf.Layout([2, 3], [3, 1])}) == 1


def test_a_changing_sequence_is_read_once() -> None:
    """A shape whose entries change under the reader is read once, and the result fits what was read."""

    class Shifting:
        def __init__(self) -> None:
            self.reads = 0

        def __iter__(self) -> Any:
            self.reads += 1
            return iter([self.reads, 2])

    shifting = Shifting()
    assert cf.host_array(cf.int32, shifting).shape == (1, 2) and shifting.reads == 1


def test_endless_iterables_end() -> None:
    """An endless iterable of values is read one past what the shape takes, and refused."""
    import itertools

    assert refused(lambda: cf.from_values(cf.int32, [3], itertools.count())).rule == "arrays/values-count"


def test_vast_expressions_are_declined() -> None:
    """An expression that doubles by sharing, or nests deeper than Python recurses, is Declined without expanding it."""
    x = array()
    doubled: Any = cf.Input(0)
    for _ in range(200):
        doubled = cf.Apply("add", doubled, doubled)
    deep: Any = cf.Input(0)
    for _ in range(20_000):
        deep = cf.Apply("neg", deep)
    for expression in (doubled, deep):
        assert K.map(array(), expression, [x]) is cf.Answer.DECLINED


def test_a_million_operands_are_answered() -> None:
    """The number of operands of map and of the door is bounded by nothing but memory."""
    x, many = array(), [array()] * 1_000_000
    assert K.map(x, cf.Constant(cf.float32, 1.0), many) is cf.Answer.DECLINED
    assert cf.door([x], many, lambda: None) is cf.Answer.DONE
    assert many[0].buffer.claims == (0, False, False)
