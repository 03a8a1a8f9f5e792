"""What contexts hold and know, in the reference and in a target: looked at after each command that changes something.

Where the rules leave room, the target's bits are held against it and then become the reference's. Buffers that no
command can read when they are written (the node has no name, the buffer is donated) are *loose*: until they can be
read, nothing that is computed from them is compared.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from counterfoil_oracles.actions.programs import node_of, nodes_of
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.observe import role
from counterfoil_oracles.reads import READS, settled_read
from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.taking import take_over
from counterfoil_oracles.targets.verdicts import Finding, Kind
from counterfoil_spec.commands import Command, Outcome, Returned
from counterfoil_spec.protocol import Refusal, Skipped, TargetOutcome, Value

READ: Final = "to_host"
"""The command by which a target shows what a context holds."""

FACTS: Final = "context.facts"
ROUTINE: Final = "routine.facts"
"""The commands by which it shows what a context knows, and what it made of a compile."""

UPLOADS: Final = frozenset({"from_host", "set_values", "set_value"})
_RECORDING: Final = UPLOADS | {"run", "compile", "copy_from", "rollback", "context.release", "decide"}
_READERS: Final = 8
"""Contexts asked for one that can read a buffer, at most."""

Ask = Callable[[Command], TargetOutcome]
Judge = Callable[[Command, Outcome, TargetOutcome], Finding | None]
_Place = tuple[int, int]


@dataclass(frozen=True)
class _Loose:
    """A buffer of the reference's that waits to be read, and what the rules allow there."""

    node: Any
    array: Any
    accepts: list[Any]


class ContextContents:
    """``ask`` puts a command to the target (skipped where it does not list it), ``judge`` compares two outcomes."""

    def __init__(self, reference: Driver, ask: Ask, judge: Judge) -> None:
        self._reference = reference
        self._ask = ask
        self._judge = judge
        self._loose: dict[_Place, _Loose] = {}
        self._fed = False
        self._fills_are_loose = False
        self._refs: dict[int, Any] = {}

    # --- around a step -----------------------------------------------------------------------------------------------

    def before(self, command: Command) -> Finding | None:
        """Read what was loose, where it can be read by now; and note whether the command reads what is loose still."""
        self._fed = False
        for place, loose in list(self._loose.items()):
            asked = self._reader(loose.node, place, ())
            if asked is not None:
                del self._loose[place]
                found = self._compared(command, asked, loose.node, loose.array, loose.accepts)
                if found is not None:
                    return found
        if self._loose or self._fills_are_loose:
            # A command that does not name what it should is about to be refused.
            with contextlib.suppress(AttributeError, KeyError, TypeError):
                self._fed = self._reads_loose(command)
        return None

    def settled(self, command: Command, expected: Outcome, actual: TargetOutcome, records: list[Any]) -> TargetOutcome:
        """The target's answer to a read; the reference's, where the rules leave room for the difference."""
        if command.do not in READS or not (isinstance(expected, Returned) and isinstance(actual, Value)):
            return actual
        if self._fed:
            return Value(expected.value)
        if not records:
            return actual
        theirs = Returned(wire.received(actual.value))
        try:
            is_near = settled_read(records, self._reference, command, expected, theirs) is expected
        except (TypeError, ValueError, OverflowError, KeyError, struct.error):
            return actual  # no elements of the dtype: the difference is told as it stands
        return Value(expected.value) if is_near else actual

    def after(self, command: Command, records: list[Any]) -> Finding | None:
        """How the target parts in what an accepted command left in buffers and records, or made of a compile."""
        if command.do == "run":
            found = self._ran(command, records)
        elif command.do == "compile":
            found = self._made(command)
        elif command.do in UPLOADS or command.do == "copy_from":
            found = self._moved(command, records)
        else:
            found = None
        return found or self._recorded(command)

    def look(self) -> Finding | None:
        """The first buffer of a live context that holds other elements than the reference's; None if none does."""
        seen: set[_Place] = set()
        for name, context in list(self._contexts()):
            for node in list(context.buffers):
                ours = self._array(context, node)
                if ours is None or _place(ours) in seen or _place(ours) in self._loose:
                    continue
                asked = self._reader(node, _place(ours), [name], most=1)
                if asked is not None:
                    seen.add(_place(ours))
                    found = self._compared(asked, asked, node, ours, None)
                    if found is not None:
                        return found
        return None

    # --- commands ----------------------------------------------------------------------------------------------------

    def _ran(self, command: Command, records: list[Any]) -> Finding | None:
        """Every buffer that a run wrote."""
        routine = self._reference.names[command.args["routine"]["ref"]]
        rooms = {_place(record.dst): record.accepts for record in records}
        near = [command.bind or "", command.args["context"]["ref"], self._home(command)]
        for node in routine.outputs:
            ours = self._array(routine.context, node)
            if ours is not None:
                found = self._held(command, node, ours, rooms.get(_place(ours)), near)
                if found is not None:
                    return found
        return None

    def _made(self, command: Command) -> Finding | None:
        """What a compiled routine reads, writes, binds and depends on."""
        if command.bind is None:
            return None
        return self._answered(command, Command(do=ROUTINE, args={"routine": {"ref": f"{command.bind}.routine"}}))

    def _moved(self, command: Command, records: list[Any]) -> Finding | None:
        """The buffer that an upload or a copy wrote; the merge buffer is read by runs alone."""
        args = command.args
        if args.get("into_merge_buffer"):
            self._fills_are_loose = self._fills_are_loose or self._fed
            return None
        name = command.bind or args["context"]["ref"]
        node = node_of(self._reference.environment, args["node"])
        ours = self._array(self._reference.names[name], node)
        return (
            None if ours is None else self._held(command, node, ours, records[-1].accepts if records else None, [name])
        )

    def _recorded(self, command: Command) -> Finding | None:
        """What a context knows after a command that changes records, of the nodes the command was about."""
        if command.do not in _RECORDING:
            return None
        args, names = command.args, self._reference.names
        name = command.bind or args["context"]["ref"]
        nodes = [node_of(self._reference.environment, args["node"])] if "node" in args else []
        routine = names.get(args["routine"].get("ref", "") if "routine" in args else f"{command.bind}.routine")
        if routine is not None and hasattr(routine, "outputs"):
            nodes = list(routine.outputs)
            name = name if command.do != "rollback" else self._home(command)
        told = [ref for ref in map(self._named, nodes) if ref is not None]
        if role(names.get(name)) != "context":
            return None
        return self._answered(command, Command(do=FACTS, args={"context": {"ref": name}, "nodes": told}))

    def _answered(self, command: Command, asked: Command) -> Finding | None:
        """How the target parts in what it answers to a question after a command."""
        actual = self._ask(asked)
        if isinstance(actual, Skipped):
            return None
        found = self._judge(asked, self._reference.execute(asked), actual)
        if found is None:
            return None
        about = asked.args["context" if asked.do == FACTS else "routine"]["ref"]
        return Finding(found.kind, command, found.rule, f"{about}: {found.words}", asked, actual)

    def _held(
        self, command: Command, node: Any, ours: Any, accepts: list[Any] | None, near: list[str]
    ) -> Finding | None:
        """A buffer just written: compared, taken over where there is room, or loose where nobody can read it."""
        place = _place(ours)
        if self._fed:
            accepts = [self._reference.half.intervals.ANYTHING] * ours.layout.size
        room = accepts if accepts is not None and any(accept is not None for accept in accepts) else None
        self._loose.pop(place, None)
        if not ours.layout.size or (room is None and _is_under_way(ours)):
            return None
        asked = self._reader(node, place, near)
        if asked is not None:
            return self._compared(command, asked, node, ours, room)
        if room is not None:
            self._loose[place] = _Loose(node, ours, room)
        return None

    def _compared(
        self, command: Command, asked: Command, node: Any, ours: Any, room: list[Any] | None
    ) -> Finding | None:
        expected = self._reference.execute(asked)
        actual = self._ask(asked)
        if isinstance(actual, Skipped):
            if room is not None:
                self._loose[_place(ours)] = _Loose(node, ours, room)
            return None
        if room is None or isinstance(actual, Refusal):
            found = self._judge(asked, expected, actual)
            if found is None:
                return None
            kind = Kind.CONTENT if found.kind is Kind.VALUE else found.kind
            return Finding(kind, command, found.rule, f"{node.label}: {found.words}", asked, actual)
        codes = wire.codes_shown(asked.do, actual, node.dtype.name)
        if codes is None or len(codes) != len(room):
            words: str | None = f"{actual} holds no {len(room)} elements"
        else:
            words = take_over(self._reference.half, ours, room, codes)
        return None if words is None else Finding(Kind.CONTENT, command, None, f"{node.label}: {words}", asked, actual)

    # --- looking -----------------------------------------------------------------------------------------------------

    def _array(self, context: Any, node: Any) -> Any:
        return self._reference.half.inspection.array(context, node)

    def _contexts(self) -> Iterator[tuple[str, Any]]:
        """The named contexts, latest first."""
        names = self._reference.names
        return ((name, names[name]) for name in reversed(list(names)) if role(names[name]) == "context")

    def _home(self, command: Command) -> str:
        """The name of the context that a run's routine was compiled with."""
        name: str = command.args["routine"]["ref"]
        return name.removesuffix(".routine")

    def _reader(self, node: Any, place: _Place, near: list[str] | tuple[()], most: int = _READERS) -> Command | None:
        """A read of the node's buffer that the reference accepts, from the contexts near to a command or any other."""
        ref, names = self._named(node), self._reference.names
        if ref is None:
            return None
        tried = 0
        for name in dict.fromkeys([*near, *(name for name, _ in self._contexts())]):
            context = names.get(name)
            if context is None or role(context) != "context" or tried >= most:
                continue
            ours = self._array(context, node)
            if ours is not None and _place(ours) == place:
                tried += 1
                asked = Command(do=READ, args={"context": {"ref": name}, "node": ref})
                if isinstance(self._reference.execute(asked), Returned):
                    return asked
        return None

    def _named(self, node: Any) -> Any:
        """How commands name a node: by itself, by its tensor, or as a tensor's gradient; None where they cannot."""
        if id(node) not in self._refs:
            for name, thing in self._reference.names.items():
                if thing is node or (role(thing) == "tensor" and thing.value is node):
                    self._refs[id(node)] = {"ref": name}
                elif role(thing) == "tensor" and thing.grad is node:
                    self._refs[id(node)] = {"grad": name}
        return self._refs.get(id(node))

    def _reads_loose(self, command: Command) -> bool:
        """Whether a command reads, or computes with, elements that were never compared."""
        names, env = self._reference.names, self._reference.environment
        if command.do == "run":
            routine = names[command.args["routine"]["ref"]]
            merges = self._fills_are_loose and routine.plan.merge is not None
            return merges or any(self._is_loose(routine.context, node) for node in routine.reads)
        if command.do == "copy_from":
            return self._may_be_loose(names[command.args["source"]["ref"]], node_of(env, command.args["node"]))
        if command.do == "set_value":
            return self._is_loose(names[command.args["context"]["ref"]], node_of(env, command.args["node"]))
        if command.do in READS:
            nodes = [command.args["node"]] if "node" in command.args else command.args["nodes"]
            context = names[command.args["context"]["ref"]]
            return any(self._may_be_loose(context, node) for node in nodes_of(env, nodes))
        return False

    def _is_loose(self, context: Any, node: Any) -> bool:
        ours = self._array(context, node)
        return ours is not None and _place(ours) in self._loose

    def _may_be_loose(self, context: Any, node: Any) -> bool:
        """A node that is not bound is computed from others."""
        return self._array(context, node) is None or self._is_loose(context, node)


def _place(array: Any) -> _Place:
    """Where an array's bytes lie: the memory is kept by the context."""
    return id(array.buffer.memory), array.buffer.first


def _is_under_way(array: Any) -> bool:
    """Whether work on an array's device is left to perform: looking would wait for it."""
    device = array.buffer.device
    return bool(device.submitted > device.reached)
