"""Running emitted kernels on the host: compiled by a C++ compiler over a few lines that stand in for CUDA's."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from counterfoil.compile import Plan
from counterfoil.compile.cuda import SCRATCH_ALIGNMENT, CudaProgram
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol

HERE = Path(__file__).parent
FLAGS = ["-O0", "-ffp-contract=off", "-frounding-math", "-pipe", "-fno-strict-aliasing", "-fPIC", "-shared", "-w"]
GUARD = 64
"""Elements in front of and behind each buffer that nothing may touch."""

ORDERS = (0, 1, 2, 3)
"""Orders of blocks and threads: forward, backward, and drawn from seeds."""

WAITS = re.compile(r"__syncthreads|__shfl")
KERNEL = re.compile(r'extern "C" __global__ void __launch_bounds__\([\d, ]+\) (\w+)\(')


@functools.cache
def folder() -> Path:
    """Where libraries are kept for this process, the one with the threads among them."""
    found = Path(tempfile.mkdtemp(prefix="kernels"))
    _compiled([HERE / "host.cpp"], found / "libhost.so")
    return found


def _compiled(sources: list[Path], library: Path, *flags: str) -> None:
    compiler = shutil.which("g++") or shutil.which("c++") or "c++"
    line = [compiler, "-std=c++17", *FLAGS,
            f"-I{HERE}", *map(str, sources), "-o", str(library), *flags]  # fmt: skip
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@functools.lru_cache(maxsize=64)
def library(text: str) -> ctypes.CDLL:
    """The kernels of a source, each behind run_<name>."""
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    source, made = folder() / f"{name}.cpp", folder() / f"{name}.so"
    starts = [(found[1], found.start()) for found in KERNEL.finditer(text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    entries = [
        f"HOST_KERNEL({kernel}, {'true' if WAITS.search(text, start, end) else 'false'})\n"
        for (kernel, start), end in zip(starts, ends, strict=True)
    ]
    source.write_text('#include "host.h"\n' + text + "".join(entries))
    _compiled([source], made, f"-L{folder()}", "-lhost", f"-Wl,-rpath,{folder()}")
    return ctypes.CDLL(str(made))


class Guarded:
    """A copy of an array at an aligned address with untouched room around it."""

    def __init__(self, array: np.ndarray) -> None:
        room = GUARD * 8
        self.whole = np.full(array.nbytes + 2 * room + 256, 0xA5, np.uint8)
        start = room + -(self.whole.ctypes.data + room) % 256
        self.inside = self.whole[start : start + array.nbytes]
        self.inside[...] = np.frombuffer(array.tobytes(), np.uint8)
        self.address = self.whole.ctypes.data + start

    def taken(self, array: np.ndarray) -> None:
        """The bytes back into the array; nothing around them changed."""
        array.reshape(-1).view(np.uint8)[...] = self.inside
        self.inside[...] = 0xA5
        assert (self.whole == 0xA5).all(), "a kernel wrote outside its buffers"


def run(
    program: CudaProgram,
    plan: Plan,
    buffers: Mapping[Node, np.ndarray],
    bindings: Mapping[Symbol, int] | None = None,
    merged: np.ndarray | None = None,
) -> None:
    """One run of a program over the buffers of its plan's arguments, with the same bits in every order of threads."""
    found = []
    for order in ORDERS:
        copies = {node: buffers[node].copy() for node in plan.arguments}
        _run(program, plan, copies, bindings or {}, merged, order)
        found.append(copies)
        for node in plan.arguments:
            assert found[0][node].tobytes() == copies[node].tobytes(), f"{node.label} depends on the order of threads"
    for node in plan.arguments:
        buffers[node][...] = found[0][node]


def _run(
    program: CudaProgram,
    plan: Plan,
    buffers: Mapping[Node, np.ndarray],
    bindings: Mapping[Symbol, int],
    merged: np.ndarray | None,
    order: int,
) -> None:
    """In one order; scratch begins as rubbish."""
    guarded = {node: Guarded(buffers[node]) for node in plan.arguments}
    scratch = Guarded(np.full(program.scratch_bytes, 0x5A, np.uint8))
    assert SCRATCH_ALIGNMENT <= 256
    merge = None if merged is None else Guarded(merged)
    values = [bindings[symbol] for symbol in plan.symbols]
    addresses = [guarded[node].address for node in plan.arguments]
    for launch in program.launches:
        block = launch.packed(addresses, scratch.address, 0 if merge is None else merge.address, values)
        shape = (ctypes.c_uint * 6)(*launch.grid, *launch.block)
        kernels = library(program.text)
        kernels.host_order(order)
        getattr(kernels, f"run_{launch.name}")(shape, ctypes.create_string_buffer(block, len(block) + 8))
    for node in plan.arguments:
        guarded[node].taken(buffers[node])
    scratch.taken(np.empty(program.scratch_bytes, np.uint8))
    if merge is not None and merged is not None:
        before = merged.copy()
        merge.taken(merged)
        assert before.tobytes() == merged.tobytes()
