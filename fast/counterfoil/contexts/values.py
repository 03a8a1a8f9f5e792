"""Context values: what is immutable of a context, and how one is derived from another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil._native import ffi
from counterfoil.contexts.frontier import Frontier
from counterfoil.contexts.lineage import Lineage
from counterfoil.handles import Standing
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Mode, Placement

if TYPE_CHECKING:
    from counterfoil.compile import Decisions
    from counterfoil.contexts.backends import ContextDevice
    from counterfoil.contexts.pools import Location, Pool
    from counterfoil.contexts.roots import Root
    from counterfoil.contexts.units import Unit

MATERIALIZED: Final = Placement(Mode.ON_DEVICE, 24)
"""The placement of a node that decide_materialized recorded."""

_ADDRESS = ffi.typeof("uintptr_t")
_V = TypeVar("_V", bound="Value")
_blank = object.__new__
_put = object.__setattr__

_FIELDS: Final = ("name", "device", "count", "buffers", "initialized", "lineage", "decisions", "frontier")


class Value(Standing):
    """A context value. The base class holds its root and its release unit, and does the common case of run.

    ``count``: its unit's allocations when it was made. ``buffers``: node to location. ``initialized``: nodes marked.
    ``lineage``: the routines compiled on the way from the root. ``decisions``: placements, stored computations and
    preferences. ``frontier``: what the next routine depends on.
    """

    __slots__ = ("buffers", "count", "decisions", "device", "frontier", "initialized", "lineage", "name")

    _root: Root
    _unit: Unit
    name: str
    device: ContextDevice
    count: int
    buffers: Mapping[Node, Location]
    initialized: frozenset[Node]
    lineage: Lineage
    decisions: Decisions
    frontier: Frontier

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("contexts do not change: operations return new ones")

    def __reduce__(self) -> str:
        raise TypeError("contexts are not copied or pickled: their memory is this process's")

    @property
    def constants(self) -> list[Pool]:
        """The constant pools its buffers lie in."""
        return list(dict.fromkeys(where.pool for where in self.buffers.values() if where.pool.constant))

    def placement_of(self, node: Node) -> Placement | None:
        """How the lineage placed the node, None where it did not; what was decided for later compiles counts."""
        found = self.decisions.placements.get(node)
        return MATERIALIZED if found is None and node in self.decisions.materialized else found


def first_value(cls: type[_V], root: Root, unit: Unit, decisions: Decisions) -> _V:
    """The value of a fresh root."""
    value = _blank(cls)
    _complete(value, root, unit)
    name = f"{root.device.backend}:{root.device.ordinal}"
    fields: tuple[object, ...] = (name, root.device, 0, {}, frozenset(), Lineage(), decisions, Frontier())
    for field, first in zip(_FIELDS, fields, strict=True):
        _put(value, field, first)
    return value


def derived(value: _V, unit: Unit | None = None, **changes: Any) -> _V:
    """A value like another but for what is named, in the same unit where none is given."""
    made = _blank(type(value))
    _complete(made, value._root, value._unit if unit is None else unit)
    for field in _FIELDS:
        _put(made, field, changes[field] if field in changes else getattr(value, field))
    return made


def _complete(value: Value, root: Root, unit: Unit) -> None:
    value._stand(root, unit, int(ffi.cast(_ADDRESS, root.ledger)), int(ffi.cast(_ADDRESS, unit.c)))
