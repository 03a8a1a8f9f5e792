"""Whether a host read of a node can be served, and if not, why (context:113 to context:119; docs/contexts.md, §6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil_spec.programs.assignments import Accumulate, Assignment, Embed, Merge, Operand, Read, Row
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Mode, Observability
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import Refusal, refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context

PRECEDENCE: Final = (
    Observability.LOCAL, Observability.ALIASED, Observability.MERGE, Observability.LAUNCH_BOUND,
    Observability.NEEDS_CONTEXT,
)  # fmt: skip
"""Of several reasons the first is told."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The answer for a node, with the labels from the node to what a refusal is about, and a Local node's code."""

    kind: Observability
    path: Path
    provenance: int = 0


def classify(context: Context, node: Node) -> Finding:
    """Whether and how the node can be read; refuses observability/undecided."""
    placement = context.placements.get(node)
    if placement is not None and placement.mode is Mode.LOCAL:
        return Finding(Observability.LOCAL, (node.label,), placement.provenance)
    if node in context.buffers:
        return Finding(Observability.STORED, (node.label,))
    if node.literal is not None:
        return Finding(Observability.HOST_INIT, (node.label,))
    if placement is not None and placement.mode is Mode.VIRTUAL and node in context.decisions.stored:
        return _first(list(_offences(context, node, (node.label,), {node})), node)
    return Finding(Observability.NEEDS_CONTEXT, (node.label,))


def _first(offences: list[Finding], node: Node) -> Finding:
    """The first of the kind that comes before the others; without any the node is recomputable."""
    for kind in PRECEDENCE:
        for offence in offences:
            if offence.kind is kind:
                return offence
    return Finding(Observability.RECOMPUTABLE, (node.label,))


def _offences(context: Context, node: Node, path: Path, seen: set[Node]) -> Iterator[Finding]:
    """What speaks against replaying the stored definition of a virtual node, in program order."""
    for setter in context.decisions.stored[node]:
        for operand in operands(setter):
            if isinstance(operand, Merge):
                yield Finding(Observability.MERGE, (*path, operand.node.label))
            elif operand.node is not node:
                yield from _of_read(context, operand.node, path, seen)
        for symbol in symbols(setter):
            yield Finding(Observability.LAUNCH_BOUND, (*path, symbol.label))


def _of_read(context: Context, node: Node, path: Path, seen: set[Node]) -> Iterator[Finding]:
    if node in seen:
        return
    seen.add(node)
    path, placement = (*path, node.label), context.placements.get(node)
    if placement is not None and placement.mode is Mode.VIRTUAL and node in context.decisions.stored:
        yield from _offences(context, node, path, seen)
    elif placement is not None and placement.mode is Mode.LOCAL:
        yield Finding(Observability.LOCAL, path, placement.provenance)
    elif node in context.buffers or node.literal is not None:
        return
    elif placement is None:
        raise refuse("observability/undecided", node=path[0], path=list(path))
    else:
        yield Finding(Observability.NEEDS_CONTEXT, path)


def operands(setter: Assignment) -> tuple[Operand, ...]:
    """What a setter reads, left to right: the kept operand of arg1 and arg2, a slice view's parent for the view."""
    if not isinstance(setter, Accumulate):
        return (Read(setter.definition.parent),) if isinstance(setter.definition, Row) else ()
    kept = setter.operands
    if setter.operation in ("arg1", "arg2"):
        kept = kept[:1] if setter.operation == "arg1" else kept[1:]
    if setter.accumulator == "arg1":
        return ()
    return tuple(operand if operand.node.slice_of is None else _parent(operand) for operand in kept)


def _parent(operand: Operand) -> Operand:
    assert operand.node.slice_of is not None
    return type(operand)(operand.node.slice_of[0])


def symbols(setter: Assignment) -> list[Symbol]:
    """The static symbols a setter depends on, in the order in which they are met."""
    if not isinstance(setter, Accumulate):
        return [setter.definition.symbol] if isinstance(setter.definition, (Embed, Row)) else []
    projections = setter.projections
    found = [extent for _, extent in projections.product if isinstance(extent, Symbol)]
    for index in (projections.target, *projections.operands):
        found += [symbol for entry in index for symbol in entry.symbols]
    return found + [operand.node.slice_of[1] for operand in setter.operands if operand.node.slice_of is not None]


def refusal(node: Node, finding: Finding) -> Refusal | None:
    """The refusal of a read that cannot be served, None for one that can."""
    path = list(finding.path)
    match finding.kind:
        case Observability.LOCAL:
            return refuse("observability/local", node=node.label, path=path, provenance=finding.provenance)
        case Observability.MERGE:
            return refuse("observability/merge", node=node.label, path=path)
        case Observability.LAUNCH_BOUND:
            return refuse("observability/launch-bound", node=node.label, path=path)
        case Observability.NEEDS_CONTEXT:
            return refuse("observability/needs-context", node=node.label, path=path)
    return None
