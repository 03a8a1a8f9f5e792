"""Programs small enough to see through, and what a call refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from counterfoil_reference import Context, Routine, inspection
from counterfoil_spec.programs.assignments import Accumulate, Code, Constant, Fetch, Merge, Read, block, in_sequence
from counterfoil_spec.programs.comps import Comp, Fragment, comp
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.specs import pointwise
from counterfoil_spec.refusals import Refusal

SHAPE = (2,)


def node(label: str, **options: object) -> Node:
    """A node of two float32 elements that always gets a buffer."""
    made = Node(label, SHAPE, **options)  # type: ignore[arg-type]
    made.require(Intent.ON_DEVICE)
    return made


def plain(label: str) -> Node:
    """A node of two float32 elements with nothing declared."""
    return Node(label, SHAPE)


def gradient(label: str = "g") -> Node:
    """A node like a gradient: allocation-time zeros are its right start."""
    made = node(label)
    made.mark_zero_valid()
    return made


def store(target: Node, *operands: Node, operation: str = "identity") -> Accumulate:
    """``target = operation(operands)``, element by element."""
    return Accumulate(target, "arg2", operation, tuple(map(Read, operands)), pointwise(target, operands))


def add(target: Node, *operands: Node, operation: str = "identity") -> Accumulate:
    """``target += operation(operands)``, element by element."""
    return Accumulate(target, "add", operation, tuple(map(Read, operands)), pointwise(target, operands))


def fetch(target: Node, value: float) -> Fetch:
    """``target = value`` everywhere."""
    return Fetch(target, Constant(value))


def merged(target: Node, source: Node) -> Accumulate:
    """``target += source.merge``."""
    return Accumulate(target, "add", "identity", (Merge(source),), pointwise(target, [source]))


def program(label: str, *code: Code, embedded: Iterable[Node] = ()) -> Comp:
    """A comp of that code under a label."""
    return comp(block(label, in_sequence(*code)), embedded)


def zeroing(g: Node, label: str = "zero") -> Comp:
    """Only zeroes the gradient."""
    return comp(block(label, fetch(g, 0)), [g], zeroes=[g])


def adding(g: Node, x: Node, label: str = "add", runs: int = 1) -> Comp:
    """Only accumulates into the gradient."""
    return comp(block(label, add(g, x)), [g], accumulates=[g], allowances={g: runs})


def resetting(g: Node, x: Node, label: str = "both") -> Comp:
    """Zeroes the gradient, then accumulates into it."""
    return comp(block(label, in_sequence(fetch(g, 0), add(g, x))), [g], accumulates=[g], zeroes=[g])


def backprop(tensor: int, label: str, from_gradient: Node) -> Fragment:
    """A tensor's backprop fragment."""
    return Fragment(tensor, "backprop", label, from_gradient)


def refused(call: Callable[[], object]) -> tuple[str, dict[str, object]] | None:
    """The rule and the subjects a call refuses, None where it returns."""
    try:
        call()
    except Refusal as refusal:
        return refusal.rule, refusal.subjects
    return None


def rule(call: Callable[[], object]) -> str | None:
    """The rule a call refuses, None where it returns."""
    found = refused(call)
    return None if found is None else found[0]


def compiled(context: Context, *comps: Comp) -> tuple[Context, list[Routine]]:
    """The comps compiled one from the other's child."""
    routines = []
    for each in comps:
        context, routine = context.compile(each)
        routines.append(routine)
    return context, routines


@contextmanager
def failing(seam: str, at: int = 1) -> Iterator[None]:
    """Raise RuntimeError the ``at``-th time the seam is passed inside the block."""
    left = at

    def callback(passed: str) -> None:
        nonlocal left
        if passed == seam:
            left -= 1
            if left == 0:
                raise RuntimeError("injected")

    inspection.inject(callback)
    try:
        yield
    finally:
        inspection.inject(None)


def live_pools() -> int:
    """Live pools of both kinds."""
    counts = inspection.census()
    return counts["working_pools"] + counts["constant_pools"]
