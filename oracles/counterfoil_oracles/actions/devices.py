"""Commands on devices, files and submitted work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.actions.arguments import Action, Args, buffer_of, buffers_of, named
from counterfoil_oracles.cuda.working import work_on
from counterfoil_oracles.environment import Environment
from counterfoil_spec.commands import decode_number


def _simulated(env: Environment, args: Args) -> Any:
    return env.half.simulated(decode_number(args["name"]), addressable=decode_number(args.get("addressable", False)))


def _advance(env: Environment, args: Args) -> None:
    named(env, args["device"]).advance(decode_number(args["count"]))


def _lose(env: Environment, args: Args) -> None:
    named(env, args["device"]).lose(decode_number(args["why"]))


def _set_budget(env: Environment, args: Args) -> None:
    named(env, args["device"]).budget = decode_number(args["nbytes"])


def _state(env: Environment, args: Args) -> dict[str, int]:
    device = named(env, args["device"])
    return {"submitted": device.submitted, "reached": device.reached}


# --- files and the disk ----------------------------------------------------------------------------------------------


def _path(env: Environment, args: Args) -> Any:
    path = decode_number(args["path"])
    return env.path(path) if isinstance(path, str) else path


def _file(env: Environment, args: Args) -> None:
    Path(env.path(args["path"])).write_bytes(bytes.fromhex(args["bytes"]))


def _open(env: Environment, args: Args) -> Any:
    return env.half.disk().open(_path(env, args))


def _create(env: Environment, args: Args) -> Any:
    return env.half.disk().create(_path(env, args), decode_number(args["nbytes"]))


def _file_bytes(env: Environment, args: Args) -> str:
    return Path(env.path(args["path"])).read_bytes().hex()


# --- work ------------------------------------------------------------------------------------------------------------


def filling(byte: int) -> Callable[..., None]:
    """Work that stores ``byte`` at every byte written. One view each for the reads, then for the writes."""

    def work(*views: Any) -> None:
        for view in views:
            if not view.readonly:
                view[:] = bytes([byte]) * len(view)

    return work


def increment(*views: Any) -> None:
    """Work that adds 1 modulo 256 to each byte written."""
    for view in views:
        if not view.readonly:
            view[:] = bytes((byte + 1) % 256 for byte in view)


def summing(*views: Any) -> None:
    """Work that makes each byte written the sum modulo 256 of the reads' bytes at its position, missing ones 0."""
    reads = [bytes(view) for view in views if view.readonly]
    for view in views:
        if not view.readonly:
            view[:] = bytes(sum(read[at] for read in reads if at < len(read)) % 256 for at in range(len(view)))


def raising(*views: Any) -> None:
    """Work that fails."""
    raise RuntimeError("boom")


def work_for(device: Any, data: Any) -> Any:
    """The work of that name for a device: CUDA work where the device takes no other."""
    if hasattr(device, "arch") and isinstance(data, str) and data != "raise":
        what, _, byte = data.partition(":")
        return work_on(device, what, int(byte or 0))
    return work_of(data)


_WORKS: Final = {"increment": increment, "sum": summing, "raise": raising}


def work_of(data: Any) -> Any:
    """The work of that name; ``{"odd": KIND}`` for a foreign object."""
    if not isinstance(data, str):
        return decode_number(data)
    return filling(int(data.removeprefix("fill:"))) if data.startswith("fill:") else _WORKS[data]


def _submit(env: Environment, args: Args) -> None:
    device = named(env, args["device"])
    reads = buffers_of(env, args.get("reads", []))
    writes = buffers_of(env, args.get("writes", []))
    number = env.half.submit(device, work_for(device, args["work"]), reads, writes)
    if number != device.submitted:
        raise AssertionError(f"submission {device.submitted} was numbered {number}")


def _submit_copy(env: Environment, args: Args) -> None:
    env.half.submit_copy(buffer_of(env, args["src"]), buffer_of(env, args["dst"]))


def _submit_fill(env: Environment, args: Args) -> None:
    env.half.submit_fill(buffer_of(env, args["buffer"]), decode_number(args["byte"]))


MAKES: Final[dict[str, Action]] = {
    "host": lambda env, args: env.half.host(),
    "disk": lambda env, args: env.half.disk(),
    "simulated": _simulated,
    "cuda": lambda env, args: env.half.cuda(decode_number(args["ordinal"])),
    "disk.open": _open,
    "disk.create": _create,
}

ANSWERS: Final[dict[str, Action]] = {
    "device.advance": _advance,
    "device.lose": _lose,
    "device.set_budget": _set_budget,
    "device.state": _state,
    "file": _file,
    "file.bytes": _file_bytes,
    "submit": _submit,
    "submit_copy": _submit_copy,
    "submit_fill": _submit_fill,
}
