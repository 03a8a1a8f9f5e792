"""The facts that the rules of contexts look at, told of the reference's objects: units, lineages, writers, counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def context_lines(context: Any) -> Iterator[str]:
    """Whether a context is alive, what its unit holds, what was compiled on the way to it, what poisoned it."""
    unit, ledger = context.unit, context.ledger
    gone = [levels for levels, each in enumerate([unit, *unit.ancestors]) if each.released]
    if gone:
        yield "it was released" if gone[0] == 0 else f"a context {gone[0]} levels above it was released"
    if ledger.poison is not None:
        yield f"its lineage was poisoned when {ledger.poison[0]} failed"
    for pool in unit.pools:
        held = ", ".join(node.label for node in pool.locations)
        others = len(pool.holders) - 1
        shared = f", shared with {others} other unit{'s' * (others > 1)}" if others > 0 else ""
        yield f"its unit holds {pool.nbytes} bytes: {held}{shared}"
    if context.lineage:
        yield f"compiled on the way to it: {', '.join(entry.name for entry in context.lineage)}"
    filled = context.frontier.merge
    if filled is not None:
        yield f"its merge buffer was filled with {filled[0].label}"


def routine_lines(routine: Any) -> Iterator[str]:
    """Whether a routine ran, what it waits for, what it lacks, what its symbols are, how often it added."""
    ledger = routine.ledger
    yield "it has run" if routine.routine_id in ledger.executed else "it has not run"
    missing = [routine.dependency_names[dep] for dep in sorted(routine.execution_deps - ledger.executed)]
    if missing:
        yield f"not yet run of what it depends on: {', '.join(missing)}"
    unwritten = [node.label for node in routine.demanded if routine.locations[node] not in ledger.written]
    if unwritten:
        yield f"nothing wrote {', '.join(unwritten)} in its buffers"
    for node in routine.outputs:
        writer = ledger.writers.get(routine.locations[node])
        if writer is not None:
            yield f"{node.label} was last written by {ledger.names.get(writer, 'a routine that is gone')}"
    for symbol in routine.bindings:
        most = "" if symbol.greatest is None else f", at most {symbol.greatest}"
        yield f"{symbol.label} is {'bound to nothing' if symbol.value is None else symbol.value}{most}"
    yield from _counts(routine)


def _counts(routine: Any) -> Iterator[str]:
    entry = routine.entry
    for gradient in sorted(set(entry.accumulates) - set(entry.zeroes), key=lambda node: node.uid):
        location = routine.locations.get(gradient)
        if location is not None:
            added = routine.ledger.counts.get((routine.routine_id, location), 0)
            yield f"since the last reset it added to {gradient.label} {added} of {entry.allowance(gradient)} times"
