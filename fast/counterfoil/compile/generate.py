"""Kernels of the loop IR to a loaded C function."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from counterfoil.compile import cache
from counterfoil.compile.decisions import Plan
from counterfoil.compile.deep import deeply
from counterfoil.compile.module import Kernel, load
from counterfoil.compile.ranges import check_lowered
from counterfoil.compile.source import source
from counterfoil.compile.toolchain import find_compiler, optimisation_level
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.refusals import refuse

NO_COMPILER = "no C compiler was found (CC, cc, gcc, clang)"
"""Why the backend is not available where nothing compiles."""


def generate(segments: Sequence[Lowered], plan: Plan) -> Kernel:
    """The machine code of a plan's kernels, taken from the cache or compiled.

    Refuses compile/index-range (kernels of a transform), memory/backend-unavailable where there is no compiler. A
    compiler that fails is a bug: toolchain.CompilerFailed.
    """
    return compiled(deeply(lambda: _checked_source(segments, plan)))


def _checked_source(segments: Sequence[Lowered], plan: Plan) -> str:
    for segment in segments:
        if segment is not plan.lowered:
            check_lowered(segment)
    return source(segments, plan.arguments, plan.symbols)


def compiled(text: str) -> Kernel:
    """A C source, compiled unless the cache has it, and loaded; where the cache takes nothing, without it."""
    compiler = find_compiler()
    if compiler is None:
        raise refuse("memory/backend-unavailable", backend="cc", why=NO_COMPILER)
    level = optimisation_level()
    name = cache.digest(text, compiler, level)
    found = cache.find(name)
    kernel = None if found is None else load(found, text)
    if kernel is not None:
        return kernel
    try:
        return Kernel(cache.build(name, text, compiler, level), text)
    except OSError:
        with tempfile.TemporaryDirectory() as work:
            return Kernel(cache.compile_in(Path(work), text, compiler, level), text)
