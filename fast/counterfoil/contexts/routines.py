"""Routines: read-only records that only compile makes and only run dispatches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.contexts.lineage import Entry
from counterfoil.contexts.roots import Registration
from counterfoil.contexts.tables import Tables
from counterfoil.handles import Dispatchable
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context


class Routine(Dispatchable):
    """A compiled routine (context:15, context:17). The base class holds its tables and the symbols it binds.

    ``context``: the child value its compile returned. ``bindings``: by number. ``inputs``: the reads that are neither
    embedded nor literals; ``outputs``: the nodes it writes; ``shared_reads``: those it reads in constant pools; all by
    uid. ``execution_deps``: the ids it depends on.
    """

    __slots__ = (
        "bindings", "context", "entry", "execution_deps", "inputs", "outputs", "registration", "shared_reads",
    )  # fmt: skip

    _tables: Tables
    _symbols: tuple[Symbol, ...]
    context: Context
    entry: Entry
    registration: Registration
    bindings: tuple[Symbol, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    shared_reads: tuple[Node, ...]
    execution_deps: frozenset[int]

    def __init__(self) -> None:
        raise TypeError("routines are made by compile")

    @property
    def name(self) -> str:
        """Its name: given, or derived from the labels of its code."""
        return self.entry.name

    @property
    def routine_id(self) -> int:
        """Its id in its root's ledger; ids are never reused."""
        return self.entry.routine_id

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("routines do not change")

    def __reduce__(self) -> str:
        raise TypeError("routines are not copied or pickled: their code is loaded in this process")

    def __repr__(self) -> str:
        return f"<routine {self.name}>"
