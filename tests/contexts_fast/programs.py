"""Small programs that several tests compile."""

from __future__ import annotations

from collections.abc import Sequence

import counterfoil as cf


def node(label: str, shape: Sequence[int] = (), **options: object) -> cf.Node:
    """An observable node."""
    made = cf.Node(label, shape, **options)  # type: ignore[arg-type]
    made.set_observable()
    return made


def doubling(extent: int = 4) -> tuple[cf.Node, cf.Node, cf.Comp]:
    """y = x + x: x, y and the comp."""
    x, y = node("x", (extent,)), node("y", (extent,))
    code = cf.Accumulate(y, "arg2", "add", (cf.Read(x), cf.Read(x)), cf.pointwise(y, [x, x]))
    return x, y, cf.comp(code, [y]).named("double")


def adding(target: cf.Node, source: cf.Node) -> cf.Accumulate:
    """target += source."""
    return cf.Accumulate(target, "add", "identity", (cf.Read(source),), cf.pointwise(target, [source]))


def ready(extent: int = 4) -> tuple[cf.Context, cf.Routine, cf.Node, cf.Node]:
    """A context in which y = x + x ran once, x being 1, 2 ...: context, routine, x, y."""
    x, y, comp = doubling(extent)
    start = cf.Context.cpu().set_values(x, [float(i + 1) for i in range(extent)])
    context, routine = start.compile(comp)
    return context.run(routine), routine, x, y
