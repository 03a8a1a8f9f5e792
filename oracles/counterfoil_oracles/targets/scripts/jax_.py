"""How JAX's programs are written: arrays are immutable, and a destination is the name that a result is given."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.targets.scripts.script import (
    Arguments,
    NotWritten,
    Script,
    Template,
    dtyped,
    indexed,
    literal,
    ranges,
    source,
)

_HEAD: Final = """
import warnings

import jax
import jax.numpy as jnp
import numpy as np

warnings.simplefilter("ignore")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def bits(x):
    x = np.ascontiguousarray(x)
    data, width = x.tobytes(), x.itemsize
    digits = 1 if x.dtype.name in ("int4", "uint4", "float4_e2m1fn") else 2 * width
    return [data[at : at + width][::-1].hex()[-digits:] for at in range(0, len(data), width)]


donating = jax.jit(lambda donated, read: donated, donate_argnums=0, keep_unused=True)

"""

_UNARY: Final = {
    "neg": "negative", "recip": "reciprocal", "abs": "abs", "sign": "sign", "sqrt": "sqrt", "floor": "floor",
    "ceil": "ceil", "round": "round", "trunc": "trunc", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2",
    "log1p": "log1p", "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
}  # fmt: skip
_BINARY: Final = {
    "add": "add", "sub": "subtract", "mul": "multiply", "fdiv": "divide", "mod": "fmod", "pow": "power",
    "atan2": "arctan2", "maximum": "maximum", "minimum": "minimum", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "equal": "equal", "not_equal": "not_equal",
    "less": "less", "less_equal": "less_equal", "matmul": "matmul",
}  # fmt: skip


def _named(args: Arguments, result: str) -> str:
    """The destination's name is given the result."""
    return f"{literal(args['dst'])} = {result}"


def _called(function: str) -> Template:
    return lambda args: _named(args, f"{function}({', '.join(map(literal, args['sources']))})")


def _reduction(function: str, more: str = "") -> Template:
    def text(args: Arguments) -> str:
        axes = "".join(f"{axis}, " for axis in args["axes"])
        return _named(args, f"jnp.{function}({source(args)}, axis=({axes}){more.format(source(args))})")

    return text


def _place(function: str) -> Template:
    def text(args: Arguments) -> str:
        if len(args["axes"]) != 1:
            raise NotWritten(f"{function} over several axes")
        return _named(args, f"jnp.{function}({source(args)}, axis={args['axes'][0]}).astype(jnp.int64)")

    return text


def _move(args: Arguments) -> str:
    array = literal(args["array"])
    match args["move"]:
        case {"reshape": shape}:
            return f"{array}.reshape({literal(shape)})"
        case {"broadcast": shape}:
            return f"jnp.broadcast_to({array}, {literal(shape)})"
        case {"permute": axes}:
            return f"{array}.transpose({literal(axes)})"
        case {"slice": entries}:
            return f"{array}{ranges(entries)}"
    raise NotWritten("windows")


def _set(args: Arguments) -> str:
    array = literal(args["array"])
    return f"{array} = {array}.at{indexed(args).removeprefix(array)}.set({literal(args['value'])})"


def _donating(args: Arguments) -> str:
    """What a call returns for each array that it was given for good, by the array's name."""
    donated, read = ([literal(each) for each in args.get(way, [])] for way in ("donate", "read"))
    return f"dict(zip({donated}, donating([{', '.join(donated)}], [{', '.join(read)}])))"


def _dtyped(template: str) -> Template:
    return dtyped(template, lambda name: "jnp.bool_" if name == "bool" else f"jnp.{name}")


SCRIPT: Final = Script(
    head=_HEAD,
    templates={
        "host": "",
        "empty": _dtyped("jnp.zeros({shape}, {dtype})"),
        "host_array": _dtyped("jnp.zeros({shape}, {dtype})"),
        "from_values": _dtyped("jnp.array({values}, {dtype}).reshape({shape})"),
        "array.move": _move,
        "array.bitcast": _dtyped("{array}.view({dtype})"),
        "array.get": indexed,
        "array.set": _set,
        "array.to_values": "{array}",
        "array.copy": "{array}.copy()",
        "claims.enter": _donating,
        "claims.consume": lambda args: f"{literal(args['claims'])}.pop({literal(args['buffer'])!r})",
        "claims.exit": "globals().update({claims})",
    },
    kernels={
        **{name: _called(f"jnp.{function}") for name, function in (_UNARY | _BINARY).items()},
        "erf": _called("jax.scipy.special.erf"),
        "idiv": _called("jax.lax.div"),
        "where": _called("jnp.where"),
        **{name: _reduction(name) for name in ("max", "min", "mean")},
        **{name: _reduction(name, ", dtype={}.dtype") for name in ("sum", "prod")},
        **{name: _place(name) for name in ("argmax", "argmin")},
        "cumsum": lambda args: _named(
            args, f"jnp.cumsum({source(args)}, axis={args['axis']}, dtype={source(args)}.dtype)"
        ),
        "softmax": lambda args: _named(args, f"jax.nn.softmax({source(args)}, axis={args['axis']})"),
        "cast": lambda args: _named(args, f"{source(args)}.astype({literal(args['dst'])}.dtype)"),
        "fill": lambda args: _named(args, f"jnp.full_like({literal(args['dst'])}, {literal(args['value'])})"),
    },
)
