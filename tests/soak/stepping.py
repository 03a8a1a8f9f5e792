"""Steps that build, compile, run, release and drop whole programs: what a soak repeats.

The shapes are few, so that after the first round every routine's machine code is in the cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable

import counterfoil as cf
from counterfoil_spec.tensors.session import Session

EXTENTS = (1, 3, 8)


def training(extent: int) -> None:
    """A step of gradient descent, run twice in a unit that uploads extended."""
    with Session():
        x, w = cf.tensor.data("x", (2, extent)), cf.tensor.param("w", (extent,))
        error = x @ w - cf.tensor.literal([1.0] * 2)
        loss = cf.tensor.sum(error * error)
        step = cf.sequence(cf.tensor.grad_update(loss), cf.tensor.sgd_update(loss, 0.125))
        root = cf.Context.cpu()
        start = root.set_values(x.value, [0.5] * (2 * extent)).set_values(w.value, [0.25] * extent)
        context, routine = start.compile(step, name="step")
        context = context.run(routine).run(routine)
        context.get_values(loss.value)
        context.release()
        start.release()


def constants(extent: int) -> None:
    """A literal in the device's constant pools, read by routines of two roots, overwritten, adopted and dropped."""
    with Session():
        table = cf.tensor.literal([float(i) for i in range(17 * extent)], (17, extent), label="table")
        total = cf.tensor.sum(table)
        total.value.set_observable()
        comp = cf.tensor.forward(total)
        roots = [cf.Context.cpu(), cf.Context.cpu()]
        made = [root.compile(comp, name="total") for root in roots]
        for context, routine in made:
            context.run(routine)
        (first, _), (second, routine) = made
        changed = first.set_value(table.value, (0, 0), 2.0)
        second.copy_from(changed, table.value).run(routine)
        for context in (first, second, *roots):
            context.release()


def merging(extent: int) -> None:
    """Two fills of the merge buffer, the consumer of each run, an upload fork that outlives its chain."""
    x, y = cf.Node("x", (extent,)), cf.Node("y", (extent,))
    y.set_observable()
    code = cf.Accumulate(y, "arg2", "identity", (cf.Merge(x),), cf.pointwise(y, [x]))
    root = cf.Context.cpu()
    start = root.set_values(x, [1.0] * extent)
    for _ in range(2):
        filled = start.copy_from(start, x, into_merge_buffer=True)
        context, routine = filled.compile(cf.comp(code, [y]), name="take")
        fork = context.set_values(cf.Node("a", (1,)), [0.0])
        other = context.set_values(cf.Node("b", (1,)), [0.0])
        fork.run(routine)
        fork.release()
        other.run(routine).get_values(y)
        other.release()
    start.release()


def virtual(extent: int) -> None:
    """A virtual node read through a throwaway routine, in a child of decisions that its descendant adopts."""
    x, v, y = cf.Node("x", (extent,)), cf.Node("v", (extent,)), cf.Node("y", (extent,))
    y.set_observable()
    by = cf.pointwise(v, [x])
    code = cf.in_sequence(
        cf.Accumulate(v, "arg2", "neg", (cf.Read(x),), by), cf.Accumulate(y, "arg2", "neg", (cf.Read(v),), by)
    )
    root = cf.Context.cpu().set_values(x, [3.0] * extent)
    decided = root.decide_inline([v])
    context, routine = decided.compile(cf.comp(code, [v, y]), name="twice")
    context = context.run(routine)
    context.to_host_all([v, y])
    context.adopt_ancestor(decided)
    context.release()
    root.release()


PROGRAMS: tuple[Callable[[int], None], ...] = (training, constants, merging, virtual)


def step(number: int) -> None:
    """The program of a step: every program at every extent, in turn."""
    PROGRAMS[number % len(PROGRAMS)](EXTENTS[number // len(PROGRAMS) % len(EXTENTS)])
