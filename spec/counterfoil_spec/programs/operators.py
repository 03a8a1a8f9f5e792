"""The operators of assignments: their arities and, for those that accumulate, what an accumulation starts from."""

from __future__ import annotations

from typing import Final

UNARY: Final = (
    "identity", "relu", "satur01", "exp", "log", "exp2", "log2", "sin", "cos", "sqrt", "recip", "recip_sqrt", "neg",
    "trunc", "tanh", "not",
)  # fmt: skip

BINARY: Final = (
    "arg1", "arg2", "add", "sub", "mul", "div", "to_pow_of", "relu_gate", "satur01_gate", "max", "min", "mod", "cmplt",
    "cmple", "cmpeq", "cmpne", "or", "and",
)  # fmt: skip
"""``arg1`` and ``arg2`` keep one operand; the other is not evaluated, and is no access. ``relu_gate(a, b)`` is b if
a > 0, else 0; ``satur01_gate(a, b)`` is b if 0 < a < 1, else 0; comparisons, ``or`` and ``and`` give 0 or 1; ``mod``
has the sign of its left operand (C's fmod and %)."""

TERNARY: Final = ("where", "fma", "mul3")
"""``where(a, b, c)`` is b if a is not 0, else c; ``fma(a, b, c)`` is a * b + c rounded once."""

ARITY: Final[dict[str, int]] = {
    **dict.fromkeys(UNARY, 1), **dict.fromkeys(BINARY, 2), **dict.fromkeys(TERNARY, 3)
}  # fmt: skip

FLOATS_ONLY: Final = frozenset({"exp", "log", "exp2", "log2", "sin", "cos", "sqrt", "recip_sqrt", "tanh"})
"""The operators that integer nodes do not take."""

NEUTRAL: Final[dict[str, float]] = {
    **dict.fromkeys(BINARY, 0.0),
    "mul": 1.0,
    "div": 1.0,
    "to_pow_of": 1.0,
    "max": float("-inf"),
    "min": float("inf"),
    "and": 1.0,
    "relu_gate": 1.0,
    "satur01_gate": 0.5,
}
"""What an accumulation with that operator starts from. An integer dtype has its least and greatest value for the
infinities, and starts ``satur01_gate`` at 0."""
