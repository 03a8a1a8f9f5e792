"""Moves stay within their source: every result index is a source index at the same position.

Each induction runs along the axes of source and result together. ``source`` and ``result`` are the positions of one
index in the two layouts, which start at the same offset; ``inside`` says that the source's index is one of its
indices. Offsets that a move adds are counted with the axis that adds them. Strides are canonical (A14): an axis of
extent 1 reads stride 0. A result without an element reaches nothing and needs no theorem.
"""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.theorems.induction import (
    Formula,
    Induction,
    Lemma,
    Obligation,
    Step,
    Symbols,
    Theorem,
    Twin,
    conjunction,
    is_quotient,
    symbols,
    within,
)
from counterfoil_spec.theorems.spans import span_after


def _same_place(name: str, *steps: Step) -> Induction:
    """The claim of this file for a move that is described by how it treats each kind of axis."""
    kinds = tuple((kind,) for kind in range(len(steps)))
    return Induction(
        name,
        given="offset",
        state="source result inside?",
        start=lambda g: {"source": g.offset, "result": g.offset, "inside": z3.BoolVal(True)},
        steps=steps,
        invariant=lambda g, q: z3.And(q.inside, q.source == q.result),
        claim=lambda g, q: z3.And(q.inside, q.source == q.result),
        direct=((), *kinds, tuple(range(len(steps))) if len(steps) > 1 else (0, 0)),
    )


REACH_KEPT = Lemma(
    "an end of the result's span is a position of the source, so it lies in the source's span",
    "lo top lo_result top_result lo_source top_source",
    hypotheses=lambda m: [
        m.lo_source == m.lo_result,  # the result's lo is a position (span-tight), found at a source index (the move)
        m.top_source == m.top_result,
        z3.And(m.lo <= m.lo_source, m.lo_source <= m.top),  # and that index' position lies in the span (span-sound)
        z3.And(m.lo <= m.top_source, m.top_source <= m.top),
    ],
    goal=lambda m: z3.And(m.lo <= m.lo_result, m.top_result + 1 <= m.top + 1),
)

_UNTOUCHED = Step(
    "an axis kept as it is",
    "n s i",
    facts=lambda g, q, a: [within(a.i, a.n)],
    advance=lambda g, q, a: {
        "source": q.source + a.i * a.s,
        "result": q.result + a.i * a.s,
        "inside": z3.And(q.inside, within(a.i, a.n)),
    },
)

# --- broadcast -------------------------------------------------------------------------------------------------------

_ALIGNED = Step(
    "an axis aligned with one of the source",
    "n s extent j",
    facts=lambda g, q, a: [z3.Or(a.n == 1, a.n == a.extent), z3.Implies(a.n == 1, a.s == 0), within(a.j, a.extent)],
    advance=lambda g, q, a: {
        "source": q.source + z3.If(a.n == 1, 0, a.j) * a.s,
        "result": q.result + a.j * a.s,
        "inside": z3.And(q.inside, within(z3.If(a.n == 1, 0, a.j), a.n)),
    },
    case=lambda g, q, a: [a.n == 1, a.extent > 2, a.j > 1],
)
_NEW = Step(
    "a new leading axis",
    "extent j",
    facts=lambda g, q, a: [within(a.j, a.extent)],
    advance=lambda g, q, a: {"result": q.result + a.j * 0},
)
_BROADCAST = _same_place("broadcast", _ALIGNED, _NEW)
_REPEATING = replace(
    _ALIGNED,
    unknowns="n s extent j times",
    facts=lambda g, q, a: [a.n >= 1, a.times >= 1, a.extent == a.n * a.times, within(a.j, a.extent)],
)

BROADCAST = Theorem(
    "moves/broadcast-inside",
    "Each index of a broadcast is found in the source at the same position.",
    """Axes are aligned from the right; the order in which they are summed does not matter (moves/permute-inside).
    Two kinds of axis: one aligned with a source axis of extent 1 or of its own extent, and a new one of stride 0.
    The invariant is that both positions are equal and the source's index is an index. Each kind's step keeps it for
    any extent, stride and index, so by induction it holds for any number of axes of both kinds.""",
    ("moves/keeps-elements", "moves/broadcast-extent"),
    (*_BROADCAST.obligations(), REACH_KEPT.obligation()),
    (
        Twin(
            "any extent that divides the target's is broadcast",
            _same_place("a wrong broadcast", _REPEATING).unrolled(0),
        ),
    ),
)

# --- permute ---------------------------------------------------------------------------------------------------------


def _two_axes(state: Symbols, first: Symbols, second: Symbols) -> dict[str, z3.ExprRef]:
    """What two axes in that order make of a state: the span's ends and a position."""
    middle = Symbols(**span_after(state, first.n, first.s), at=state.at + first.i * first.s)
    return {**span_after(middle, second.n, second.s), "at": middle.at + second.i * second.s}


def _swapped(restride: bool) -> Obligation:
    """Two neighbouring axes give the same state in either order; ``restride``: strides stay while extents swap."""
    state, first, second = symbols("lo top at"), symbols("n s i", "0"), symbols("n s i", "1")
    strides = (first.s, second.s) if restride else (second.s, first.s)
    moved = (Symbols(n=second.n, i=second.i, s=strides[0]), Symbols(n=first.n, i=first.i, s=strides[1]))
    before, after = _two_axes(state, first, second), _two_axes(state, *moved)
    indices = (within(first.i, first.n), within(second.i, second.n))
    same = conjunction(before[name] == after[name] for name in before)
    return Obligation("neighbouring axes commute", indices, same, (first.n > 1, first.s < 0, second.s > 0))


PERMUTE = Theorem(
    "moves/permute-inside",
    "A permutation of the axes, each with its stride and its index, changes neither a position nor the span.",
    """Positions and spans are computed axis by axis, each axis adding to the state that the axes before it left.
    From an arbitrary state, two neighbouring axes leave the same state in either order; the axes after them then
    see the same state. Every permutation of any number of axes is a finite sequence of swaps of neighbours, so by
    induction on the number of swaps it leaves the state that the axes in their own order leave.""",
    ("moves/keeps-elements", "moves/permute-repeat"),
    (_swapped(restride=False), REACH_KEPT.obligation()),
    (Twin("the extents are permuted but not the strides", _swapped(restride=True)),),
)

# --- slice -----------------------------------------------------------------------------------------------------------


def _sliced_facts(given: Symbols, state: Symbols, axis: Symbols) -> list[Formula]:
    last = axis.start + (axis.count - 1) * axis.step
    return [axis.step != 0, within(axis.j, axis.count), within(axis.start, axis.n), within(last, axis.n)]


BETWEEN = Lemma(
    "each element of a range lies between its first and its last",
    "start step count j",
    hypotheses=lambda r: [within(r.j, r.count)],
    goal=lambda r: z3.If(
        r.step >= 0,
        z3.And(r.start <= r.start + r.j * r.step, r.start + r.j * r.step <= r.start + (r.count - 1) * r.step),
        z3.And(r.start + (r.count - 1) * r.step <= r.start + r.j * r.step, r.start + r.j * r.step <= r.start),
    ),
    case=lambda r: [r.step < -1, r.count > 2, r.j == 1],
)

_SLICED = Step(
    "a sliced axis",
    "n s start step count j",
    facts=_sliced_facts,
    advance=lambda g, q, a: {
        "source": q.source + (a.start + a.j * a.step) * a.s,
        "result": q.result + a.start * a.s + a.j * z3.If(a.count > 1, a.s * a.step, 0),
        "inside": z3.And(q.inside, within(a.start + a.j * a.step, a.n)),
    },
    quotes=lambda g, q, a: [BETWEEN.at(start=a.start, step=a.step, count=a.count, j=a.j)],
    case=lambda g, q, a: [a.step < -1, a.count > 2, a.s < 0],
)
_SLICE = _same_place("slice", _SLICED)
_FIRST_ONLY = replace(_SLICED, facts=lambda g, q, a: [a.step != 0, within(a.j, a.count), within(a.start, a.n)])
_FROM_END = replace(
    _SLICED,
    advance=lambda g, q, a: {
        **_SLICED.advance(g, q, a),
        "result": q.result + z3.If(a.step < 0, a.n - 1, a.start) * a.s + a.j * z3.If(a.count > 1, a.s * a.step, 0),
    },
)

SLICE = Theorem(
    "moves/slice-inside",
    "Each index of a slice, with any step but 0, is found in the source at the same position.",
    """Along an axis the result's index j stands for start + j * step, which lies between the first and the last
    element of the range (BETWEEN), both of which the rule demands inside the axis. The offset grows by start *
    stride and the stride by the factor step, 0 for a count of 1, where j is 0. The invariant is equal positions and
    an index inside; the step keeps it for any axis and range, so by induction on the axes it holds for every rank.""",
    ("moves/keeps-elements", "moves/slice-start", "moves/slice-last", "moves/slice-step"),
    (*_SLICE.obligations(), REACH_KEPT.obligation()),
    (
        Twin("only the first element of a range is checked", _same_place("a wrong slice", _FIRST_ONLY).unrolled(0)),
        Twin("a negative step starts from the axis' end", _same_place("a wrong slice", _FROM_END).unrolled(0)),
    ),
)

# --- window ----------------------------------------------------------------------------------------------------------


def _window_facts(given: Symbols, state: Symbols, axis: Symbols) -> list[Formula]:
    room = axis.n - 1 - axis.dilation * (axis.size - 1)
    positive = [value >= 1 for value in (axis.n, axis.size, axis.step, axis.dilation)]
    count = is_quotient(axis.count - 1, room, axis.step)
    return [*positive, room >= 0, count, within(axis.j, axis.count), within(axis.k, axis.size)]


_WINDOWED = Step(
    "a windowed axis and the axis it appends",
    "n s size step dilation count j k",
    facts=_window_facts,
    advance=lambda g, q, a: {
        "source": q.source + (a.j * a.step + a.k * a.dilation) * a.s,
        "result": q.result + a.j * z3.If(a.count > 1, a.s * a.step, 0) + a.k * z3.If(a.size > 1, a.s * a.dilation, 0),
        "inside": z3.And(q.inside, within(a.j * a.step + a.k * a.dilation, a.n)),
    },
    quotes=lambda g, q, a: [
        BETWEEN.at(start=z3.IntVal(0), step=a.step, count=a.count, j=a.j),
        BETWEEN.at(start=z3.IntVal(0), step=a.dilation, count=a.size, j=a.k),
    ],
    case=lambda g, q, a: [a.size > 1, a.count > 1, a.step > 1, a.dilation > 1, a.s < 0],
)
_WINDOW = replace(_same_place("window", _WINDOWED, _UNTOUCHED), direct=((), (0,), (1,)))
_UNDILATED = replace(
    _WINDOWED,
    facts=lambda g, q, a: [
        *[value >= 1 for value in (a.n, a.size, a.step, a.dilation)],
        a.size <= a.n,
        is_quotient(a.count - 1, a.n - a.size, a.step),
        within(a.j, a.count),
        within(a.k, a.size),
    ],
)

WINDOW = Theorem(
    "moves/window-inside",
    "Each index of a window is found in the source at the same position.",
    """The window's number j and the element's number k stand for source index j * step + k * dilation. The count is
    floor((n - 1 - dilation * (size - 1)) / step) + 1, so j * step is at most the room that the window's own reach
    leaves (BETWEEN, twice). The appended axis is summed next to its own axis; its place at the end changes nothing
    (moves/permute-inside). The invariant is equal positions and an index inside; a windowed and an untouched axis
    both keep it, so by induction any number of either, in any order, does.""",
    ("moves/keeps-elements", "moves/window-fit"),
    (*_WINDOW.obligations(), REACH_KEPT.obligation()),
    (Twin("a window's reach is counted without its dilation", _same_place("a wrong window", _UNDILATED).unrolled(0)),),
)

THEOREMS = (BROADCAST, PERMUTE, SLICE, WINDOW)
