"""The cuda backend's compiler: the loop IR of a routine in, CUDA C and the launches that carry it out, out."""

from counterfoil.compile.cuda.generate import generate
from counterfoil.compile.cuda.program import SCRATCH_ALIGNMENT, CudaProgram, Kind, Launch, Parameter

__all__ = ["SCRATCH_ALIGNMENT", "CudaProgram", "Kind", "Launch", "Parameter", "generate"]
