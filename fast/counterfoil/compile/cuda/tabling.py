"""Kernels of more parameters than a launch takes: these lie in a table in scratch memory, written by launches before.

A launch that writes a part of the table has the parameters themselves, so they may differ from run to run, and graphs
capture them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterfoil.compile.cuda.program import MOST_PARAMETERS, SCRATCH_ALIGNMENT, Kind, Launch, Parameter


def is_tabled(launch: Launch) -> bool:
    """Whether the launch needs a table."""
    return len(launch.parameters) > MOST_PARAMETERS


def tabled(launches: Sequence[Launch], texts: Sequence[str], scratch_bytes: int) -> tuple[list[Launch], list[str], int]:
    """The launches with those that write tables, the texts of all, and the bytes of scratch with the tables."""
    found: list[Launch] = []
    written: list[str] = []
    for launch, text in zip(launches, texts, strict=True):
        if is_tabled(launch):
            place = -(-scratch_bytes // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
            scratch_bytes = place + 8 * len(launch.parameters)
            for launch_of_part, text_of_part in _parts(launch, place):
                found.append(launch_of_part)
                written.append(text_of_part)
            launch = replace(launch, parameters=(Parameter(Kind.SCRATCH, place),))
        found.append(launch)
        written.append(text)
    return found, written, scratch_bytes


def _parts(launch: Launch, place: int) -> list[tuple[Launch, str]]:
    """The launches that write the table of one, and their texts."""
    size = MOST_PARAMETERS - 1
    found = []
    for first in range(0, len(launch.parameters), size):
        name = f"{launch.name}_table{first // size}"
        part = launch.parameters[first : first + size]
        parameters = (Parameter(Kind.SCRATCH, place + 8 * first), *part)
        words = "".join(f", u64 w{k}" for k in range(len(part)))
        lines = "".join(f"    table[{k}] = w{k};\n" for k in range(len(part)))
        head = f'extern "C" __global__ void __launch_bounds__(1) {name}(u64 *__restrict__ table{words}) {{\n'
        found.append((Launch(name, (1, 1, 1), (1, 1, 1), parameters), f"{head}{lines}}}\n"))
    return found
