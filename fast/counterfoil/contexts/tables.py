"""A routine's tables: everything run looks at, prepared once, in the core's structures and as the nodes they are of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from counterfoil._native import ffi
from counterfoil.compile import Kernel
from counterfoil.contexts.backends import SERVICES
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol

if TYPE_CHECKING:
    from counterfoil.compile import Plan
    from counterfoil.contexts.frontier import Fill
    from counterfoil.contexts.launching import CudaKernel, Launcher
    from counterfoil.contexts.pools import Location, Pool
    from counterfoil.contexts.roots import Record, Registration, Root
    from counterfoil.contexts.units import Unit

INDEX_WIDTH: Final = 2**31
"""What every binding stays below."""

_HEAVY_BYTES = 1 << 15
"""Arguments of this many bytes take longer than handing the interpreter to another thread."""

_serials: Final = itertools.count(1)


class Tables:
    """The core's tables of one routine (``c``), kept with all they point to.

    ``locations``: of the arguments. ``needed``, ``shared_reads`` and ``counted`` are the nodes of the entries of the
    core's tables; ``operands`` the arguments written, then those only read; ``outputs`` the records of those written.
    ``dependencies``: by id. ``merge``: the node whose merge buffer is read. ``launcher``: what runs on a CUDA device
    enqueue, None where the host runs the kernel.
    """

    __slots__ = (
        "_keep", "c", "counted", "dependencies", "launcher", "locations", "merge", "needed", "operands", "outputs",
        "pools", "shared_reads",
    )  # fmt: skip

    def __init__(self, root: Root, unit: Unit, registration: Registration) -> None:
        self.c = ffi.new("cf_routine *")
        self._keep: list[Any] = [root.ledger, unit, registration.c]
        self.c.serial = next(_serials)
        self.c.ledger = root.ledger
        self.c.unit = unit.c
        self.c.mark = registration.c
        self.c.services = SERVICES
        self.locations: dict[Node, Location] = {}
        self.needed: list[Node] = []
        self.shared_reads: list[Node] = []
        self.counted: list[Node] = []
        self.operands: list[Node] = []
        self.dependencies: list[Registration] = []
        self.outputs: list[Record] = []
        self.pools: list[Pool] = []
        self.merge: Node | None = None
        self.launcher: Launcher | None = None

    def array(self, ctype: str, entries: Sequence[Any]) -> Any:
        """An array of the core, kept; null for none."""
        if not entries:
            return ffi.NULL
        made = ffi.new(f"{ctype}[]", entries)
        self._keep.append(made)
        return made

    def space(self, ctype: str, count: int) -> Any:
        """Zeroed entries of the core, kept; null for none."""
        if not count:
            return ffi.NULL
        made = ffi.new(f"{ctype}[]", count)
        self._keep.append(made)
        return made

    def excuse(self) -> bool:
        """Ask no more of inputs that were declared zero-valid since compile (C3); whether there was one."""
        kept = [(node, self.c.needed[at]) for at, node in enumerate(self.needed) if not node.zero_valid]
        if len(kept) == len(self.needed):
            return False
        for position, (_, record) in enumerate(kept):
            self.c.needed[position] = record
        self.needed, self.c.needed_count = [node for node, _ in kept], len(kept)
        return True

    def keep(self, thing: object) -> None:
        """Keep what the tables point to."""
        self._keep.append(thing)


def tables_of(
    root: Root,
    unit: Unit,
    registration: Registration,
    comp: Comp,
    plan: Plan,
    locations: dict[Node, Location],
    dependencies: list[Registration],
) -> Tables:
    """The tables of a routine whose arguments lie there; kernel and bindings are still to be added."""
    tables = Tables(root, unit, registration)
    tables.locations = locations
    _add_books(tables, root, comp, plan)
    _add_dependencies(tables, dependencies)
    _add_gradients(tables, root, comp)
    _add_pools(tables, plan)
    return tables


def add_kernel(tables: Tables, plan: Plan, kernel: Kernel | CudaKernel) -> None:
    """The entry of a loaded kernel, or the launches of a device's, and the arguments they are called with."""
    addresses = [tables.locations[node].address for node in plan.arguments]
    if not isinstance(kernel, Kernel):
        pools = [pool.buffer for pool in tables.pools]
        changed = sum(map(bool, tables.c.writing[0 : len(pools)])) if pools else 0  # those written come first
        tables.launcher = kernel.launcher(addresses, len(plan.symbols), pools[changed:], pools[:changed])
        return
    tables.keep(kernel)
    tables.c.entry = ffi.cast("cf_entry", kernel.entry)
    tables.c.arguments = tables.array("void *", [ffi.cast("void *", address) for address in addresses])
    tables.c.heavy = sum(node.nbytes for node in plan.arguments) >= _HEAVY_BYTES


def add_bindings(tables: Tables, symbols: Iterable[Symbol]) -> None:
    """The greatest admitted value of each binding, in the order in which they are given."""
    limits = [limit_of(symbol) for symbol in symbols]
    tables.c.limits = tables.array("int64_t", limits)
    tables.c.binding_count = len(limits)


def add_slab(tables: Tables, root: Root, fill: Fill) -> None:
    """The merge buffer that is read, and which fill of it."""
    tables.merge = fill.node
    tables.keep(root.device.slab.c)
    tables.c.slab = root.device.slab.c
    tables.c.fill = fill.number


def limit_of(symbol: Symbol) -> int:
    """The greatest value that its declared range and the index width admit."""
    greatest = symbol.greatest
    return INDEX_WIDTH - 1 if greatest is None else min(greatest, INDEX_WIDTH - 1)


def _add_books(tables: Tables, root: Root, comp: Comp, plan: Plan) -> None:
    embedded, read_only, early = set(comp.embedded), set(plan.read_only), set(plan.read_before_write)
    reads = [node for node in plan.arguments if node in read_only or node in early]
    tables.needed = [
        node
        for node in reads
        if node.literal is None and not node.zero_valid and (node in read_only or node not in embedded)
    ]
    tables.shared_reads = [node for node in reads if tables.locations[node].pool.constant]
    needed = [_record(tables, root, node).c for node in tables.needed]
    shared = [_record(tables, root, node).c for node in tables.shared_reads]
    tables.outputs = [_record(tables, root, node) for node in plan.writes]
    tables.c.needed, tables.c.needed_count = tables.array("cf_record *", needed), len(needed)
    tables.c.shared_reads, tables.c.shared_count = tables.array("cf_record *", shared), len(shared)
    tables.c.outputs = tables.array("cf_record *", [record.c for record in tables.outputs])
    tables.c.output_count = len(tables.outputs)
    tables.c.undo = tables.space("cf_undo", len(tables.outputs))


def _add_dependencies(tables: Tables, dependencies: list[Registration]) -> None:
    tables.dependencies = dependencies
    marks = [dependency.c for dependency in dependencies]
    tables.keep(marks)
    tables.c.dependencies, tables.c.dependency_count = tables.array("cf_mark *", marks), len(marks)


def _add_gradients(tables: Tables, root: Root, comp: Comp) -> None:
    zeroed = [_record(tables, root, node).c for node in comp.zeroes if node in tables.locations]
    tables.c.zeroed, tables.c.zeroed_count = tables.array("cf_record *", zeroed), len(zeroed)
    tables.c.unzeroed = tables.space("uint64_t", len(zeroed))
    tables.counted = [node for node in comp.unreset if node in tables.locations]
    counts = tables.space("cf_count", len(tables.counted))
    for position, node in enumerate(tables.counted):
        counts[position].record = _record(tables, root, node).c
        counts[position].allowance = comp.allowance(node)
    tables.c.counts, tables.c.count_count = counts, len(tables.counted)
    tables.c.counted = tables.space("cf_undo", len(tables.counted))


def _add_pools(tables: Tables, plan: Plan) -> None:
    written = set(plan.writes)
    tables.operands = [*plan.writes, *(node for node in plan.arguments if node not in written)]
    pools = dict.fromkeys(tables.locations[node].pool for node in tables.operands)
    changed = {tables.locations[node].pool for node in plan.writes}
    tables.pools = list(pools)
    buffers = [pool.buffer._c for pool in tables.pools]
    tables.keep([pool.buffer for pool in tables.pools])
    tables.c.pools, tables.c.pool_count = tables.array("cf_buffer *", buffers), len(buffers)
    tables.c.writing = tables.array("uint8_t", [pool in changed for pool in tables.pools])


def _record(tables: Tables, root: Root, node: Node) -> Record:
    record = root.record(tables.locations[node])
    tables.keep(record)
    return record
