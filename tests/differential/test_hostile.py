"""Hostile arguments: whatever stands in for an argument, both halves refuse it alike, by rule and subjects."""

from __future__ import annotations

import decimal
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import counterfoil
import counterfoil_reference
from counterfoil_spec import refusals

HALVES = (counterfoil_reference, counterfoil)

Make = Callable[[Any], Any]


def raising(*_: Any) -> Any:
    """What an object does that answers nothing."""
    raise ZeroDivisionError


def impostor(cls: type) -> Any:
    """An object that gives another class as its own."""
    return type("Impostor", (), {"__class__": property(lambda self: cls)})()


def subclassed(base: type, value: Any) -> Any:
    """A value of a subclass that raises whenever it is looked at."""
    looks = ("__repr__", "__str__", "__format__", "__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__abs__")
    return type("Sub", (base,), dict.fromkeys(looks, raising))(value)


def endless() -> Iterator[int]:
    """More values than anybody can read."""
    return itertools.repeat(1)


INTEGERS = (0, 1, -1, 300, 2**53, 2**63, -(2**63) - 1, 2**64, 10**5000, -(10**5000))
NUMBERS = (*INTEGERS, 1.0, float("nan"), float("inf"), 1j)
PLAIN = (None, True, False, "abc", "", "\ud800", "a\0b", b"ab", [], [1], [-1], [None], [10**5000], (1, 2), {1},
         {1: 2}, object(), int, len, os, decimal.Decimal(1), np.int64(1), np.float32(1), np.bool_(True),
         np.array(1))  # fmt: skip

HOSTILE: tuple[Make, ...] = (
    *(lambda half, value=value: value for value in (*NUMBERS, *PLAIN)),
    lambda half: memoryview(b"ab"),
    lambda half: (1 // 0 for _ in [1]),
    lambda half: iter([1]),
    lambda half: endless(),
    lambda half: type("Raises", (), {"__index__": raising, "__iter__": raising, "__getattr__": raising})(),
    lambda half: type("Lies", (), {"__len__": lambda self: 2**62, "__iter__": lambda self: iter([1])})(),
    lambda half: subclassed(int, 300),
    lambda half: subclassed(float, 1.5),
    lambda half: subclassed(str, "x"),
    *(lambda half, name=name: impostor(getattr(half, name)) for name in ("Array", "Buffer", "Layout", "Dtype")),
    *(lambda half, cls=cls: impostor(cls) for cls in (int, float, str, bool)),
    lambda half: half.float32,
    lambda half: half.Reshape([2]),
    lambda half: half.Input(0),
    lambda half: half.Layout.contiguous([2]),
    lambda half: half.simulated("d"),
    lambda half: half.host().buffer(8),
    lambda half: [half.host_array(half.float32, [2])],
    lambda half: half.Access.READ,
    lambda half: half.Answer.DONE,
)


def array(half: Any) -> Any:
    """A good array."""
    return half.from_values(half.float32, [2], [1.0, 2.0])


def consumed(half: Any, buffer: Any, why: Any) -> Any:
    """A donation that is consumed."""
    with half.claims(donate=[half.host().buffer(4)]) as held:
        return held.consume(buffer, why)


CALLS: dict[str, tuple[Callable[..., Any], tuple[Make, ...]]] = {
    "of_float": (lambda h, *a: h.of_float(*a), (lambda h: h.int8, lambda h: 1.0)),
    "format_value": (lambda h, *a: h.format_value(*a), (lambda h: h.complex64, lambda h: 1.0)),
    "Layout": (lambda h, *a: h.Layout(*a), (lambda h: [2], lambda h: [1], lambda h: 0)),
    "move_shape": (lambda h, *a: h.move_shape(*a), (lambda h: h.Reshape([2]), lambda h: [2])),
    "Range": (lambda h, *a: h.Range(*a), (lambda h: 0, lambda h: 1, lambda h: 1)),
    "WindowAxis": (lambda h, *a: h.WindowAxis(*a), (lambda h: 0, lambda h: 1, lambda h: 1, lambda h: 1)),
    "Slice": (lambda h, *a: h.Slice(*a), (lambda h: h.Range(0, 1),)),
    "simulated": (lambda h, *a: h.simulated(*a), (lambda h: "s", lambda h: False)),
    "buffer": (lambda h, *a: h.host().buffer(*a), (lambda h: 8, lambda h: h.MemoryKind.DEVICE)),
    "budget": (lambda h, n: setattr(h.simulated("s"), "budget", n), (lambda h: 8,)),
    "advance": (lambda h, n: h.simulated("s").advance(n), (lambda h: 8,)),
    "lose": (lambda h, why: h.simulated("s").lose(why), (lambda h: "x",)),
    "open": (lambda h, path: h.disk().open(path), (lambda h: "/nowhere",)),
    "view": (lambda h, *a: h.host().buffer(8).view(*a), (lambda h: 0, lambda h: 8)),
    "overlaps": (lambda h, other: h.host().buffer(8).overlaps(other), (lambda h: h.host().buffer(8),)),
    "wait": (lambda h, access: h.host().buffer(8).wait(access), (lambda h: h.Access.READ,)),
    "free": (lambda h, why: h.host().buffer(8).free(why), (lambda h: "x",)),
    "submit": (lambda h, *a: h.submit(*a), (lambda h: h.host(), lambda h: len, lambda h: [], lambda h: [])),
    "submit_copy": (lambda h, *a: h.submit_copy(*a), (lambda h: h.host().buffer(8), lambda h: h.host().buffer(8))),
    "submit_fill": (lambda h, *a: h.submit_fill(*a), (lambda h: h.host().buffer(8), lambda h: 7)),
    "consume": (consumed, (lambda h: h.host().buffer(4), lambda h: "w")),
    "Array": (
        lambda h, *a: h.Array(*a),
        (lambda h: h.float32, lambda h: h.Layout.contiguous([2]), lambda h: h.host().buffer(8)),
    ),
    "empty": (lambda h, *a: h.empty(*a), (lambda h: h.host(), lambda h: h.float32, lambda h: [2])),
    "from_values": (lambda h, *a: h.from_values(*a), (lambda h: h.float32, lambda h: [1], lambda h: [1.0])),
    "integers": (lambda h, value: h.from_values(h.int8, [1], [value]), (lambda h: 1,)),
    "from_buffer": (lambda h, *a: h.from_buffer(*a), (lambda h: h.uint8, lambda h: bytearray(8))),
    "bitcast": (lambda h, dtype: array(h).bitcast(dtype), (lambda h: h.int32,)),
    "set": (lambda h, *a: array(h).set(*a), (lambda h: [0], lambda h: 1.0)),
    "move": (lambda h, move: array(h).move(move), (lambda h: h.Reshape([2]),)),
    "to_device": (lambda h, device: array(h).to_device(device), (lambda h: h.host(),)),
    "transfer": (lambda h, *a: h.transfer(*a), (array, array)),
    "refused": (lambda h, *a: h.refused(*a), (lambda h: "n", lambda h: h.Answer.OFF_HOST, lambda h: [array(h)])),
    "add": (lambda h, *a: h.kernels.add(*a), (array, array, array)),
    "fill": (lambda h, *a: h.kernels.fill(*a), (array, lambda h: 1.0)),
    "iota": (lambda h, *a: h.kernels.iota(*a), (array, lambda h: 0)),
    "sum": (lambda h, *a: h.kernels.sum(*a), (lambda h: h.host_array(h.float32, []), array, lambda h: [0])),
    "softmax": (lambda h, *a: h.kernels.softmax(*a), (array, array, lambda h: 0)),
    "map": (lambda h, *a: h.kernels.map(*a), (array, lambda h: h.Input(0), lambda h: [array(h)])),
    "Apply": (lambda h, *a: h.Apply(*a), (lambda h: "neg", lambda h: h.Input(0))),
    "nbytes": (lambda h, count: h.float32.nbytes(count), (lambda h: 1,)),
}
"""The operations of the surface that take arguments, each with arguments that it accepts."""

ENDLESS = ("coalesce", "submit", "map", "refused")
"""Operations whose lists have no bound but memory: an endless one is not put to them."""


def outcome(half: Any, call: Callable[..., Any], arguments: tuple[Any, ...]) -> object:
    """The rule and the subjects of a refusal, or that there was none; an exception of any other kind passes on."""
    try:
        call(half, *arguments)
    except refusals.Refusal as refusal:
        assert str(refusal)
        return refusal.rule, refusal.subjects
    return "accepted"


@pytest.mark.parametrize("name", CALLS)
def test_hostile_arguments_are_refused_alike(name: str) -> None:
    """A12, R1: any object in the place of any argument gives the same refusal in both halves, or none in either."""
    call, good = CALLS[name]
    for place, number in itertools.product(range(len(good)), range(len(HOSTILE))):
        found = []
        for half in HALVES:
            hostile = HOSTILE[number](half)
            if isinstance(hostile, itertools.repeat) and name in ENDLESS:
                continue
            arguments = tuple(hostile if other == place else make(half) for other, make in enumerate(good))
            found.append(outcome(half, call, arguments))
        assert len(found) != 2 or found[0] == found[1], (name, place, HOSTILE[number](HALVES[0]))
