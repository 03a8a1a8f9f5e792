"""Context values: immutable; every operation that changes something returns a new one (docs/contexts.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from counterfoil_reference.arguments import sequence
from counterfoil_reference.arrays import Array
from counterfoil_reference.contexts import (
    checking,
    compiling,
    copies,
    deciding,
    frontend,
    observing,
    reads,
    releasing,
    roots,
    rows,
    running,
    undoing,
    uploads,
)
from counterfoil_reference.contexts.compiling import Routine
from counterfoil_reference.contexts.ledger import Ledger
from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.contexts.roots import ContextDevice
from counterfoil_reference.contexts.units import Unit, check_released
from counterfoil_reference.frontier import Frontier
from counterfoil_reference.lineage import Entry
from counterfoil_reference.programs import NOTHING_DECIDED, Decisions
from counterfoil_spec.arguments import instance
from counterfoil_spec.backends import unavailable
from counterfoil_spec.programs import placements as words
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.loops import Lowered, Transform
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Mode, Observability, Placement
from counterfoil_spec.programs.symbols import Symbol

_MATERIALIZED = 24
"""The code of the reason of a node that decide_materialized placed."""


@dataclass(frozen=True, eq=False)
class Context:
    """What a program knows of its buffers on one device.

    ``buffers``: node to location. ``initialized``: nodes marked by runs, uploads and copies along the value's history.
    ``lineage``: the routines compiled from the root to here, in order. ``count``: the allocations of its unit when it
    was made; it is the tip while the unit has no more. Compared by identity.
    """

    device: ContextDevice
    ledger: Ledger
    name: str
    unit: Unit
    count: int
    buffers: Mapping[Node, Location]
    initialized: frozenset[Node]
    lineage: tuple[Entry, ...]
    decisions: Decisions
    frontier: Frontier

    # --- roots -------------------------------------------------------------------------------------------------------

    @staticmethod
    def cpu(threads: int = 1, ordinal: int = 0) -> Context:
        """A root on the CPU: cc, or multidev_cc with that many devices (context:25). Refuses contexts/ordinal."""
        return _root(roots.cpu_device(threads, ordinal))

    @staticmethod
    def cuda(ordinal: int = 0) -> Context:
        """A root on a CUDA device. Refuses memory/backend-unavailable, contexts/ordinal."""
        return _root(roots.cuda_device(ordinal))

    @staticmethod
    def hip(ordinal: int = 0) -> Context:
        """Refuses memory/backend-unavailable."""
        raise unavailable("hip", ordinal)

    @staticmethod
    def metal(ordinal: int = 0) -> Context:
        """Refuses memory/backend-unavailable."""
        raise unavailable("metal", ordinal)

    @staticmethod
    def auto(backend: str | None = None) -> Context:
        """A root on the backend asked for, or the first available (context:27)."""
        return _root(roots.automatic(backend))

    # --- compile and run ---------------------------------------------------------------------------------------------

    def compile(
        self,
        comp: Comp,
        bindings: Iterable[Symbol] = (),
        name: str | None = None,
        transform: Transform | None = None,
        prelowered: Lowered | None = None,
        reuse: compiling.Reuse | None = None,
    ) -> tuple[Context, Routine]:
        """The child value and the routine; see ``compiling.compiled``."""
        asked = compiling.request(comp, bindings, name, transform, prelowered, reuse)
        return compiling.compiled(self, asked)

    def run(self, routine: Routine, timing: bool = False) -> Context:
        """Carry the routine out; see ``running.run``. ``timing`` waives gradients/without-reset (context:61)."""
        return running.run(self, instance("routine", routine, Routine), bool(timing))

    def check_runnable(self, routine: Routine) -> None:
        """What run refuses, short of gradients/without-reset and the door (context:65)."""
        self.check_lineage_runnable(routine)
        self.check_launch_bindings(routine)

    def check_lineage_runnable(self, routine: Routine) -> None:
        """The half that no binding changes (context:67)."""
        checking.check_lineage_runnable(self, instance("routine", routine, Routine))

    def check_launch_bindings(self, routine: Routine) -> None:
        """The half about bindings (context:71)."""
        checking.check_launch_bindings(instance("routine", routine, Routine))

    def can_run(self, routine: Routine) -> bool:
        """Whether all that the routine depends on has run (context:99)."""
        return not checking.missing_dependencies(instance("routine", routine, Routine))

    def sync(self) -> None:
        """Wait for the device's work; refuses released, run/poisoned (context:73), memory/lost."""
        check_released(self, "sync")
        self.ledger.check_poison("sync")
        running.sync(self)

    def save_accumulation_history(self) -> Callable[[], None]:
        """Capture the counts of the root; the result sets them back (context:63)."""
        return undoing.saved_history(self.ledger)

    def rollback_execution(self, routine_id: int) -> None:
        """Undo the routine's latest run in the records (context:77)."""
        undoing.rollback(self.ledger, routine_id)

    def poison_lineage(self, routine_id: int, failure: BaseException) -> None:
        """Make the root unusable, naming the routine and the failure (context:79)."""
        undoing.poison(self.ledger, routine_id, failure)

    @property
    def poisoned_failure(self) -> BaseException | None:
        """What poisoned the root, or None (context:81)."""
        return None if self.ledger.poison is None else self.ledger.poison[1]

    def failure_classifier(self, failure: BaseException) -> str | None:
        """The backend's explanation of a failure, or None (context:75)."""
        return undoing.classified(failure)

    # --- transfers ---------------------------------------------------------------------------------------------------

    def from_host(self, node: Node, array: Array) -> Context:
        """Upload an array of the padded extents (context:132)."""
        return uploads.from_host(self, _node(node), array)

    def set_values(self, node: Node, values: Iterable[float]) -> Context:
        """Upload the unpadded values in C order (context:136)."""
        return uploads.set_values(self, _node(node), values)

    def set_value(self, node: Node, index: Sequence[int], value: float) -> Context:
        """Upload one element (context:140)."""
        return uploads.set_value(self, _node(node), index, value)

    def to_host(self, node: Node) -> Array:
        """A fresh host array of the padded extents (context:121)."""
        return reads.to_host(self, _node(node))

    def to_host_all(self, nodes: Iterable[Node]) -> list[Array]:
        """to_host of each node, what is virtual recomputed by one routine (context:130)."""
        return reads.to_host_all(self, sequence("nodes", nodes, Node))

    def get_values(self, node: Node) -> list[Any]:
        """The unpadded elements in C order (context:134)."""
        return reads.get_values(self, _node(node))

    def get_value(self, node: Node, index: Sequence[int]) -> Any:
        """One element (context:138)."""
        return reads.get_value(self, _node(node), index)

    def points_1d(self, node: Node, column: int = 0) -> list[Any]:
        """A vector, or a column of a matrix (context:142)."""
        return reads.points_1d(self, _node(node), column)

    def points_2d(self, node: Node, x: int = 0, y: int = 1) -> list[tuple[Any, Any]]:
        """Pairs of two columns of a matrix (context:144)."""
        return reads.points_2d(self, _node(node), x, y)

    def copy_from(self, source: Context, node: Node, into_merge_buffer: bool = False) -> Context:
        """The node's value from another context, here or into the merge buffer (context:101)."""
        return copies.copy_from(self, instance("source", source, Context), _node(node), bool(into_merge_buffer))

    def array(self, node: Node) -> Array:
        """The array over the node's buffer in place; refuses as to_host, then transfers/absent."""
        return reads.array(self, _node(node))

    # --- release -----------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Free what the release unit holds (context:172)."""
        releasing.release(self.unit)

    def same_release_unit(self, other: Context) -> bool:
        """Whether releasing either releases both (context:184)."""
        return self.unit is instance("other", other, Context).unit

    def adopt_ancestor(self, ancestor: Context) -> None:
        """Let the unit's release release that lifecycle ancestor too (context:186)."""
        releasing.adopt_ancestor(self, instance("ancestor", ancestor, Context))

    # --- asking ------------------------------------------------------------------------------------------------------

    @property
    def backend_name(self) -> str:
        """The backend's name (context:148)."""
        return self.device.backend

    @property
    def ordinal(self) -> int:
        """The device's ordinal (context:150)."""
        return self.device.ordinal

    @property
    def lifecycle_depth(self) -> int:
        """How many lifecycle ancestors it has (context:109)."""
        return self.unit.depth

    @property
    def ledger_records(self) -> int:
        """How many records the root's ledger holds (context:107)."""
        return self.ledger.records

    @property
    def used_memory(self) -> int:
        """Bytes of live pools on the device (context:152)."""
        return self.device.live_bytes

    @property
    def free_and_total_memory(self) -> tuple[int, int] | None:
        """None: the backend has no such reading (context:156)."""
        return None

    @property
    def placements(self) -> Mapping[Node, Placement]:
        """What this lineage decided (context:188)."""
        if not self.decisions.materialized:
            return self.decisions.placements
        decided = dict.fromkeys(self.decisions.materialized, Placement(Mode.ON_DEVICE, _MATERIALIZED))
        return MappingProxyType({**decided, **self.decisions.placements})

    def buffer_written(self, node: Node) -> bool:
        """Whether somebody wrote the buffer bound for the node (context:105)."""
        return self.buffers.get(_node(node)) in self.ledger.written

    def mem(self, node: Node) -> bool:
        """Whether a buffer is bound for the node (context:111)."""
        return _node(node) in self.buffers

    def is_initialized(self, node: Node) -> bool:
        """Whether the node was marked along the value's history (context:146)."""
        return _node(node) in self.initialized

    def observability(self, node: Node) -> Observability:
        """Whether a host read can be served, and if not, why (context:115); refuses released, discarded, slice view."""
        return self._finding(_node(node), "observability").kind

    def explain_observability(self, node: Node) -> str | None:
        """The text of the refusal a read would meet, None where it is served (context:119)."""
        refusal = observing.refusal(node, self._finding(_node(node), "explain_observability"))
        return None if refusal is None else str(refusal)

    def placeholder(self, node: Node) -> str | None:
        """What printers show instead of the value, None where it can be read (context:117)."""
        finding = self._finding(_node(node), "placeholder")
        return words.placeholder(finding.kind, finding.path)

    def has_stored_computation(self, node: Node) -> bool:
        """Whether the lineage stored a computation for the node (context:190)."""
        return bool(self.decisions.stored.get(_node(node)))

    def stored_components(self, node: Node) -> int:
        """How many setters a later read replays (context:192)."""
        return len(self.decisions.stored.get(_node(node), ()))

    @property
    def total_stored_components(self) -> int:
        """Those of every node (context:194)."""
        return sum(len(setters) for setters in self.decisions.stored.values())

    # --- deciding ----------------------------------------------------------------------------------------------------

    def decide_materialized(self, nodes: Iterable[Node]) -> Context:
        """A child that places the nodes On_device (context:196)."""
        return deciding.decided(self, "materialized", sequence("nodes", nodes, Node), "decide_materialized")

    def decide_inline(self, nodes: Iterable[Node]) -> Context:
        """A child that prefers the nodes inline (context:198)."""
        return deciding.decided(self, "inline", sequence("nodes", nodes, Node), "decide_inline")

    def decide_footprint(self, nodes: Iterable[Node]) -> Context:
        """A child that prefers the nodes in the footprint form (context:200)."""
        return deciding.decided(self, "footprint", sequence("nodes", nodes, Node), "decide_footprint")

    def decide_reading(self, reading: str, nodes: Iterable[Node]) -> Context:
        """The child of the decision that the reading names (context:202)."""
        return deciding.decided(self, reading, sequence("nodes", nodes, Node), "decide_reading")

    def decide_readings(
        self, materialized: Iterable[Node], inline: Iterable[Node], footprint: Iterable[Node], skip_empty: bool = True
    ) -> Context:
        """A whole vector of decisions, one child each (context:204)."""
        given = (("materialized", materialized), ("inline", inline), ("footprint", footprint))
        readings = [(reading, sequence(reading, nodes, Node)) for reading, nodes in given]
        return deciding.decided_all(self, readings, skip_empty)

    # --- device rows -------------------------------------------------------------------------------------------------

    def static_properties(self) -> list[dict[str, object]]:
        """One row per device of the backend (context:83)."""
        return rows.static_properties(self.device)

    def device_identity(self) -> dict[str, object] | None:
        """What tells this device's performance apart (context:87)."""
        return rows.device_identity(self.device)

    def hardware_limits(self) -> dict[str, int | None]:
        """The device's limits per workgroup (context:89)."""
        return rows.hardware_limits()

    def codegen_capabilities(self) -> dict[str, object]:
        """Facts of how programs are made (context:91)."""
        return rows.codegen_capabilities()

    def backend_facts(self) -> dict[str, object]:
        """Facts of the backend (context:93)."""
        return rows.backend_facts(self.backend_name)

    def debug_info(self) -> dict[str, object]:
        """What the device holds now (context:170)."""
        return rows.debug_info(self.device)

    def __repr__(self) -> str:
        return f"<context {self.name}>"

    # --- inside ------------------------------------------------------------------------------------------------------

    def filled(self, node: Node, transfer: int) -> Context:
        """The value behind a fill of the merge buffer: the same unit, the fill in its frontier (context:101)."""
        return replace(self, frontier=self.frontier.filled(node, transfer))

    def _finding(self, node: Node, operation: str) -> observing.Finding:
        check_released(self, operation)
        frontend.check_kept(operation, node)
        uploads.check_no_view(node, operation)
        return observing.classify(self, node)


def _root(device: ContextDevice) -> Context:
    """A root: its own ledger and unit, nothing bound, nothing decided (context:57)."""
    ledger = Ledger()
    device.ledgers.add(ledger)
    nothing: Mapping[Node, Location] = MappingProxyType({})
    unit = Unit(ledger, None, ())
    return Context(device, ledger, repr(device), unit, 0, nothing, frozenset(), (), NOTHING_DECIDED, Frontier())


def _node(node: Node) -> Node:
    return instance("node", node, Node)


