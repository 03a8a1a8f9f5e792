"""Executing a plan, or the kernels a transform made of it, on stored elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from counterfoil_reference.intervals import Record, watched
from counterfoil_reference.programs.decisions import Plan
from counterfoil_reference.programs.deep import deep
from counterfoil_reference.programs.interpreter import Interpreter
from counterfoil_reference.programs.loops import Kernels
from counterfoil_reference.programs.memory import Memory, Store
from counterfoil_reference.programs.spans import accept, center
from counterfoil_spec.programs import loops
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.loops import Lowered, Zero, statements
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol


@deep
def execute(what: Plan | Sequence[Lowered], store: Store, bindings: Mapping[Symbol, int]) -> None:
    """Carry a routine out: a plan by its steps, or kernels one after the other.

    Everything is computed first; then each argument written is stored once, by uid. While somebody watches, each of
    those adds a Record that says per element what else is right (N5). Code nested deeper than the stack has stored
    nothing when that shows, and is carried out anew.
    """
    memory = Memory(store)
    if isinstance(what, Plan) and what.steps is not None:
        interpreter = Interpreter(memory, what.decisions.stored, bindings)
        for step in what.steps:
            interpreter.carry_out(step)
        written = what.writes
    else:
        kernels = [what.lowered] if isinstance(what, Plan) else what
        state = Kernels(memory, bindings)
        for kernel in kernels:
            state.run(kernel)
        written = tuple(node for node in written_by(kernels) if memory.is_bound(node))
    for node in written:
        _store(memory, store, node)


def written_by(kernels: Sequence[Lowered]) -> tuple[Node, ...]:
    """The nodes that kernels store to, by uid."""
    every = [statement for kernel in kernels for statement in statements(kernel.body)]
    return by_uid(each.node for each in every if isinstance(each, loops.Store | Zero))


def _store(memory: Memory, store: Store, node: Node) -> None:
    cells = memory.cells(node)
    store.write(node, [center(value) for value in cells.values])
    log = watched()
    if log is not None:
        log.append(Record(store.array(node), [accept(node.dtype, value) for value in cells.values]))
