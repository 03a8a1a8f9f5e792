"""How PyTorch's programs are written."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.targets.scripts.script import (
    Arguments,
    NotWritten,
    Script,
    Template,
    contiguous,
    dtyped,
    indexed,
    literal,
    ranges,
    source,
    strided,
    viewed,
)

_HEAD: Final = """
import warnings

import torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def bits(x):
    x = x.detach().clone(memory_format=torch.contiguous_format).resolve_conj().reshape(-1)
    parts = torch.view_as_real(x).reshape(-1) if x.is_complex() else x
    data, width = bytes(parts.view(torch.uint8).tolist()), x.itemsize
    return [data[at : at + width][::-1].hex() for at in range(0, len(data), width)]


def memory(x):
    if x.dtype == torch.uint8 and x.dim() == 1 and x.is_contiguous():
        return x
    return torch.empty(0, dtype=torch.uint8).set_(x.untyped_storage())


def placed(layout, dtype, buffer):
    (shape, strides, offset), typed = layout, memory(buffer).view(dtype)
    return typed.as_strided(shape, strides, typed.storage_offset() + offset)

"""

_UNARY: Final = {
    "neg": "neg", "recip": "reciprocal", "abs": "abs", "sign": "sign", "sqrt": "sqrt", "floor": "floor",
    "ceil": "ceil", "round": "round", "trunc": "trunc", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2",
    "log1p": "log1p", "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos",
    "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "erf": "erf",
}  # fmt: skip
_BINARY: Final = {
    "add": "add", "sub": "sub", "mul": "mul", "fdiv": "div", "mod": "fmod", "pow": "pow", "atan2": "atan2",
    "maximum": "maximum", "minimum": "minimum", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "matmul": "matmul",
}  # fmt: skip
_REDUCTIONS: Final = {"sum": "sum", "max": "amax", "min": "amin", "mean": "mean"}


def _called(function: str, more: str = "") -> Template:
    """A function of all sources into ``out``."""

    def text(args: Arguments) -> str:
        sources = "".join(f"{literal(each)}, " for each in args["sources"])
        return f"torch.{function}({sources}{more}out={literal(args['dst'])})"

    return text


def _reduction(function: str) -> Template:
    def text(args: Arguments) -> str:
        axes = "".join(f"{axis}, " for axis in args["axes"])
        return f"torch.{function}({source(args)}, dim=({axes}), out={literal(args['dst'])})"

    return text


def _along(function: str) -> Template:
    def text(args: Arguments) -> str:
        [axis] = [args["axis"]] if "axis" in args else args["axes"]
        return f"torch.{function}({source(args)}, dim={axis}, out={literal(args['dst'])})"

    return text


def _move(args: Arguments) -> str:
    array = literal(args["array"])
    match args["move"]:
        case {"reshape": shape}:
            return f"{array}.view({literal(shape)})"
        case {"broadcast": shape}:
            return f"{array}.expand({literal(shape)})"
        case {"permute": axes}:
            return f"{array}.permute({literal(axes)})"
        case {"slice": entries}:
            return f"{array}{ranges(entries)}"
        case {"window": windows}:
            return array + "".join(f".unfold({axis}, {size}, {step})" for axis, size, step, _ in windows)
    raise NotWritten("such a move")


def _dtyped(template: str) -> Template:
    return dtyped(template, lambda name: f"torch.{name}")


SCRIPT: Final = Script(
    head=_HEAD,
    templates={
        "host": "",
        "buffer": "torch.zeros({nbytes}, dtype=torch.uint8)",
        "buffer.view": viewed,
        "submit_fill": "memory({buffer}).fill_({byte})",
        "buffer.wait": "",
        "layout": strided,
        "layout.contiguous": contiguous,
        "array": _dtyped("placed({layout}, {dtype}, {buffer})"),
        "empty": _dtyped("torch.zeros({shape}, dtype={dtype})"),
        "host_array": _dtyped("torch.zeros({shape}, dtype={dtype})"),
        "from_values": _dtyped("torch.tensor({values}, dtype={dtype}).reshape({shape})"),
        "array.move": _move,
        "array.bitcast": _dtyped("{array}.view({dtype})"),
        "array.get": indexed,
        "array.set": lambda args: f"{indexed(args)} = {literal(args['value'])}",
        "array.to_values": "{array}",
        "array.copy": "{array}.clone(memory_format=torch.contiguous_format)",
        "transfer": "{dst}.copy_({src})",
    },
    kernels={
        **{name: _called(function) for name, function in (_UNARY | _BINARY).items()},
        **{name: _reduction(function) for name, function in _REDUCTIONS.items()},
        **{name: _along(name) for name in ("argmax", "argmin", "prod", "cumsum", "softmax")},
        "idiv": _called("div", 'rounding_mode="trunc", '),
        "where": _called("where"),
        "copy": lambda args: f"{literal(args['dst'])}.copy_({source(args)})",
        "cast": lambda args: f"{literal(args['dst'])}.copy_({source(args)})",
        "fill": "{dst}.fill_({value})",
    },
)
