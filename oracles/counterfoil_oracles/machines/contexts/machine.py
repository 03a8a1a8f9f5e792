"""The context machine: its plans in proportion, and one random program of them."""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.collecting import between_programs, level_memory
from counterfoil_oracles.coverage import Coverage
from counterfoil_oracles.cuda.setting import Setting
from counterfoil_oracles.machines.choices import RandomChooser, chance, weighted
from counterfoil_oracles.machines.contexts.plans import (
    asking,
    compiling,
    computing,
    cycles,
    devices,
    losing,
    merging,
    moving,
    networks,
    releasing,
    running,
    stories,
)
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.contexts.world import ContextPlan, ContextWorld
from counterfoil_oracles.machines.program import Program
from counterfoil_oracles.machines.world import Plan

PLANS: Final[tuple[tuple[int, ContextPlan], ...]] = (
    (30, compiling.compile_one),
    (8, compiling.siblings),
    (12, compiling.line),
    (9, compiling.gradients),
    (3, compiling.another_root),
    (60, running.run),
    (8, cycles.whole_path),
    (20, computing.compute),
    (6, running.rebind),
    (4, running.check),
    (6, running.rollback),
    (3, running.poison),
    (2, running.overtaken),
    (4, running.history),
    (20, moving.upload),
    (12, moving.copy),
    (3, moving.merge_fill),
    (4, merging.cycle),
    (2, merging.pending_writer),
    (3, merging.rewritten),
    (16, moving.read),
    (4, asking.facts),
    (3, asking.kinship),
    (2, asking.declare),
    (6, asking.decide),
    (8, releasing.release),
    (5, releasing.fork),
    (4, releasing.adopt),
    (2, releasing.recycled),
    (12, releasing.inject),
    (3, releasing.budget),
    (2, releasing.donate),
    (4, stories.tell),
    (3, networks.train),
    (1, networks.session),
)
"""What the machine does, in proportion to the weights."""

_COMPUTING: Final[tuple[tuple[int, ContextPlan], ...]] = (
    (20, computing.compute), (1, compiling.another_root), (1, releasing.release),
)  # fmt: skip
"""What it does in programs that put the compiler to the test: three of ten."""

_ON_CUDA: Final[tuple[tuple[int, ContextPlan], ...]] = (
    (6, devices.across), (6, devices.exchange), (5, devices.replayed), (8, devices.fused), (4, devices.behind),
    (4, losing.lose),
)  # fmt: skip
"""What it does besides where there are CUDA devices."""

_COMPUTING_ON_CUDA: Final[tuple[tuple[int, ContextPlan], ...]] = ((4, devices.fused),)
"""The same in programs that put the compiler to the test."""

_INTERLUDES: Final[tuple[tuple[int, ContextPlan], ...]] = (
    (3, compiling.compile_one), (3, moving.read), (2, asking.facts), (2, moving.upload), (1, asking.decide),
)  # fmt: skip


def interlude(world: ContextWorld) -> Plan[None]:
    """Now and then another step, between two steps of a story."""
    if chance(world.chooser, 25):
        yield from weighted(world.chooser, _INTERLUDES)(world)


def plans(computing: bool) -> tuple[tuple[int, ContextPlan], ...]:
    """What programs do, or those that put the compiler to the test."""
    if not Setting.devices:
        return _COMPUTING if computing else PLANS
    return _COMPUTING + _COMPUTING_ON_CUDA if computing else PLANS + _ON_CUDA


def advance(program: Program) -> None:
    """Draw the next plan and run it; raises program.Diverged at the first difference."""
    world = program.world
    assert isinstance(world, ContextWorld)
    program.run(weighted(world.chooser, plans(world.computing))(world))
    program.run(releasing.tidy(world))


def context_program(
    reference: Any, subject: Any, seed: int, length: int, tally: Tally, coverage: Coverage | None = None
) -> int:
    """Run one program of about ``length`` steps drawn from ``seed``; the steps it took. Raises program.Diverged."""
    if coverage is not None:
        coverage.begin()
    chooser = RandomChooser(seed)
    with between_programs(), Program(reference, subject, chooser, tally, coverage, ContextWorld) as program:
        world = program.world
        assert isinstance(world, ContextWorld)
        world.told, world.interlude = tally.told, lambda: interlude(world)
        with level_memory(reference, subject):
            program.run(compiling.begin(world))
            while len(program.steps) < length:
                advance(program)
            program.run(releasing.finish(world))
        return len(program.steps)
