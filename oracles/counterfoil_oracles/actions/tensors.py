"""Commands on the frontend: tensors, and the comps its helpers make."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.actions.arguments import Action, Args, dtype_of, named
from counterfoil_oracles.environment import Environment
from counterfoil_spec.commands import decode_number


def _session(env: Environment) -> Any:
    """The environment's frontend session; the two halves' programs never share one."""
    if env.holdings.session is None:
        env.holdings.session = env.half.tensor.Session()
    return env.holdings.session


def _given(env: Environment, key: str, data: Any) -> Any:
    if key == "dtype":
        return dtype_of(data)
    if isinstance(data, list):
        return [_given(env, "", entry) for entry in data]
    return named(env, data) if isinstance(data, dict) else decode_number(data)


def _call(env: Environment, function: Callable[..., Any], operands: list[Any], options: dict[str, Any]) -> Any:
    """Call a function of the frontend; operands go where it takes several, else first."""
    parameters = inspect.signature(function).parameters.values()
    if "symbols" in inspect.signature(function).parameters:
        options.setdefault("symbols", env.holdings.symbols)
    leading: list[Any] = []
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                break
            leading.append(options.pop(parameter.name))
    with _session(env):
        return function(*leading, *operands, **options)


def _made(env: Environment, function: str, args: Args, operands: list[Any]) -> Any:
    options = {key: _given(env, key, value) for key, value in args.items()}
    return _call(env, getattr(env.half.tensor, function), operands, options)


def _tensor(env: Environment, args: Args) -> Any:
    rest = {key: value for key, value in args.items() if key not in ("make", "to")}
    return _made(env, args["make"], rest, [_given(env, "", entry) for entry in args.get("to", [])])


def _of_loss(function: str, subject: str = "loss") -> Action:
    """The command of a helper that takes a loss (or another tensor) first."""

    def action(env: Environment, args: Args) -> Any:
        rest = {key: value for key, value in args.items() if key != subject}
        return _made(env, function, rest, [named(env, args[subject])])

    return action


def _trainable(env: Environment, args: Args) -> list[str]:
    return [each.label for each in _of_loss("trainable_params")(env, args)]


def _closure(env: Environment, args: Args) -> None:
    """A closure of nothing, or one that fails: then the session is tainted."""
    try:
        with _session(env).closure():
            if "fail" in args:
                raise RuntimeError(args["fail"])
    except RuntimeError:
        pass


def _rewind(env: Environment, args: Args) -> None:
    _session(env).rewind_to_last_closure()


MAKES: Final[dict[str, Action]] = {
    "tensor": _tensor,
    "forward": _of_loss("forward", "tensor"),
    "grad_update": _of_loss("grad_update"),
    "zero_params_grads": _of_loss("zero_params_grads"),
    "sgd_update": _of_loss("sgd_update"),
}

ANSWERS: Final[dict[str, Action]] = {
    "trainable": _trainable,
    "session.closure": _closure,
    "session.rewind": _rewind,
}
