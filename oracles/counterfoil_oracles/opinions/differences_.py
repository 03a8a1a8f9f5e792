"""Differences: derivatives of losses by central differences in exact arithmetic.

Where no comparison turns between the points, a loss is a polynomial of one leaf's element, and enough points on either
side give its derivative exactly: nothing is small, nothing is rounded. What backprop says is held against that as
code, carried out exactly, and as each half computed it, bit for bit.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from counterfoil_oracles.opinions.exact import Exact
from counterfoil_oracles.opinions.graphs import Graph, graphs
from counterfoil_oracles.opinions.opinion import Topic, Undecided
from counterfoil_oracles.opinions.written import Written, written
from counterfoil_spec import tensors
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import Refusal

ORACLE: Final = "differences"

_FIRST_STEP: Final = Fraction(1, 1 << 12)
_LEAST_STEP: Final = Fraction(1, 1 << 40)
_ASKED: Final = 4
"""How many elements of a program's leaves are asked for."""

_TRIES: Final = 40
"""How often the values of a program at a kink are drawn again."""


@dataclass(frozen=True)
class Partial:
    """The question: the loss of a graph, and its derivative by one element of one leaf."""

    graph: Graph
    leaf: int
    position: int

    def __str__(self) -> str:
        return f"d/d%{self.leaf}[{self.position}] of {self.graph}"


Verdict = tuple[str, str] | str
"""The loss and the derivative as texts that tell every bit, the sign of a zero too; or that there are none.
"""

REFUSED: Final = "refused"

_CUT_OFF: Final = ("run/fragment-not-owned", "compile/lacks-nodes")
"""The rules that refuse a program part of whose backprop went with a consumer that was cut off."""


def opinion(question: Partial) -> Verdict:
    """The loss and the derivative; Undecided where ``settled`` is."""
    program = settled(question.graph)
    if program.is_cut_off:
        return REFUSED
    before = program.forward.run(program.values(question.graph))
    (loss,) = before.get(program.written.loss)
    return bits(loss), bits(derivative(_along(program, question, before.branches), question.graph.degree))


def settled(graph: Graph) -> Program:
    """The graph's program; Undecided at a kink, and where the graph's dtype could round anything on the way."""
    program, precision = program_of(graph), graph.dtype.float_format
    assert precision is not None
    if not program.update.run(program.values(graph)).fits(precision.fraction_bits + 1):
        raise Undecided
    if program.forward.run(program.values(graph)).kinks:
        raise Undecided
    return program


def derivative(along: Callable[[Fraction], Fraction | None], degree: int) -> Fraction:
    """The derivative at 0 of a polynomial of at most that degree, from its values on either side.

    ``along`` gives the value at a displacement, None where it is none of the polynomial's: then nearer ones are taken,
    and below a least step there is no opinion. The central quotient ``(p(s) - p(-s)) / 2s`` is a polynomial of s * s,
    which the weights extrapolate to 0 (Lagrange).
    """
    step, pairs = _FIRST_STEP, max(1, (degree + 1) // 2)
    while step >= _LEAST_STEP:
        points = [step * factor for factor in range(1, pairs + 1)]
        ahead, behind = [along(point) for point in points], [along(-point) for point in points]
        if None not in ahead and None not in behind:
            quotients = [(a - b) / (2 * s) for a, b, s in zip(ahead, behind, points, strict=True)]  # type: ignore[operator]
            return sum((w * q for w, q in zip(_to_zero(points), quotients, strict=True)), Fraction(0))
        step /= 16
    raise Undecided


def _to_zero(points: Sequence[Fraction]) -> list[Fraction]:
    """The weights that take values at the points' squares to the value at 0."""
    squares = [point * point for point in points]
    return [
        math.prod((other / (other - own) for other in squares if other != own), start=Fraction(1)) for own in squares
    ]


@dataclass(frozen=True)
class Program:
    """A graph's code as the frontend writes it, and ready to be carried out exactly."""

    written: Written
    forward: Exact
    update: Exact

    @property
    def is_cut_off(self) -> bool:
        """Whether part of the backprop went with a consumer that was cut off: refused rather than wrong."""
        return bool(self.written.update.requires)

    def values(self, graph: Graph) -> dict[Node, list[Fraction]]:
        """The leaves' values, by node."""
        leaves = zip(self.written.leaves, graph.leaves, strict=True)
        return {node: [Fraction(value) for value in leaf.values] for node, leaf in leaves}


def program_of(graph: Graph) -> Program:
    """The program of a graph: one for all that differ in values alone."""
    return _program(graph.blank())


@functools.lru_cache(maxsize=4)
def _program(blank: Graph) -> Program:
    made = written(blank, tensors)
    return Program(made, Exact(made.forward, made.symbols), Exact(made.update.code, made.symbols))


def _along(program: Program, question: Partial, branches: list[int]) -> Callable[[Fraction], Fraction | None]:
    """The loss where the element is displaced; None where a comparison turned on the way."""
    node = program.written.leaves[question.leaf]

    def loss(displacement: Fraction) -> Fraction | None:
        values = program.values(question.graph)
        values[node][question.position] += displacement
        moved = program.forward.run(values)
        return moved.get(program.written.loss)[0] if moved.branches == branches else None

    return loss


def bits(value: Any) -> str:
    """A float, or a rational that is one, as a text."""
    return float(value).hex()


# --- what is held against it -----------------------------------------------------------------------------------------


def by_backprop(_: Any, question: Partial) -> Verdict:
    """What the frontend's code says when it is carried out exactly, in neither half."""
    program = program_of(question.graph)
    if program.is_cut_off:
        return REFUSED
    after = program.update.run(program.values(question.graph))
    gradient = after.get(program.written.gradients[question.leaf])
    return bits(after.get(program.written.loss)[0]), bits(gradient[question.position])


def by_half(half: Any, question: Partial) -> Verdict:
    """What the half computes when it compiles and runs it."""
    computed = _computed(half, question.graph)
    return computed if isinstance(computed, str) else (computed[0], computed[1][question.leaf][question.position])


@functools.lru_cache(maxsize=8)
def _computed(half: Any, graph: Graph) -> str | tuple[str, list[list[str]]]:
    program = written(graph, half.tensor)
    for symbol, value in program.symbols.items():
        symbol.set(value)
    try:
        context = _run(half, program, graph)
    except Refusal as refusal:
        if refusal.rule not in _CUT_OFF:
            raise
        return REFUSED
    (loss,) = context.get_values(program.loss)
    return bits(loss), [_gradient(context, program, gradient) for gradient in program.gradients]


def _gradient(context: Any, program: Written, gradient: Node) -> list[str]:
    """What the context holds; 0 where nothing flows into it, and the context has none."""
    flows = gradient in program.update.accumulates
    return list(map(bits, context.get_values(gradient) if flows else [0.0] * gradient.size))


def _run(half: Any, program: Written, graph: Graph) -> Any:
    """The context after the run: parameters are there before the compile, data leaves after it."""
    given = list(zip(program.leaves, graph.leaves, strict=True))
    context = half.Context.cpu()
    for node, leaf in given:
        if leaf.is_param:
            context = context.set_values(node, leaf.values)
    context, routine = context.compile(program.update)
    for node, leaf in given:
        if not leaf.is_param:
            context = context.set_values(node, leaf.values)
    return context.run(routine)


# --- the questions ---------------------------------------------------------------------------------------------------


def questions(rng: random.Random, drawn: Iterable[Graph]) -> Iterator[Partial]:
    """A few elements of the leaves of each graph, its values drawn again where it is at a kink."""
    for graph in drawn:
        chosen = _away_from_kinks(graph, rng)
        places = [(at, place) for at, leaf in enumerate(chosen.leaves) for place in range(len(leaf.values))]
        for leaf, position in rng.sample(places, min(_ASKED, len(places))):
            yield Partial(chosen, leaf, position)


def _away_from_kinks(graph: Graph, rng: random.Random) -> Graph:
    """The graph with values at which its loss has derivatives; the last ones tried where none were found."""
    program = program_of(graph)
    for _ in range(_TRIES):
        if not program.forward.run(program.values(graph)).kinks:
            break
        graph = graph.reseeded(rng)
    return graph


TOPICS: Final = (
    Topic(
        ORACLE, "backprop", ("gradients/accounting",), 280,
        draw=lambda rng: questions(rng, graphs(rng, 75)),
        opinion=opinion,
        answer=by_backprop,
    ),
    Topic(
        ORACLE, "gradients", ("gradients/accounting", "placement/same-values", *_CUT_OFF), 72,
        draw=lambda rng: questions(rng, graphs(rng, 20)),
        opinion=opinion,
        answer=by_half,
    ),
)  # fmt: skip
