"""Scalars of the loop IR as CUDA C expressions: the C backend's, with CUDA's functions."""

from __future__ import annotations

import math
import struct
from typing import Final

from counterfoil.compile.cuda.prelude import helper
from counterfoil.compile.expressions import Operators
from counterfoil.compile.literals import SUFFIX, is_float, number, stored
from counterfoil_spec.dtypes import Dtype, float32

_FUNCTIONS: Final = {
    "exp": "exp", "log": "log", "exp2": "exp2", "log2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh",
    "sqrt": "sqrt", "trunc": "trunc", "fma": "fma", "mod": "fmod", "to_pow_of": "pow", "recip_sqrt": "rsqrt",
}  # fmt: skip
"""CUDA's names; those of float32 end in f. Their published bounds in units in the last place, float32 and float64: exp
2 and 1, exp2 2 and 1, log and log2 1 and 1, sin and cos 2 and 2, tanh 2 and 1, pow 4 and 2, rsqrt 2 and 1; the others
are exact, or rounded once."""


class CudaOperators(Operators):
    """Writes operators; ``used`` collects the helpers they call."""

    def number(self, value: float, dtype: Dtype) -> str:
        """The constant as the dtype holds it; what has no decimal form, by its bits."""
        held = stored(value, dtype) if is_float(dtype) else 0.0
        if math.isfinite(held):
            return number(value, dtype)
        self.used.add(helper("bits", dtype))
        code = struct.unpack("<I", struct.pack("<f", held)) if dtype is float32 else struct.unpack(
            "<Q", struct.pack("<d", held)
        )  # fmt: skip
        return f"cf_bits_{SUFFIX[dtype]}(0x{code[0]:x})"

    def _float(self, operator: str, arguments: tuple[str, ...], dtype: Dtype) -> str:
        if operator in _FUNCTIONS:
            return f"{_FUNCTIONS[operator]}{'f' if dtype is float32 else ''}({', '.join(arguments)})"
        return super()._float(operator, arguments, dtype)

    def _helper(self, name: str, dtype: Dtype) -> str:
        self.used.add(helper(name, dtype))
        return f"cf_{name}_{SUFFIX[dtype]}"
