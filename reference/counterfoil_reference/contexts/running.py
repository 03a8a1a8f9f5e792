"""Run: the door over the buffers, the dispatch, then the books (docs/contexts.md, §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from counterfoil_reference import checks, history
from counterfoil_reference.arrays import Array
from counterfoil_reference.contexts import contents
from counterfoil_reference.contexts.checking import (
    check_launch_bindings,
    check_lineage_runnable,
    check_reset,
    check_slab,
)
from counterfoil_reference.contexts.compiling import Routine
from counterfoil_reference.contexts.ledger import Before, LatestRun, Ledger, next_event
from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.door import refused, refused_claim
from counterfoil_reference.programs import execute
from counterfoil_reference.work import check_uses, queue
from counterfoil_spec.interface import Access
from counterfoil_spec.programs.nodes import Node

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context


def run(context: Context, routine: Routine, timing: bool) -> Context:
    """Carry the routine out and return the value with its outputs marked; refuses in C1's order.

    The values that bindings hold now are those it uses, whether the work is done at once or, on a device that
    computes, later.
    """
    check_lineage_runnable(context, routine)
    check_launch_bindings(routine)
    if not timing:
        check_reset(context, routine)
    check_slab(routine)
    bindings = {symbol: symbol.value for symbol in routine.bindings if symbol.value is not None}
    code = routine.plan if routine.segments is None else routine.segments
    store = BoundStore(routine)
    through_door(routine, lambda: execute(code, store, bindings))
    _record(routine)
    marked = {node for node in routine.outputs if context.buffers.get(node) is routine.locations[node]}
    return context if marked <= context.initialized else replace(context, initialized=context.initialized | marked)


class BoundStore:
    """The buffers a routine binds, as what executes it sees them, and the merge buffer as it is at the call."""

    def __init__(self, routine: Routine) -> None:
        self._routine = routine
        node = routine.plan.merge
        self._merge = None if node is None else routine.device.slab.array_of(node)

    def array(self, node: Node) -> Array:
        """The array over a node's buffer, of its padded extents."""
        return self._routine.locations[node].array

    def read(self, node: Node) -> list[Any]:
        """The elements of a node's buffer."""
        return contents.values(self.array(node))

    def write(self, node: Node, values: list[Any]) -> None:
        """Replace the elements of a node's buffer."""
        contents.store_values(self.array(node), values)

    def merge(self) -> list[Any]:
        """The elements of the merge buffer, laid out as its node."""
        assert self._merge is not None
        return contents.values(self._merge)


def through_door(routine: Routine, work: Callable[[], None]) -> None:
    """Do the work under claims on the distinct pools, written ones first, after what it must follow; on a device that
    computes it is one submission.

    Refuses Dead_buffer, Held_exclusive and Read_only as DoorRefusals naming the routine, its operands the arguments it
    writes, then those it only reads; memory/lost.
    """
    written = [routine.locations[node].array for node in routine.outputs]
    read = [routine.locations[node].array for node in routine.plan.arguments if node not in routine.outputs]
    answer = refused_claim(written, read)
    if answer is not None:
        refused(routine.name, answer, [*written, *read])
    check_uses([], [array.buffer for array in written])
    check_uses([array.buffer for array in read], [])
    if routine.device.place.computes:
        _submit(routine, work, written, read)
        return
    distinct = {array.buffer.memory: array.buffer for array in [*written, *read]}
    with checks.claimed(*distinct.values()):
        _wait(written, Access.READ_WRITE)
        _wait(read, Access.READ)
        work()


def _submit(routine: Routine, work: Callable[[], None], written: list[Array], read: list[Array]) -> None:
    """Put a run on its device's timeline; a loss while it is under way poisons the root (docs/cuda.md, §3)."""
    place = routine.device.place
    if place.lost is not None:
        raise place.loss()
    sources = [array.buffer for array in read]
    if routine.plan.merge is not None:
        sources.append(routine.device.slab.array_of(routine.plan.merge).buffer)
    queue(place, work, tuple(sources), tuple(array.buffer for array in written))
    ledger, routine_id = routine.ledger, routine.routine_id

    def poison() -> None:
        if ledger.poison is None:
            ledger.poison = (ledger.names.get(routine_id, routine.name), place.loss())

    place.pending[-1].dropped = poison


def sync(context: Context) -> None:
    """Wait for all work of the context's device; raises memory/lost."""
    place = context.device.place
    if place.computes:
        place.advance(place.submitted - place.reached)


def _wait(arrays: Iterable[Array], access: Access) -> None:
    for array in arrays:
        checks.wait(array.buffer, access)


def _record(routine: Routine) -> None:
    """The books after a dispatch: executed, writers, written records, tokens, counts, and what the run found."""
    ledger, outputs = routine.ledger, [routine.locations[node] for node in routine.outputs]
    event = next_event()
    found = {location: _found(ledger, location) for location in outputs}
    gradients = [*routine.entry.accumulates, *routine.entry.zeroes]
    counted = frozenset(routine.locations[node] for node in gradients if node in routine.locations)
    retired = routine.routine_id not in ledger.names  # what a fork still runs of it leaves no trace (C14, C17)
    if not retired:
        ledger.runs[routine.routine_id] = LatestRun(event, ledger.counts, found, counted)
        ledger.executed.add(routine.routine_id)
    for location in outputs:
        ledger.writers.pop(location, None)
        if not retired:
            ledger.writers[location] = routine.routine_id
        ledger.written.add(location)
        ledger.write_constant(location)
        location.event = event
    ledger.counts = history.counted(routine.entry, ledger.counts, routine.locations.get)


def _found(ledger: Ledger, location: Location) -> Before:
    return Before(
        location in ledger.written,
        ledger.writers.get(location),
        location.token,
        ledger.known.get(location),
        location.event,
    )
