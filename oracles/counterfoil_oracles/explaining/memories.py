"""What comes before a refused command on memory and arrays: claims left, copies, objects made anew, budgets lifted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from counterfoil_oracles.environment import OpenClaims
from counterfoil_oracles.explaining.situation import Repair, Situation, do, in_place, places, ref, renamed
from counterfoil_oracles.observe import role
from counterfoil_spec.commands import Command

_HELD: Final = frozenset(
    {"memory/exclusive", "memory/claimed", "memory/not-spanning", "door/held-exclusive", "claims/overlapping-donation"}
)
_COPIED: Final = frozenset(
    {"door/overlapping", "door/repeated-elements", "door/read-only", "arrays/repeated", "arrays/overlapping",
     "arrays/not-contiguous", "arrays/misaligned", "arrays/sub-byte-off-host", "memory/read-only", "memory/exclusive",
     "door/held-exclusive", "arrays/view-rank"}
)  # fmt: skip
_BROUGHT: Final = frozenset(
    {"door/off-host", "memory/off-host", "arrays/not-on-host", "arrays/sub-byte-off-host", "memory/wrong-device",
     "memory/lost"}
)  # fmt: skip
_FRESH: Final = frozenset(
    {"door/wrong-dtype", "door/shape-mismatch", "door/overlapping", "door/repeated-elements", "door/read-only",
     "arrays/dtypes-differ", "arrays/shapes-differ", "arrays/expect"}
)  # fmt: skip
_ANEW: Final = frozenset(
    {"memory/dead", "memory/lost", "door/dead-buffer", "claims/ended", "claims/not-claimed", "release/dead-handle",
     "release/dead-ancestor", "run/compile-context-released", "run/poisoned", "compile/reuse-differs",
     "compile/discarded-node", "frontend/discarded-tensor", "frontend/code-taken", "memory/not-spanning"}
)  # fmt: skip
_WRITTEN: Final = {"kernel": "dst", "transfer": "dst"}


def repairs(situation: Situation) -> Iterator[Repair]:
    """What the rule asks for, where this module knows it."""
    rule = situation.rule
    if rule in _HELD:
        yield from _left(situation)
    if rule == "memory/exhausted":
        yield from _more(situation)
    if rule == "memory/file":
        yield from _file(situation)
    if rule == "arrays/no-format":
        yield from _bitcast(situation)
    if rule in ("memory/runs-no-work", "memory/cannot-be-lost", "memory/makes-no-memory", "memory/lost"):
        yield from _device(situation)
    if rule in _BROUGHT:
        yield from _brought(situation)
    if rule in _COPIED:
        yield from _copied(situation)
    if rule in _FRESH:
        yield from _destination(situation)
    if rule in _ANEW:
        yield from _anew(situation)


def _left(situation: Situation) -> Iterator[Repair]:
    """Open claims left: each alone, then all."""
    claims = situation.all(lambda thing: isinstance(thing, OpenClaims) and thing.is_open)
    for name in claims:
        yield Repair((do("claims.exit", claims=ref(name)),))
    if len(claims) > 1:
        yield Repair(tuple(do("claims.exit", claims=ref(name)) for name in claims))


def _more(situation: Situation) -> Iterator[Repair]:
    """The device's budget lifted; or what another buffer or context holds given back."""
    for name in situation.of_role("device"):
        if situation.named(name).budget is not None:
            yield Repair((do("device.set_budget", device=ref(name), nbytes=None),))
    used = {name for _, name in places(situation.command.args)}
    for name in situation.of_role("buffer"):
        if name not in used and situation.named(name).dead is None:
            yield Repair((do("buffer.free", buffer=ref(name), why="no longer needed"),))
    for name in reversed(situation.of_role("context")):
        if name not in used:
            yield Repair((do("context.release", context=ref(name)),))


def _file(situation: Situation) -> Iterator[Repair]:
    path = situation.command.args.get("path")
    if isinstance(path, str):
        yield Repair((do("file", path=path, bytes="00" * 8),))


def _bitcast(situation: Situation) -> Iterator[Repair]:
    """An integer dtype of the elements' width."""
    for name in _arrays(situation):
        bits = situation.named(name).dtype.bits
        if bits in (8, 16, 32, 64):
            made = situation.free(f"{name}_bits")
            yield Repair((do("array.bitcast", made, array=ref(name), dtype=f"uint{bits}"),), {name: made})


def _device(situation: Situation) -> Iterator[Repair]:
    """Another device."""
    used = [name for _, name in places(situation.command.args) if role(situation.named(name)) == "device"]
    for name in used:
        made = situation.free("device")
        yield Repair((do("simulated", made, name="another", addressable=True),), {name: made})


def _host(situation: Situation) -> tuple[tuple[Command, ...], str]:
    """The host, taken first where no name has it."""
    host = situation.driver.half.host()
    found = situation.all(lambda thing: thing is host)
    if found:
        return (), found[0]
    name = situation.free("host")
    return (do("host", name),), name


def _brought(situation: Situation) -> Iterator[Repair]:
    """An operand copied to the host."""
    steps, host = _host(situation)
    for name in _arrays(situation):
        made = situation.free(f"{name}_on_host")
        yield Repair((*steps, do("array.to_device", made, array=ref(name), device=ref(host))), {name: made})


def _copied(situation: Situation) -> Iterator[Repair]:
    """A copy of an operand in its place, one after the other."""
    for name in _arrays(situation):
        made = situation.free(f"{name}_copy")
        yield Repair((do("array.copy", made, array=ref(name)),), {name: made})


def _destination(situation: Situation) -> Iterator[Repair]:
    """A fresh destination with a source's dtype and shape."""
    key = _WRITTEN.get(situation.command.do)
    written: Any = situation.command.args.get(key) if key is not None else None
    if not isinstance(written, dict) or "ref" not in written:
        return
    for name in _arrays(situation):
        source = situation.named(name)
        made = situation.free(f"{written['ref']}_fresh")
        if name != written["ref"]:
            args = {"dtype": source.dtype.name, "shape": list(source.layout.shape)}
            yield Repair((Command(do="host_array", args=args, bind=made),), {written["ref"]: made})


def _anew(situation: Situation) -> Iterator[Repair]:
    """An operand made once more, as it was made before; with what it was itself made of, where that is gone too."""
    for name in dict.fromkeys(name for _, name in places(situation.command.args)):
        steps = remade(situation, name.removesuffix(".routine"), 3)
        if steps:
            instead = {old: other for name, new in steps for old, other in in_place(name, str(new.bind)).items()}
            yield Repair(tuple(new for _, new in steps), instead)


def remade(situation: Situation, name: str, depth: int) -> list[tuple[str, Command]]:
    """The command that made a name, with a new one; before it those that made its context, its device or its buffer."""
    maker = situation.maker(name)
    if maker is None or maker.do in ("host", "node", "symbol"):
        return []
    steps: list[tuple[str, Command]] = []
    for key in ("context", "array", "buffer", "comp"):
        inner = maker.args.get(key)
        if depth and isinstance(inner, dict) and "ref" in inner and _is_gone(situation.named(inner["ref"])):
            steps += remade(situation, inner["ref"], depth - 1)
    instead = {old: other for each, new in steps for old, other in in_place(each, str(new.bind)).items()}
    args = renamed(maker.args, instead)
    return [*steps, (name, Command(do=maker.do, args=args, bind=situation.free(f"{name}_again")))]


def _is_gone(thing: Any) -> bool:
    """Whether an object cannot be used any more: dead, released, or of a poisoned lineage."""
    buffer = getattr(thing, "buffer", thing)
    if getattr(buffer, "dead", None) is not None:
        return True
    if role(thing) != "context":
        return False
    return any(unit.released for unit in (thing.unit, *thing.unit.ancestors)) or thing.ledger.poison is not None


def _arrays(situation: Situation) -> list[str]:
    """The arrays that the command names."""
    names = dict.fromkeys(name for _, name in places(situation.command.args))
    return [name for name in names if role(situation.named(name)) == "array"]
