"""Copies between contexts: of a node, and into the merge buffer (context:101, context:103; docs/contexts.md, §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil_reference import checks
from counterfoil_reference.contexts import census, pools, reads, uploads
from counterfoil_reference.contexts.compiling import fill_name
from counterfoil_reference.contexts.frontend import check_kept
from counterfoil_reference.contexts.ledger import Ledger
from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.contexts.units import check_released
from counterfoil_spec.interface import Access
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context

_OPERATION = "copy_from"


def copy_from(target: Context, source: Context, node: Node, into_merge_buffer: bool) -> Context:
    """The node's value in the target, or in its device's merge buffer; the target's value behind it."""
    check_released(target, _OPERATION)
    check_released(source, _OPERATION)
    source.ledger.check_poison(_OPERATION)
    target.ledger.check_poison(_OPERATION)
    check_kept(_OPERATION, node)
    uploads.check_no_view(node, _OPERATION)
    uploads.check_not_local(target, node, _OPERATION)
    if into_merge_buffer:
        return _filled(target, source, node)
    same = target.device.backend == source.device.backend
    there, here = source.buffers.get(node), target.buffers.get(node)
    if there is None or not same:
        return _round_trip(target, source, node)
    if here is there:
        return _adopted(target, source, there)
    return _fresh(target, source, there) if here is None else _over(target, source, there, here)


def _round_trip(target: Context, source: Context, node: Node) -> Context:
    """Through the host: literals, recomputed values, and what another backend holds."""
    there = source.buffers.get(node)
    vouched = there is None or source.ledger.vouches(there)
    array = reads.to_host(source, node, _OPERATION)
    return uploads.uploaded(target, node, lambda: uploads.read(array, node), _OPERATION, vouched)


def _adopted(target: Context, source: Context, location: Location) -> Context:
    """Both bind the same buffer: nothing moves; the target adopts the value if the source vouches for it (C5)."""
    if not source.ledger.vouches(location) or source.ledger.is_stale(location):
        return target
    ledger = target.ledger
    ledger.written.add(location)
    ledger.writers.pop(location, None)
    if location.token is not None:
        ledger.known[location] = location.token
    return uploads.superseded(target, location.node)


def _over(target: Context, source: Context, there: Location, here: Location) -> Context:
    """A device copy into the buffer the target has."""
    _check_ends(there, here)
    _move(there, here)
    census.passed("init-from-device-before-await")
    return uploads.written(target, here, source.ledger.vouches(there))


def _fresh(target: Context, source: Context, there: Location) -> Context:
    """A device copy into a pool of its own, freed whatever fails."""
    checks.check_access(_OPERATION, there.buffer, Access.READ)
    checks.check_unlost(there.buffer, Access.READ)
    pool = pools.allocate(target.device, ((there.node, 0),))
    here = pool.locations[there.node]
    try:
        census.passed("transfer-pool-allocated")
        _move(there, here)
        census.passed("init-from-device-before-await")
    except BaseException:
        try:
            census.passed("transfer-cleanup-before-await")
        finally:
            pool.free()
        raise
    return uploads.allocated(target, here, source.ledger.vouches(there))


def _check_ends(there: Location, here: Location) -> None:
    """Refuse memory/dead, exclusive, read-only and lost, before a byte moves."""
    checks.check_live(_OPERATION, there.buffer, here.buffer)
    checks.check_unheld(_OPERATION, there.buffer, here.buffer)
    checks.check_writable(_OPERATION, here.buffer)
    checks.check_unlost(there.buffer, Access.READ)
    checks.check_unlost(here.buffer, Access.READ_WRITE)


def _move(there: Location, here: Location) -> None:
    """Copy the bytes, the padding included, after what they must follow."""
    with checks.claimed(there.buffer, here.buffer):
        checks.wait(there.buffer, Access.READ)
        checks.wait(here.buffer, Access.READ_WRITE)
        here.buffer.memory.write(here.buffer.first, there.buffer.memory.read(there.buffer.first, there.buffer.nbytes))


def _filled(target: Context, source: Context, node: Node) -> Context:
    """The merge buffer filled from the source's buffer: a new fill, the one before it out of the ledger."""
    if target.device.backend != source.device.backend:
        raise refuse("transfers/cross-backend", node=node.label)
    there = source.buffers.get(node)
    if there is None:
        raise refuse("transfers/not-in-source", node=node.label)
    _check_ready(source, there)
    _check_consumed(target.ledger, node)
    checks.check_access(_OPERATION, there.buffer, Access.READ)
    checks.check_unlost(there.buffer, Access.READ)
    target.device.slab.reserve(node.nbytes)
    with checks.claimed(there.buffer):
        checks.wait(there.buffer, Access.READ)
        target.device.slab.wait()
        transfer = _recorded(target.ledger, node)
        target.device.slab.replace(there, target.ledger, transfer)
    return target.filled(node, transfer)


def _check_ready(source: Context, there: Location) -> None:
    """Refuse transfers/source-pending: the bytes would be those before the source's latest writer (context:101)."""
    ledger, node = source.ledger, there.node
    writer = ledger.writers.get(there)
    if writer is None and node not in source.initialized:
        writer = source.frontier.last_writer.get(node)
    if writer is not None and writer not in ledger.executed:
        raise refuse("transfers/source-pending", node=node.label, writer=ledger.names.get(writer))
    if not (ledger.vouches(there) or node.zero_valid):
        raise refuse("transfers/source-pending", node=node.label, writer=None)


def _check_consumed(ledger: Ledger, node: Node) -> None:
    """Refuse transfers/pending-consumers, naming those of the root's current fill that have not run (C18)."""
    consumers = {} if ledger.fill is None else ledger.consumers.get(ledger.fill, {})
    pending = [ledger.names[each] for each in consumers if each not in ledger.executed]
    if pending:
        raise refuse("transfers/pending-consumers", node=node.label, consumers=pending)


def _recorded(ledger: Ledger, node: Node) -> int:
    """The id of a new fill, at once executed; the one before leaves names, executed and registrations (context:107)."""
    if ledger.fill is not None:
        ledger.names.pop(ledger.fill, None)
        ledger.executed.discard(ledger.fill)
        ledger.consumers.pop(ledger.fill, None)
    ledger.fill = ledger.new_id()
    ledger.names[ledger.fill] = fill_name(node)
    ledger.executed.add(ledger.fill)
    return ledger.fill
