"""How NumPy's programs are written."""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.targets.scripts.script import (
    Arguments,
    NotWritten,
    Script,
    Template,
    contiguous,
    dtyped,
    identifier,
    indexed,
    literal,
    ranges,
    source,
    strided,
    viewed,
)

_HEAD: Final = """
import warnings

import numpy as np

warnings.simplefilter("ignore")


def bits(x):
    x = np.ascontiguousarray(x)
    data, width = x.tobytes(), x.itemsize
    return [data[at : at + width][::-1].hex() for at in range(0, len(data), width)]


def memory(x):
    if x.dtype == np.uint8 and x.ndim == 1 and x.flags.c_contiguous:
        return x
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x.reshape(-1).view(np.uint8)


def placed(layout, dtype, buffer):
    (shape, strides, offset), width = layout, np.dtype(dtype).itemsize
    return np.ndarray(shape, dtype, memory(buffer), offset * width, [stride * width for stride in strides])

"""

_UNARY: Final = {
    "neg": "negative", "recip": "reciprocal", "abs": "abs", "sign": "sign", "sqrt": "sqrt", "floor": "floor",
    "ceil": "ceil", "round": "rint", "trunc": "trunc", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2",
    "log1p": "log1p", "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos":
    "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
}  # fmt: skip
_BINARY: Final = {
    "add": "add", "sub": "subtract", "mul": "multiply", "fdiv": "divide", "mod": "fmod", "pow": "power", "atan2":
    "arctan2", "maximum": "maximum", "minimum": "minimum", "bitwise_and": "bitwise_and", "bitwise_or":
    "bitwise_or", "bitwise_xor": "bitwise_xor", "equal": "equal", "not_equal": "not_equal", "less": "less",
    "less_equal": "less_equal", "matmul": "matmul",
}  # fmt: skip


def _ufunc(function: str) -> Any:
    def text(args: Arguments) -> str:
        sources = ", ".join(literal(source) for source in args["sources"])
        return f"np.{function}({sources}, out={literal(args['dst'])})"

    return text


def _reduction(function: str) -> Any:
    def text(args: Arguments) -> str:
        axes = "".join(f"{axis}, " for axis in args["axes"])
        return f"np.{function}({source(args)}, axis=({axes}), out={literal(args['dst'])})"

    return text


def _place(function: str) -> Any:
    def text(args: Arguments) -> str:
        if len(args["axes"]) != 1:
            raise NotWritten(f"{function} over several axes")
        return f"np.{function}({source(args)}, axis={args['axes'][0]}, out={literal(args['dst'])})"

    return text


def _copy(casting: str) -> Any:
    return lambda args: f'np.copyto({literal(args["dst"])}, {source(args)}, casting="{casting}")'


def _move(args: Arguments) -> str:
    array = literal(args["array"])
    match args["move"]:
        case {"reshape": shape}:
            return f"{array}.reshape({literal(shape)}, copy=False)"
        case {"broadcast": shape}:
            return f"np.broadcast_to({array}, {literal(shape)})"
        case {"permute": axes}:
            return f"{array}.transpose({literal(axes)})"
        case {"slice": entries}:
            return f"{array}{ranges(entries)}"
        case {"window": windows} if all(step == dilation == 1 for _, _, step, dilation in windows):
            sizes, axes = ([each[at] for each in windows] for at in (1, 0))
            return f"np.lib.stride_tricks.sliding_window_view({array}, {sizes}, {tuple(axes)})"
    raise NotWritten("windows with steps or dilation")


def _dtyped(template: str) -> Template:
    return dtyped(template, lambda name: "np.bool_" if name == "bool" else f"np.{name}")


SCRIPT: Final = Script(
    head=_HEAD,
    templates={
        "host": "",
        "buffer": "np.zeros({nbytes}, np.uint8)",
        "buffer.view": viewed,
        "submit_fill": "memory({buffer})[...] = {byte}",
        "buffer.wait": "",
        "layout": strided,
        "layout.contiguous": contiguous,
        "array": _dtyped("placed({layout}, {dtype}, {buffer})"),
        "empty": _dtyped("np.zeros({shape}, {dtype})"),
        "host_array": _dtyped("np.zeros({shape}, {dtype})"),
        "from_values": _dtyped("np.array({values}, {dtype}).reshape({shape})"),
        "array.move": _move,
        "array.bitcast": _dtyped("{array}.view({dtype})"),
        "array.get": indexed,
        "array.set": lambda args: f"{indexed(args)} = {literal(args['value'])}",
        "array.to_values": "{array}",
        "array.copy": "{array}.copy()",
        "transfer": 'np.copyto({dst}, {src}, casting="no")',
    },
    kernels={
        **{name: _ufunc(function) for name, function in (_UNARY | _BINARY).items()},
        **{name: _reduction(name) for name in ("sum", "prod", "max", "min", "mean")},
        **{name: _place(name) for name in ("argmax", "argmin")},
        "cumsum": lambda args: f"np.cumsum({source(args)}, axis={args['axis']}, out={identifier(args['dst']['ref'])})",
        "copy": _copy("no"),
        "cast": _copy("unsafe"),
        "fill": "{dst}[...] = {value}",
    },
)
