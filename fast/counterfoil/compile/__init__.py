"""The cc backend's compiler: words in, a loaded C function out."""

from counterfoil.compile.decisions import NOTHING_DECIDED, Decisions, Plan
from counterfoil.compile.generate import NO_COMPILER, generate
from counterfoil.compile.module import Kernel
from counterfoil.compile.plan import check_segments, plan, plan_lowered
from counterfoil.compile.toolchain import compiler_command, find_compiler

__all__ = [
    "NOTHING_DECIDED", "NO_COMPILER", "Decisions", "Kernel", "Plan", "check_segments", "compiler_command",
    "find_compiler", "generate", "plan", "plan_lowered",
]  # fmt: skip
