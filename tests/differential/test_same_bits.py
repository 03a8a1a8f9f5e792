"""Two poisons: what a kernel writes depends on its operands alone, and is the same each time."""

from typing import Any

import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.machines import values
from counterfoil_oracles.machines.choices import RandomChooser
from counterfoil_oracles.machines.plans.kernels import Call, draw
from counterfoil_oracles.machines.world import World
from counterfoil_spec.commands import Command, Returned


def calls(seed: int) -> list[tuple[Call, list[str]]]:
    """Calls that a seed draws, with the bytes of their sources."""
    chooser = RandomChooser(seed)
    world = World(Driver(counterfoil_reference), chooser)
    drawn = []
    for _ in range(150):
        call = draw(world)
        sizes = [operand.dtype.nbytes(count(operand.shape)) for operand in call.wanted]
        drawn.append((call, [values.content(chooser, size) for size in sizes]))
    return drawn


def count(shape: list[int]) -> int:
    """How many elements a shape has."""
    found = 1
    for extent in shape:
        found *= extent
    return found


def written(half: Any, call: Call, contents: list[str], poison: int) -> object:
    """The bytes of a destination that was poisoned and not written before; None where the kernel was not Done."""
    with Driver(half) as driver:

        def do(what: str, bind: str | None = None, **args: Any) -> Any:
            return driver.execute(Command(do=what, args=args, bind=bind))

        do("poison", byte=poison)
        names = [f"a{at}" for at in range(len(call.wanted))]
        for name, operand, content in zip(names, call.wanted, contents, strict=True):
            do("host_array", name, dtype=operand.dtype.name, shape=operand.shape)
            if name != "a0":
                do("buffer.poke", buffer={"ref": name}, bytes=content)
        dst, *sources = ({"ref": name} for name in names)
        answer = do("kernel", name=call.kernel.name, dst=dst, sources=sources, **call.parameters)
        return do("buffer.bytes", buffer=dst) if answer == Returned("DONE") else None


@pytest.mark.parametrize("half", [counterfoil, counterfoil_reference], ids=["fast", "reference"])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_call_gives_the_same_bits(half: Any, seed: int) -> None:
    """A kernel into fresh memory leaves the same bytes under two poisons, twice each."""
    done = 0
    for call, contents in calls(seed):
        runs = [written(half, call, contents, poison) for poison in (0, 255, 0, 255)]
        assert runs[0] == runs[1] == runs[2] == runs[3], (call, contents)
        done += runs[0] is not None
    assert done > 100
