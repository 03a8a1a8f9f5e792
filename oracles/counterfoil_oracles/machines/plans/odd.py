"""Plans that pass what no caller should: a foreign object, a bool for an integer, None for an array."""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.machines.choices import Chooser, pick
from counterfoil_oracles.machines.world import Plan, World
from counterfoil_spec.commands import ODD, Command, references

_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "simulated": ("name", "addressable"),
    "cuda": ("ordinal",),
    "device.advance": ("count",),
    "device.lose": ("why",),
    "device.set_budget": ("nbytes",),
    "buffer": ("nbytes", "kind"),
    "buffer.view": ("first", "nbytes"),
    "buffer.borrow": ("device",),
    "buffer.free": ("why",),
    "buffer.wait": ("access",),
    "buffer.overlaps": ("other",),
    "disk.open": ("path",),
    "disk.create": ("path", "nbytes"),
    "submit": ("device", "work", "reads", "writes"),
    "submit_copy": ("src", "dst"),
    "submit_fill": ("byte",),
    "claims.enter": ("read", "donate"),
    "claims.exclusive": ("buffer",),
    "claims.consume": ("buffer", "why"),
    "of_float": ("dtype", "value"),
    "format_value": ("dtype", "value"),
    "dtype": ("name",),
    "layout": ("shape", "strides", "offset"),
    "layout.contiguous": ("shape",),
    "layout.move": ("move",),
    "move_shape": ("move", "shape"),
    "coalesce": ("layouts",),
    "array": ("dtype", "layout", "buffer"),
    "empty": ("device", "dtype", "shape", "kind"),
    "host_array": ("dtype", "shape"),
    "from_values": ("dtype", "shape", "values"),
    "from_buffer": ("dtype", "object"),
    "array.move": ("move",),
    "array.bitcast": ("dtype",),
    "array.expect": ("dtype",),
    "array.get": ("index",),
    "array.set": ("index", "value"),
    "array.to_device": ("device",),
    "array.borrow": ("device",),
    "transfer": ("src", "dst"),
    "door": ("written", "read", "work"),
    "refused": ("name", "answer", "operands"),
    "kernel": ("dst", "sources", "value", "axis", "axes", "expression"),
}
"""The arguments of each command that may be anything at all."""


def spoil(chooser: Chooser, command: Command) -> Command | None:
    """The command with one argument, or one entry of it, replaced by an odd one; None where there is none to take."""
    keys = [key for key in _KEYS.get(command.do, ()) if command.args.get(key, []) != []]
    if not keys:
        return None
    key = pick(chooser, keys)
    odd = {"odd": pick(chooser, list(ODD))}
    entries = command.args[key]
    wrong: Any = odd
    if isinstance(entries, list) and entries and (key == "sources" or chooser.integer(0, 2)):
        at = chooser.integer(0, len(entries) - 1)
        wrong = [*entries[:at], odd, *entries[at + 1 :]]
    return Command(do=command.do, args={**command.args, key: wrong}, bind=command.bind)


def repeat_oddly(world: World, recent: list[Command]) -> Plan[None]:
    """A command that has run lately, with an odd argument."""
    known = world.driver.names
    candidates = [command for command in recent if all(name in known for name in references(command.args))]
    if not candidates:
        return
    command = spoil(world.chooser, pick(world.chooser, candidates))
    if command is not None:
        bind = world.fresh("x") if command.bind is not None else None
        yield Command(do=command.do, args=command.args, bind=bind)
