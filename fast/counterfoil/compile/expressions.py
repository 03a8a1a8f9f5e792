"""Scalars of the loop IR as C expressions, each in the dtype of the computation around it."""

from __future__ import annotations

from typing import Final

from counterfoil.compile.literals import CTYPES, SUFFIX, is_float, number
from counterfoil.compile.prelude import helper
from counterfoil_spec.dtypes import Dtype, float32

_INFIX: Final = {"add": "+", "sub": "-", "mul": "*"}
_COMPARED: Final = {"cmplt": "<", "cmple": "<=", "cmpeq": "==", "cmpne": "!="}
_LIBRARY: Final = {"exp": "exp", "log": "log", "exp2": "exp2", "log2": "log2", "sin": "sin", "cos": "cos"}


class Operators:
    """Writes operators; ``used`` collects the helpers they call."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def converted(self, text: str, source: Dtype, dtype: Dtype) -> str:
        """A value of one dtype in another, as the cast kernel converts it."""
        if source is dtype:
            return text
        if is_float(source) and not is_float(dtype):
            return f"{self._helper('saturate', dtype)}({text})"
        return f"({CTYPES[dtype]}){text}" if _is_atom(text) else f"({CTYPES[dtype]})({text})"

    def applied(self, operator: str, arguments: tuple[str, ...], dtype: Dtype) -> str:
        """The operator over arguments of the dtype, rounded once to it."""
        if operator in _COMPARED:
            return f"({CTYPES[dtype]})({arguments[0]} {_COMPARED[operator]} {arguments[1]})"
        if operator in ("or", "and"):
            sign = "||" if operator == "or" else "&&"
            return f"({CTYPES[dtype]})({arguments[0]} != 0 {sign} {arguments[1]} != 0)"
        match operator:
            case "identity" | "arg1":
                return arguments[0]
            case "arg2":
                return arguments[1]
            case "not":
                return f"({CTYPES[dtype]})({arguments[0]} == 0)"
            case "where":
                return f"({arguments[0]} != 0 ? {arguments[1]} : {arguments[2]})"
            case "relu" | "satur01" | "relu_gate" | "satur01_gate":
                return self._called(operator, arguments, dtype)
        return self._float(operator, arguments, dtype) if is_float(dtype) else self._int(operator, arguments, dtype)

    def _float(self, operator: str, arguments: tuple[str, ...], dtype: Dtype) -> str:
        letter = "f" if dtype is float32 else ""
        if operator in _INFIX:
            return f"({arguments[0]} {_INFIX[operator]} {arguments[1]})"
        match operator:
            case "div":
                return f"({arguments[0]} / {arguments[1]})"
            case "neg":
                return f"(-{arguments[0]})"
            case "recip":
                return f"({number(1, dtype)} / {arguments[0]})"
            case "sqrt" | "trunc" | "fma":
                return f"__builtin_{operator}{letter}({', '.join(arguments)})"
            case "mod":
                return f"__builtin_fmod{letter}({', '.join(arguments)})"
            case "to_pow_of" if dtype is not float32:
                return f"__builtin_pow({', '.join(arguments)})"
            case "to_pow_of":
                return self._called("pow", arguments, dtype)
        if dtype is not float32 and operator in _LIBRARY:
            return f"__builtin_{operator}({arguments[0]})"
        return self._called(operator, arguments, dtype)

    def _int(self, operator: str, arguments: tuple[str, ...], dtype: Dtype) -> str:
        if operator in ("div", "mod", "to_pow_of", "max", "min"):
            name = {"div": "idiv", "mod": "imod", "to_pow_of": "ipow", "max": "imax", "min": "imin"}[operator]
            return self._called(name, arguments, dtype)
        signed, unsigned = CTYPES[dtype], CTYPES[dtype].replace("i", "u")
        wide = [f"({unsigned}){argument}" for argument in arguments]
        if operator in _INFIX:
            return f"({signed})({wide[0]} {_INFIX[operator]} {wide[1]})"
        match operator:
            case "neg":
                return f"({signed})(0 - {wide[0]})"
            case "trunc":
                return arguments[0]
            case "fma":
                return f"({signed})({wide[0]} * {wide[1]} + {wide[2]})"
            case "mul3":
                return f"({signed})({wide[0]} * {wide[1]} * {wide[2]})"
            case "recip":
                return self._called("idiv", (number(1, dtype), arguments[0]), dtype)
        raise AssertionError(f"{operator} is no operator of {dtype.name}")

    def rank(self, operator: str, argument: str, dtype: Dtype) -> str:
        """The integer by which a float is found that is the most or the least of many."""
        self.used.add(helper("rank", dtype))
        return self._called(f"rank_{operator}", (argument,), dtype)

    def _called(self, name: str, arguments: tuple[str, ...], dtype: Dtype) -> str:
        return f"{self._helper(name, dtype)}({', '.join(arguments)})"

    def _helper(self, name: str, dtype: Dtype) -> str:
        self.used.add(helper(name, dtype))
        return f"cf_{name}_{SUFFIX[dtype]}"


def _is_atom(text: str) -> bool:
    return text.replace("_", "").isalnum() or (text.startswith("(") and text.endswith(")") and text.count("(") == 1)
