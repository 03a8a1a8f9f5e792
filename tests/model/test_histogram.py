"""The situations that a run of the machine must meet, recognised before each step."""

from collections.abc import Iterator
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.machines.choices import RandomChooser
from counterfoil_oracles.machines.histogram import Histogram, situations
from counterfoil_oracles.machines.world import World
from counterfoil_spec.commands import Command, Refused, Returned


@pytest.fixture
def world() -> Iterator[World]:
    """Eight bytes ``b`` on a device with a timeline, under arrays of int8 and int4."""
    with Driver(reference) as driver:
        made = World(driver, RandomChooser(0))
        run(made, "simulated", "near", name="near", addressable=True)
        run(made, "buffer", "b", device=ref("near"), nbytes=8)
        for name, dtype, shape, strides, offset in (
            ("even", "int8", [4], [2], 0),
            ("odd", "int8", [4], [2], 1),
            ("also_odd", "uint8", [4], [2], 1),
            ("low", "int8", [2], [1], 0),
            ("high", "int8", [2], [1], 4),
            ("nibbles", "int4", [3], [1], 1),
            ("whole", "int4", [4], [1], 2),
        ):
            run(made, "layout", f"{name}_layout", shape=shape, strides=strides, offset=offset)
            run(made, "array", name, dtype=dtype, layout=ref(f"{name}_layout"), buffer=ref("b"))
        yield made


def ref(name: str) -> dict[str, str]:
    """A reference to an object by name."""
    return {"ref": name}


def run(world: World, do: str, bind: str | None = None, **args: Any) -> None:
    """Run a command and let the world learn of it."""
    command = Command(do=do, args=args, bind=bind)
    world.learn(command, world.driver.execute(command))


def door(written: str, read: str) -> Command:
    """A door call of one written operand and one read."""
    return Command(do="door", args={"written": [ref(written)], "read": [ref(read)], "work": "nothing"})


@pytest.mark.parametrize(
    ("written", "read", "met"),
    [
        ("even", "odd", ["crossing spans, no byte shared"]),
        ("low", "high", []),
        ("odd", "also_odd", ["identical alias"]),
        ("odd", "odd", ["identical alias"]),
        ("even", "low", []),
        ("nibbles", "high", ["sub-byte edge"]),
        ("whole", "high", []),
    ],
)
def test_a_door_call_meets(world: World, written: str, read: str, met: list[str]) -> None:
    """Crossing spans without a common byte, identical operands, and elements that end inside a byte are told apart."""
    assert situations(world, door(written, read)) == met


def test_pending_work_is_met_by_whoever_names_the_device(world: World) -> None:
    """An operand whose device has work to perform."""
    run(world, "submit", device=ref("near"), work="increment", reads=[], writes=[ref("b")])
    assert situations(world, door("low", "high")) == ["pending work"]


def test_a_donated_view_leaves_out_part_of_its_memory(world: World) -> None:
    """A donation of a view, not one of a whole buffer."""
    run(world, "buffer.view", "part", buffer=ref("b"), first=0, nbytes=4)
    for name, met in (("part", ["donated view"]), ("b", [])):
        enter = Command(do="claims.enter", args={"read": [], "donate": [ref(name)]})
        assert situations(world, enter) == met


def test_situations_of_a_call_count_when_it_is_done() -> None:
    """A refused call's operands count for nothing; a refusal for loss counts as a lost device."""
    histogram = Histogram()
    call = door("even", "odd")
    histogram.count(call, Returned("OVERLAPPING"), ["identical alias"])
    histogram.count(call, Returned("DONE"), ["identical alias"])
    histogram.count(call, Refused("memory/lost", {}), [])
    assert histogram.situations["identical alias"] == 1 and histogram.situations["lost device"] == 1
    assert histogram.answers == {"OVERLAPPING": 1, "DONE": 1}
