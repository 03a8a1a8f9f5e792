"""Commands on dtypes, moves and layouts."""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.actions.arguments import Action, Args, all_named, dtype_of, move_of, named
from counterfoil_oracles.environment import Environment
from counterfoil_spec.commands import decode_number, decode_numbers, encode_number
from counterfoil_spec.dtypes import Dtype


def _of_float(env: Environment, args: Args) -> Any:
    return encode_number(env.half.of_float(dtype_of(args["dtype"]), decode_number(args["value"])))


def _format_value(env: Environment, args: Args) -> Any:
    return env.half.format_value(dtype_of(args["dtype"]), decode_number(args["value"]))


def _nbytes(env: Environment, args: Args) -> Any:
    return dtype_of(args["dtype"]).nbytes(decode_number(args["count"]))


def _range(env: Environment, args: Args) -> list[Any]:
    dtype = dtype_of(args["dtype"])
    return [encode_number(dtype.min_value), encode_number(dtype.max_value)]


def _layout(env: Environment, args: Args) -> Any:
    shape, strides = decode_numbers(args["shape"]), decode_numbers(args["strides"])
    return env.half.Layout(shape, strides, decode_number(args.get("offset", 0)))


def _contiguous(env: Environment, args: Args) -> Any:
    return env.half.Layout.contiguous(decode_numbers(args["shape"]))


def _move(env: Environment, args: Args) -> Any:
    return named(env, args["layout"]).move(move_of(args["move"]))


def place(layout: Any) -> dict[str, Any]:
    """What distinguishes a layout: ``{shape, strides, offset}``."""
    return {"shape": list(layout.shape), "strides": list(layout.strides), "offset": layout.offset}


def facts(layout: Any) -> dict[str, Any]:
    """All of a layout's facts."""
    return {
        **place(layout),
        "size": layout.size,
        "span": list(layout.span),
        "is_contiguous": layout.is_contiguous,
        "is_distinct": layout.is_distinct,
    }


def _facts(env: Environment, args: Args) -> dict[str, Any]:
    return facts(named(env, args["layout"]))


def _move_shape(env: Environment, args: Args) -> list[int]:
    return list(env.half.move_shape(move_of(args["move"]), decode_numbers(args["shape"])))


def _coalesce(env: Environment, args: Args) -> list[dict[str, Any]]:
    return [place(layout) for layout in env.half.coalesce(all_named(env, args["layouts"]))]


MAKES: Final[dict[str, Action]] = {
    "dtype": lambda env, args: Dtype.of_name(decode_number(args["name"])),
    "layout": _layout,
    "layout.contiguous": _contiguous,
    "layout.move": _move,
}

ANSWERS: Final[dict[str, Action]] = {
    "of_float": _of_float,
    "format_value": _format_value,
    "dtype.nbytes": _nbytes,
    "dtype.range": _range,
    "layout.facts": _facts,
    "move_shape": _move_shape,
    "coalesce": _coalesce,
}
