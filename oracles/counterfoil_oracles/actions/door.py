"""Commands on the door, the kernels and the harness itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.actions.arguments import Action, Args, all_named, expression_of, named
from counterfoil_oracles.actions.contexts import poison_lineage
from counterfoil_oracles.actions.devices import work_for
from counterfoil_oracles.environment import Environment
from counterfoil_spec.answers import Answer
from counterfoil_spec.commands import decode_number, decode_numbers
from counterfoil_spec.kernels import KERNELS, Family


def _nothing() -> None:
    """Work under the claims that does nothing."""


def _raising() -> None:
    raise RuntimeError("boom")


def _submitting(env: Environment, written: Any, read: Any) -> Callable[[], None]:
    """Work under the claims that queues an increment of the written operands on the first operand's device."""

    def work() -> None:
        reads, writes = [array.buffer for array in read], [array.buffer for array in written]
        for first in [*writes, *reads][:1]:
            env.half.submit(first.device, work_for(first.device, "increment"), reads, writes)

    return work


def _door(env: Environment, args: Args) -> str:
    written, read = all_named(env, args.get("written", [])), all_named(env, args.get("read", []))
    work = args.get("work", "nothing")
    if not isinstance(work, str):
        f = decode_number(work)
    else:
        f = {"nothing": _nothing, "raise": _raising, "submit": _submitting(env, written, read)}[work]
    return _answer_name(env.half.door(written, read, f))


def _answer_name(answer: Any) -> str:
    """An answer's name; anything but an Answer is a bug of the half."""
    if not isinstance(answer, Answer):
        raise TypeError(f"{answer!r} is no Answer")
    return answer.name


def _refused(env: Environment, args: Args) -> None:
    answer = args["answer"]
    answer = Answer[answer] if isinstance(answer, str) else decode_number(answer)
    env.half.refused(decode_number(args["name"]), answer, all_named(env, args["operands"]))


_PARAMETERS: Final[dict[Family, tuple[str, Callable[[Any], Any]]]] = {
    Family.FILL: ("value", decode_number),
    Family.IOTA: ("axis", decode_number),
    Family.REDUCE: ("axes", decode_numbers),
    Family.ARG: ("axes", decode_numbers),
    Family.SCAN: ("axis", decode_number),
    Family.SOFTMAX: ("axis", decode_number),
}


def _kernel(env: Environment, args: Args) -> str:
    name = args["name"]
    kernel, family = getattr(env.half.kernels, name), KERNELS[name].family
    dst, sources = named(env, args["dst"]), all_named(env, args.get("sources", []))
    if family is Family.MAP:
        return _answer_name(kernel(dst, expression_of(args["expression"]), sources))
    if family not in _PARAMETERS:
        return _answer_name(kernel(dst, *sources))
    parameter, decode = _PARAMETERS[family]
    return _answer_name(kernel(dst, *sources, decode(args[parameter])))


# --- the harness -----------------------------------------------------------------------------------------------------


def _poison(env: Environment, args: Args) -> None:
    """Fresh memory, or, where a context is named, its lineage."""
    if "context" in args:
        poison_lineage(env, args)
    else:
        env.half.inspection.poison(args["byte"])


def _drop(env: Environment, args: Args) -> None:
    for entry in args["names"]:
        env.forget(entry["ref"] if isinstance(entry, dict) else entry)


MAKES: Final[dict[str, Action]] = {}

ANSWERS: Final[dict[str, Action]] = {
    "door": _door,
    "refused": _refused,
    "kernel": _kernel,
    "poison": _poison,
    "drop": _drop,
}
