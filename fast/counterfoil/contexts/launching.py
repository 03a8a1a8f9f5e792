"""Routines of CUDA devices: their kernels, and what a run enqueues (docs/cuda.md, section 6).

A routine's arguments never move, so the parameter blocks of kernels without bindings are packed once, at compile. What
depends on the call is packed at the call, and a run enqueues what was packed then, whenever that is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil import placement
from counterfoil._native import lib
from counterfoil.buffers import Buffer
from counterfoil.compile.cuda import CudaProgram, Kind, Launch, generate
from counterfoil.cuda import cubins, graphs
from counterfoil.cuda.device import pointer
from counterfoil.cuda.probe import DriverFailed
from counterfoil_spec.values import words

if TYPE_CHECKING:
    from counterfoil.compile import Plan
    from counterfoil.cuda.device import Cuda
    from counterfoil.cuda.launch import Function
    from counterfoil_spec.programs.loops import Lowered

_WORD: Final = struct.Struct("=Q")


class CudaKernel:
    """A program's kernels, compiled for a device.

    ``functions``: the kernel of each launch, once they are loaded; ``scratch``: memory for what they keep between each
    other, None for nothing.
    """

    __slots__ = ("device", "functions", "program", "scratch")

    def __init__(self, device: Cuda, program: CudaProgram) -> None:
        """Compiles what is not cached; raises CompilerFailed."""
        self.device = device
        self.program = program
        self.scratch: Buffer | None = None
        self.functions: list[Function] = []
        if program.launches:
            cubins.cubin(program.text, device.arch)

    def load(self, scratch: Callable[[int], Buffer]) -> None:
        """Put the kernels on the device, with scratch memory; on a lost one nothing, for no run gets that far.

        Refuses memory/exhausted, memory/lost.
        """
        device, program = self.device, self.program
        if device.timeline.why is not None:
            return
        if program.scratch_bytes:
            self.scratch = scratch(program.scratch_bytes)
        try:
            if program.launches:
                self.functions = cubins.functions(device, program.text, [launch.name for launch in program.launches])
        except DriverFailed as failure:
            device.timeline.lose(words(failure))
            raise device.timeline.lost() from None

    def launcher(
        self, addresses: Sequence[int], bindings: int, reads: list[Buffer], writes: list[Buffer]
    ) -> Launcher:
        """What runs the kernels on the plan's arguments at those addresses, in pools only read and written."""
        return Launcher(self, addresses, bindings, reads, writes)


def compiled(device: Cuda, segments: Sequence[Lowered], plan: Plan) -> CudaKernel:
    """The kernels of a plan for a device; refuses compile/index-range (kernels of a transform)."""
    return CudaKernel(device, generate(segments, plan))


class _Step(NamedTuple):
    """One launch: ``block`` are its parameters as far as compile knows them, ``late`` the words that the call adds."""

    function: Function
    launch: Launch
    block: bytes
    late: tuple[tuple[int, Kind, int], ...]

    def packed(self, bindings: Sequence[int], merge: int) -> bytes:
        """The parameter block of a call."""
        if not self.late:
            return self.block
        block = bytearray(self.block)
        for place, kind, value in self.late:
            _WORD.pack_into(block, place, merge if kind is Kind.MERGE else bindings[value])
        return bytes(block)


class Launcher:
    """How runs of one routine are given to its device: one submission each, its kernels back to back.

    A routine of several kernels whose parameters are all known at compile is captured in a graph on its second run.
    """

    __slots__ = ("_captures", "_device", "_graph", "_orders", "_pools", "_runs", "_scratch", "_steps", "_uses_bindings")

    def __init__(
        self, kernel: CudaKernel, addresses: Sequence[int], bindings: int, reads: list[Buffer], writes: list[Buffer]
    ) -> None:
        """``addresses`` of the plan's arguments; how many symbols the plan has; the pools only read, and written."""
        self._device = kernel.device
        scratch, program = kernel.scratch, kernel.program
        at = 0 if scratch is None else pointer(scratch)
        self._steps = [
            _step(function, launch, addresses, at, bindings)
            for function, launch in zip(kernel.functions, program.launches, strict=False)  # none of a lost device
        ]
        self._pools = [(buffer, True) for buffer in writes] + [(buffer, False) for buffer in reads]  # as at the door
        self._scratch = scratch
        self._orders = placement.touched(reads, writes if scratch is None else [*writes, scratch])
        self._runs = 0
        self._graph: graphs.Graph | None = None
        self._captures = len(self._steps) > 1 and not any(step.late for step in self._steps)
        self._uses_bindings = any(step.launch.uses_bindings for step in self._steps)

    def check_found(self) -> None:
        """Refuse memory/lost where a run must follow work that a device dropped."""
        for buffer, writing in self._pools:
            if lib.cf_buffer_lost(buffer._c, writing):
                raise buffer.lost(writing)

    def submit(self, bindings: Sequence[int], merge: Buffer | None) -> int:
        """The number of a run's submission, which reads that merge buffer; refuses memory/lost."""
        orders = self._orders if merge is None else {**self._orders, merge.memory.ordered(): False}
        return self._device.timeline.submit(self._issue(bindings, merge), orders)

    def _issue(self, bindings: Sequence[int], merge: Buffer | None) -> Callable[[], None]:
        if merge is None and not self._uses_bindings:
            return self._replay if self._captures else self._enqueue
        address = 0 if merge is None else pointer(merge)
        blocks = [step.packed(bindings, address) for step in self._steps]
        return lambda: self._launch(blocks, merge)

    def _launch(self, blocks: list[bytes], merge: Buffer | None) -> None:
        """The kernels with the parameters of a call, whose merge buffer is kept until then."""
        for step, block in zip(self._steps, blocks, strict=True):
            step.function.launch(step.launch.grid, step.launch.block, block, step.launch.shared)

    def _enqueue(self) -> None:
        """The kernels one by one."""
        for function, launch, block, _ in self._steps:
            function.launch(launch.grid, launch.block, block, launch.shared)

    def _replay(self) -> None:
        """The graph, captured by the second run: its kernels are loaded then."""
        if self._runs == 1:
            launches = [(function, at.grid, at.block, block, at.shared) for function, at, block, _ in self._steps]
            self._graph = graphs.captured(self._device, launches)
        self._runs = min(self._runs + 1, 2)
        if self._graph is None:
            self._enqueue()
        else:
            self._graph.launch()


def _step(function: Function, launch: Launch, addresses: Sequence[int], scratch: int, bindings: int) -> _Step:
    late = tuple(
        (place * _WORD.size, parameter.kind, parameter.value)
        for place, parameter in enumerate(launch.parameters)
        if parameter.kind in (Kind.BINDING, Kind.MERGE)
    )
    return _Step(function, launch, launch.packed(addresses, scratch, 0, [0] * bindings), late)
