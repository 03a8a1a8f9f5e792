"""Whether a host read of a node can be served, and if not, why (context:113-119; docs/contexts.md, section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil_spec.programs.assignments import Accumulate, Assignment, Embed, Merge, Operand, Row
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Mode, Observability
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import Refusal, refuse

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context

_RANK: Final = {
    Observability.LOCAL: 0, Observability.ALIASED: 1, Observability.MERGE: 2, Observability.LAUNCH_BOUND: 3,
    Observability.NEEDS_CONTEXT: 4, Observability.RECOMPUTABLE: 5,
}  # fmt: skip
"""Of several reasons the one that ranks first is told."""


class Finding(NamedTuple):
    """The answer for a node, with the labels from the node to what it is about, and a Local node's code."""

    kind: Observability
    path: tuple[str, ...]
    provenance: int = 0


def classify(value: Context, node: Node) -> Finding:
    """Whether and how the node can be read; refuses observability/undecided."""
    path, placement = (node.label,), value.placement_of(node)
    mode = None if placement is None else placement.mode
    if placement is not None and mode is Mode.LOCAL:
        return Finding(Observability.LOCAL, path, placement.provenance)
    if node in value.buffers:
        return Finding(Observability.STORED, path)
    if node.literal is not None:
        return Finding(Observability.HOST_INIT, path)
    if mode is not Mode.VIRTUAL or node not in value.decisions.stored:
        return Finding(Observability.NEEDS_CONTEXT, path)
    return _Walk(value).of(node)


class _Walk:
    """A walk through stored definitions: the offence that ranks first so far, and the nodes met."""

    def __init__(self, value: Context) -> None:
        self._value = value
        self._met: set[Node] = set()

    def of(self, node: Node) -> Finding:
        self._met.add(node)
        best = Finding(Observability.RECOMPUTABLE, (node.label,))
        for offence in self._setters(node, (node.label,)):
            if _RANK[offence.kind] < _RANK[best.kind]:
                best = offence
        return best

    def _setters(self, node: Node, path: tuple[str, ...]) -> Iterator[Finding]:
        for setter in self._value.decisions.stored[node]:
            for operand in _operands(setter):
                read, view = _parent(operand.node), isinstance(operand, Merge)
                if view:
                    yield Finding(Observability.MERGE, (*path, read.label))
                elif read is not node and read not in self._met:
                    self._met.add(read)
                    yield from self._read(read, (*path, read.label))
            for symbol in _symbols(setter):
                yield Finding(Observability.LAUNCH_BOUND, (*path, symbol.label))

    def _read(self, node: Node, path: tuple[str, ...]) -> Iterator[Finding]:
        placement = self._value.placement_of(node)
        mode = None if placement is None else placement.mode
        if mode is Mode.VIRTUAL and node in self._value.decisions.stored:
            yield from self._setters(node, path)
        elif placement is not None and mode is Mode.LOCAL:
            yield Finding(Observability.LOCAL, path, placement.provenance)
        elif node not in self._value.buffers and node.literal is None:
            if placement is None:
                raise refuse("observability/undecided", node=path[0], path=list(path))
            yield Finding(Observability.NEEDS_CONTEXT, path)


def _operands(setter: Assignment) -> tuple[Operand, ...]:
    """What a setter evaluates of its operands; a row's parent is read where the setter is an Accumulate."""
    if not isinstance(setter, Accumulate) or setter.accumulator == "arg1":
        return ()
    if setter.operation == "arg1":
        return setter.operands[:1]
    return setter.operands[1:] if setter.operation == "arg2" else setter.operands


def _parent(node: Node) -> Node:
    return node if node.slice_of is None else node.slice_of[0]


def _symbols(setter: Assignment) -> Iterator[Symbol]:
    """The static symbols a setter depends on, in the order in which they are met."""
    if not isinstance(setter, Accumulate):
        if isinstance(setter.definition, (Embed, Row)):
            yield setter.definition.symbol
        return
    yield from (extent for _, extent in setter.projections.product if isinstance(extent, Symbol))
    for index in (setter.projections.target, *setter.projections.operands):
        for entry in index:
            yield from entry.symbols
    yield from (operand.node.slice_of[1] for operand in setter.operands if operand.node.slice_of is not None)


def refusal(node: Node, finding: Finding) -> Refusal | None:
    """The refusal of a read that cannot be served, None for one that can."""
    path = list(finding.path)
    if finding.kind.readable:
        return None
    if finding.kind is Observability.LOCAL:
        return refuse("observability/local", node=node.label, path=path, provenance=finding.provenance)
    rule = {
        Observability.MERGE: "observability/merge",
        Observability.LAUNCH_BOUND: "observability/launch-bound",
        Observability.NEEDS_CONTEXT: "observability/needs-context",
    }[finding.kind]
    return refuse(rule, node=node.label, path=path)
