"""Commands on buffers and claims."""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.actions.arguments import Action, Args, access_of, buffer_of, buffers_of, kind_of, named
from counterfoil_oracles.environment import Environment, OpenClaims
from counterfoil_spec.commands import decode_number
from counterfoil_spec.interface import MemoryKind


def _buffer(env: Environment, args: Args) -> Any:
    kind = kind_of(args["kind"]) if "kind" in args else MemoryKind.DEVICE
    return named(env, args["device"]).buffer(decode_number(args["nbytes"]), kind)


def _view(env: Environment, args: Args) -> Any:
    return buffer_of(env, args["buffer"]).view(decode_number(args["first"]), decode_number(args["nbytes"]))


def _borrow(env: Environment, args: Args) -> Any:
    return buffer_of(env, args["buffer"]).borrow(named(env, args["device"]))


def _free(env: Environment, args: Args) -> None:
    buffer_of(env, args["buffer"]).free(decode_number(args["why"]))


def _wait(env: Environment, args: Args) -> None:
    buffer_of(env, args["buffer"]).wait(access_of(args["access"]))


def _export(env: Environment, args: Args) -> str:
    return bytes(buffer_of(env, args["buffer"]).export()).hex()


def _overlaps(env: Environment, args: Args) -> Any:
    return buffer_of(env, args["buffer"]).overlaps(buffer_of(env, args["other"]))


def state(buffer: Any) -> dict[str, Any]:
    """A buffer's facts, none of which waits or claims: ``{nbytes, access, dead, claims, device}``."""
    return {
        "nbytes": buffer.nbytes,
        "access": buffer.access.value,
        "dead": buffer.dead,
        "claims": list(buffer.claims),
        "device": buffer.device.name,
    }


def _state(env: Environment, args: Args) -> dict[str, Any]:
    return state(buffer_of(env, args["buffer"]))


def _bytes(env: Environment, args: Args) -> str:
    return bytes(env.half.inspection.memory_bytes(buffer_of(env, args["buffer"]))).hex()


def _poke(env: Environment, args: Args) -> None:
    env.half.inspection.poke(buffer_of(env, args["buffer"]), bytes.fromhex(args["bytes"]))


# --- claims ----------------------------------------------------------------------------------------------------------


def _enter(env: Environment, args: Args) -> OpenClaims:
    read, donate = buffers_of(env, args.get("read", [])), buffers_of(env, args.get("donate", []))
    block = env.half.claims(read=read, donate=donate)
    return OpenClaims(block, block.__enter__())


def _exit(env: Environment, args: Args) -> None:
    named(env, args["claims"]).leave(RuntimeError("boom") if args.get("raise") else None)


def _exclusive(env: Environment, args: Args) -> Any:
    return named(env, args["claims"]).claims.exclusive(buffer_of(env, args["buffer"]))


def _consume(env: Environment, args: Args) -> Any:
    return named(env, args["claims"]).claims.consume(buffer_of(env, args["buffer"]), decode_number(args["why"]))


MAKES: Final[dict[str, Action]] = {
    "buffer": _buffer,
    "buffer.view": _view,
    "buffer.borrow": _borrow,
    "claims.enter": _enter,
    "claims.consume": _consume,
}

ANSWERS: Final[dict[str, Action]] = {
    "buffer.free": _free,
    "buffer.wait": _wait,
    "buffer.export": _export,
    "buffer.overlaps": _overlaps,
    "buffer.state": _state,
    "buffer.bytes": _bytes,
    "buffer.poke": _poke,
    "claims.exit": _exit,
    "claims.exclusive": _exclusive,
}
