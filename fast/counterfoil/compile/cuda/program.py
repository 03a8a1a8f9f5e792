"""What the emitter hands over: one CUDA C source, and the launches that carry a routine out, as data.

A launch's kernel takes its parameters by value, each of 8 bytes, in the order of ``Launch.parameters``: pointers, and
bindings as int64. ``Launch.packed`` writes that block. Grids and blocks are numbers: loops whose extent is a symbol are
covered up to its bound, and the kernel leaves out what lies past the binding, so a captured graph stays right.

A launch has at most MOST_PARAMETERS of them. A kernel that needs more finds them in a table in scratch memory, which
launches before it write.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

Dim = tuple[int, int, int]
"""x, y, z: x runs fastest."""

SCRATCH_ALIGNMENT: Final = 256
"""What the scratch block's address must be a multiple of, in bytes; arguments' addresses of 16 at least (pools: 32)."""


MOST_PARAMETERS: Final = 512
"""Parameters of a launch: 4096 bytes are what every compiler and driver takes."""


class Kind(enum.Enum):
    """What a parameter is."""

    ARGUMENT = "argument"
    SCRATCH = "scratch"
    MERGE = "merge"
    BINDING = "binding"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel. ``value``: of an ARGUMENT the position among the plan's arguments; of SCRATCH the
    offset in the scratch block in bytes; of a BINDING the position among the plan's symbols; of MERGE 0."""

    kind: Kind
    value: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch. Launches run in order, each after the one before it (one stream gives that).

    ``grid``: blocks, ``block``: threads, never 0. ``shared``: bytes of dynamic shared memory (0: what kernels need they
    declare). ``writes``: positions among the plan's arguments that the kernel writes.
    """

    name: str
    grid: Dim
    block: Dim
    parameters: tuple[Parameter, ...]
    writes: tuple[int, ...] = ()
    shared: int = 0

    def packed(self, arguments: Sequence[int], scratch: int, merge: int, bindings: Sequence[int]) -> bytes:
        """The parameter block: device addresses of the plan's arguments, of the scratch block (of scratch_bytes; any
        number where that is 0) and of the merge buffer (any number where the plan reads none), and the bindings'
        values in the plan's order."""
        found = []
        for each in self.parameters:
            match each.kind:
                case Kind.ARGUMENT:
                    found.append(arguments[each.value])
                case Kind.SCRATCH:
                    found.append(scratch + each.value)
                case Kind.MERGE:
                    found.append(merge)
                case Kind.BINDING:
                    found.append(bindings[each.value])
        return struct.pack(f"={len(found)}Q", *found)

    @property
    def uses_bindings(self) -> bool:
        """Whether its parameters change with the bindings."""
        return any(each.kind is Kind.BINDING for each in self.parameters)


@dataclass(frozen=True, slots=True)
class CudaProgram:
    """A routine's kernels. ``text``: CUDA C++17, without includes, every kernel ``extern "C"``; equal programs give
    equal texts, whatever their labels. ``launches``: none for a routine that does nothing, which then has no kernel
    to compile. ``scratch_bytes``: of the one block of device memory that a run needs to itself."""

    text: str
    launches: tuple[Launch, ...]
    scratch_bytes: int
