"""What a routine reads before it definitely writes it, and what it writes: its On_device nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from counterfoil.compile.injective import is_onto
from counterfoil.compile.rewrite import evaluated
from counterfoil.compile.views import Step
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Loop,
    Position,
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
    Zero,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.programs.projections import Affine, Extent
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import refuse

Loops = tuple[tuple[Iterator, Extent], ...]
"""Loops around a statement, outermost first."""


class Coverage:
    """Accesses noted in program order. ``placements`` None: every node counts as On_device."""

    def __init__(self, placements: Mapping[Node, Placement] | None) -> None:
        self.reads: dict[Node, None] = {}
        self.writes: dict[Node, None] = {}
        self.merged: dict[Node, None] = {}
        self.symbols: dict[Symbol, None] = {}
        self._placements = placements
        self._definite: set[Node] = set()

    @property
    def merge(self) -> Node | None:
        """The node whose merge buffer is read."""
        return next(iter(self.merged), None)

    def step(self, step: Step, loaded: Iterable[Node]) -> None:
        """An executed step that loads these nodes, those of the definitions it replays included."""
        for node in loaded:
            if node is not step.target or not step.initializes:
                self.read(node)
        if step.reads_target:
            self.read(step.target)
        self.write(step.target, step.is_definite)

    def read(self, node: Node) -> None:
        """A read of the node."""
        if node not in self._definite and self._has_buffer(node):
            self.reads[node] = None

    def write(self, node: Node, definite: bool) -> None:
        """A write of the node, definite or not."""
        if self._has_buffer(node):
            self.writes[node] = None
        if definite:
            self._definite.add(node)

    def _has_buffer(self, node: Node) -> bool:
        return self._placements is None or self._placements[node].mode is Mode.ON_DEVICE


class LoweredCoverage:
    """Notes the accesses of the loop IR, statement after statement. Refuses compile/merge-nodes."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage

    def note(self, body: Iterable[Statement], loops: Loops = (), guarded: bool = False) -> None:
        """The statements under these loops, ``guarded``: and under a condition."""
        sure = not guarded and all(isinstance(extent, int) and extent for _, extent in loops)
        for statement in body:
            match statement:
                case Zero(node):
                    self._coverage.write(node, sure)
                case Store(node, index, value):
                    self._value(value)
                    self._index(index)
                    onto = not any(isinstance(extent, Symbol) for _, extent in loops) and is_onto(node, index, loops)
                    self._coverage.write(node, onto and (sure or (not guarded and node.size == 0)))
                case SetLocal(_, value):
                    self._value(value)
                case Loop(iterator, extent, inner):
                    if isinstance(extent, Symbol):
                        self._coverage.symbols[extent] = None
                    self.note(inner, (*loops, (iterator, extent)), guarded)
                case If(left, right, inner):
                    self._index((left, right))
                    self.note(inner, loops, True)

    def _value(self, value: Scalar) -> None:
        match value:
            case Load(node, index):
                self._index(index)
                self._coverage.read(node)
            case LoadMerge(node, index):
                self._index(index)
                self._merged(node)
            case Position(index):
                self._index((index,))
            case Apply():
                for argument in evaluated(value):
                    self._value(argument)
            case Scope(_, body):
                self.note(body, (), True)

    def _merged(self, node: Node) -> None:
        merged = self._coverage.merged
        merged[node] = None
        if len(merged) > 1:
            nodes = sorted(merged, key=lambda each: each.uid)
            raise refuse("compile/merge-nodes", nodes=[each.label for each in nodes])

    def _index(self, index: Iterable[Affine]) -> None:
        for entry in index:
            self._coverage.symbols.update(dict.fromkeys(entry.symbols))
