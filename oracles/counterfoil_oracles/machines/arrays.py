"""The array machine: random programs over devices, buffers, views, claims, arrays, the door and the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.coverage import Coverage
from counterfoil_oracles.machines.choices import RandomChooser, chance, pick, weighted
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.plans import arrays, blocks, corners, cuda, kernels, memory, odd, sharing, words
from counterfoil_oracles.machines.program import Program
from counterfoil_oracles.machines.world import Plan, World

PLANS: Final[tuple[tuple[int, Callable[[World], Plan[None]]], ...]] = (
    (60, kernels.call),
    (12, kernels.interleaved),
    (4, kernels.declined),
    (14, kernels.door),
    (8, kernels.door_fault),
    (4, kernels.refused),
    (10, arrays.new_array),
    (2, arrays.wrong_shapes),
    (4, arrays.from_values),
    (4, arrays.from_buffer),
    (10, arrays.move),
    (8, arrays.bitcast),
    (1, arrays.bitcast_rank),
    (1, arrays.view_rank),
    (2, arrays.expect),
    (3, arrays.borrow),
    (8, arrays.get),
    (10, arrays.set_element),
    (6, arrays.to_values),
    (8, arrays.host_views),
    (8, arrays.copy),
    (10, arrays.transfer),
    (6, memory.new_buffer),
    (6, memory.view),
    (3, memory.borrow),
    (3, memory.free),
    (5, memory.wait),
    (2, memory.export),
    (2, memory.overlaps),
    (2, memory.new_device),
    (3, memory.budget),
    (3, memory.files),
    (5, memory.advance),
    (4, memory.lose),
    (10, memory.submit),
    (6, memory.submit_copy),
    (4, memory.submit_fill),
    (16, memory.enter),
    (4, memory.use_claims),
    (4, sharing.across),
    (2, sharing.halves),
    (3, sharing.holders),
    (5, corners.conversions),
    (6, corners.through),
    (1, corners.long_runs),
    (4, corners.byte_edges),
    (2, corners.comb),
    (3, corners.combs),
    (2, corners.shifted),
    (1, corners.limits),
    (4, corners.spread),
    (2, corners.narrowed),
    (2, corners.own_source),
    (2, corners.interrupted),
    (2, corners.texts),
    (2, corners.obituary),
    (4, words.dtypes),
    (3, words.layout),
    (2, words.big_layout),
    (4, words.moves),
    (3, words.move_faults),
    (2, words.coalesce),
    (1, words.every_dtype),
)
"""What the machine does, in proportion to the weights."""

CUDA_PLANS: Final[tuple[tuple[int, Callable[[World], Plan[None]]], ...]] = (
    (4, cuda.chain),
    (3, cuda.crossing),
    (4, cuda.bounced),
    (2, cuda.scattered),
    (2, cuda.long_rows),
    (3, cuda.pages),
    (4, cuda.recycled),
    (2, cuda.mixed),
    (3, cuda.neighbours),
    (2, cuda.bounded),
    (1, cuda.ordinals),
    (3, blocks.several),
)
"""What it does besides, now and then, where there are CUDA devices."""

_ODD_WEIGHT: Final = 10


def advance(program: Program) -> None:
    """Draw the next plan and run it; raises program.Diverged at the first difference."""
    chooser, world = program.world.chooser, program.world
    devices = world.cuda_devices()
    world.where = pick(chooser, devices) if devices and chance(chooser, 65) else "host"
    if devices and chance(chooser, 12):
        program.run(weighted(chooser, CUDA_PLANS)(world))
    total = sum(weight for weight, _ in PLANS)
    if chooser.integer(0, total + _ODD_WEIGHT - 1) >= total:
        program.run(odd.repeat_oddly(world, list(program.recent)))
    else:
        program.run(weighted(chooser, PLANS)(world))
    program.run(memory.tidy(world))


def random_program(
    reference: Any,
    subject: Any,
    seed: int,
    length: int,
    histogram: Histogram,
    coverage: Coverage | None = None,
) -> int:
    """Run one program of about ``length`` steps drawn from ``seed``; the steps it took. Raises program.Diverged."""
    if coverage is not None:
        coverage.begin()
    chooser = RandomChooser(seed)
    with (
        between_programs(reference, subject),
        Program(reference, subject, chooser, histogram, coverage) as program,
    ):
        program.run(memory.begin(program.world))
        while len(program.steps) < length:
            advance(program)
        program.run(memory.probe(program.world))
        return len(program.steps)
