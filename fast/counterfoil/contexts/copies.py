"""Copies between contexts: of a node, and into the merge buffer (context:101, context:103; docs/contexts.md, 6)."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from counterfoil._native import ffi, lib
from counterfoil.contexts import census, moving, pools, reads, uploads
from counterfoil.contexts.frontend import check_kept
from counterfoil.contexts.frontier import Fill
from counterfoil.contexts.pools import Location
from counterfoil.contexts.roots import Root, both_entered
from counterfoil.contexts.units import check_released
from counterfoil.contexts.values import derived
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context

_OPERATION = "copy_from"
_fills: Final = itertools.count(1)


def copy_from(target: Context, source: Context, node: Node, into_merge_buffer: bool) -> Context:
    """The node's value in the target, or in its device's merge buffer; the target's value behind it."""
    with both_entered(target._root, source._root):
        check_released(target, _OPERATION)
        check_released(source, _OPERATION)
        source._root.check_poison(_OPERATION)
        target._root.check_poison(_OPERATION)
        check_kept(_OPERATION, node)
        uploads.check_no_view(node, _OPERATION)
        uploads.check_not_local(target, node, _OPERATION)
        if into_merge_buffer:
            return _filled(target, source, node)
        there, here = source.buffers.get(node), target.buffers.get(node)
        if there is not None and target.device.backend == source.device.backend:
            if here is there:
                return _adopted(target, source, there)
            return _fresh(target, source, there) if here is None else _over(target, source, there, here)
    return _round_trip(target, source, node)


def _round_trip(target: Context, source: Context, node: Node) -> Context:
    """Through the host: literals, recomputed values, and what another backend holds."""
    there = source.buffers.get(node)
    vouched = there is None or source._root.vouches(there)
    array = reads.to_host(source, node, _OPERATION)
    with target._root.entered():
        return uploads.uploaded(target, node, lambda: uploads.read_under_claim(array, node), _OPERATION, vouched)


def _adopted(target: Context, source: Context, location: Location) -> Context:
    """Both bind the same buffer: nothing moves; the target adopts the value if the source vouches for it (C5)."""
    theirs = source._root.record(location)
    if not source._root.vouches(location) or lib.cf_record_stale(source._root.ledger, theirs.c):
        return target
    record = target._root.record(location)
    lib.cf_record_own(target._root.ledger, record.c, ffi.NULL)
    lib.cf_record_adopt(target._root.ledger, record.c)
    return uploads.superseded(target, location.node)


def _over(target: Context, source: Context, there: Location, here: Location) -> Context:
    """A device copy into the buffer the target has."""
    with _held(there, here):
        moving.duplicate(there, here)
    census.passed("init-from-device-before-await")
    return uploads.written(target, here, source._root.vouches(there))


def _fresh(target: Context, source: Context, there: Location) -> Context:
    """A device copy into a pool of its own, freed whatever fails."""
    with _held(there):
        pool = pools.new_pool(target.device, [(there.node, 0)])
        here = pool.locations[there.node]
        try:
            census.passed("transfer-pool-allocated")
            moving.duplicate(there, here)
            census.passed("init-from-device-before-await")
        except BaseException:
            try:
                census.passed("transfer-cleanup-before-await")
            finally:
                pool.free()
            raise
    return uploads.allocated(target, here, source._root.vouches(there))


@contextlib.contextmanager
def _held(there: Location, here: Location | None = None) -> Generator[None]:
    """Claims on the ends of a copy; refuses memory/dead, exclusive, read-only and lost before a byte moves."""
    ends = [there.pool.buffer] if here is None else [there.pool.buffer, here.pool.buffer]
    where = ffi.new("int *")
    handles = [end._c for end in ends]
    answer = lib.cf_claims_take(handles, [False, True][: len(ends)], len(ends), where)
    if answer:
        raise ends[where[0]].claim_refusal(_OPERATION, answer)
    try:
        for writing, end in enumerate(ends):
            end.require_found(bool(writing))
        yield
    finally:
        lib.cf_claims_release(handles, len(handles))


def _filled(target: Context, source: Context, node: Node) -> Context:
    """The merge buffer filled from the source's buffer: a new fill, the one before it out of the ledger."""
    if target.device.backend != source.device.backend:
        raise refuse("transfers/cross-backend", node=node.label)
    there = source.buffers.get(node)
    if there is None:
        raise refuse("transfers/not-in-source", node=node.label)
    _check_ready(source, there)
    _check_consumed(target._root, node)
    device, root = target.device, target._root
    with _held(there), device.guard, device.slab.closed():
        if device.worker is not None:
            device.wait()  # a routine may still be reading what the slab holds
        device.slab.take(there)
        fill = _registered(root, node)
        lib.cf_slab_open(device.slab.c, fill.number)
    return derived(target, frontier=target.frontier.filled(fill))


def _check_ready(source: Context, there: Location) -> None:
    """Refuse transfers/source-pending: the bytes would be those before the source's latest writer (context:101)."""
    root, node = source._root, there.node
    mark = root.record(there).c.writer
    if mark != ffi.NULL:
        executed, name = bool(mark.executed), root.name_of(int(mark.id))
    else:
        latest = None if node in source.initialized else source.frontier.writers.get(node)
        executed, name = latest is None or latest.executed, None if latest is None else root.name_of(latest.id)
    if not executed or not (root.vouches(there) or node.zero_valid):
        raise refuse("transfers/source-pending", node=node.label, writer=None if executed else name)


def _check_consumed(root: Root, node: Node) -> None:
    """Refuse transfers/pending-consumers, naming those of the root's current fill that have not run (C18)."""
    consumers = {} if root.fill is None else root.consumers.get(root.fill.id, {})
    pending = [name.name for each in consumers if (name := root.names.get(each)) is not None and not name.executed]
    if pending:
        raise refuse("transfers/pending-consumers", node=node.label, consumers=pending)


def _registered(root: Root, node: Node) -> Fill:
    """A new fill, at once executed; the one before leaves names, executed ids and registrations (context:107)."""
    if root.fill is not None:
        root.consumers.pop(root.fill.id, None)
        root.retire(root.fill)
    root.fill = root.register(f"copy of {node.label}")
    lib.cf_mark_set(root.ledger, root.fill.c, True)
    return Fill(node, root.fill, next(_fills))
