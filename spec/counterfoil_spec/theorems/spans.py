"""Where a layout's positions lie: the span is sound and tight, and no sum on the way to a position leaves it.

The state after some axes is what those axes contribute: ``lo`` and ``top`` are the least and greatest position
(``top + 1`` is the span's end), ``at`` is one index's position. An axis has extent ``n`` and stride ``s``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import z3

from counterfoil_spec.theorems.induction import (
    Induction,
    Lemma,
    Step,
    Symbols,
    Term,
    Theorem,
    Twin,
    greatest,
    least,
    within,
)


def span_after(state: Symbols, extent: Term, stride: Term) -> dict[str, Term]:
    """The span's ends once an axis is added: a negative reach lowers ``lo``, a positive one raises ``top``."""
    reach = (extent - 1) * stride
    return {"lo": state.lo + least(reach), "top": state.top + greatest(reach)}


AXIS_REACH = Lemma(
    "an index's step along one axis lies between 0 and the axis' reach",
    "n s i",
    hypotheses=lambda a: [within(a.i, a.n)],
    goal=lambda a: z3.And(least((a.n - 1) * a.s) <= a.i * a.s, a.i * a.s <= greatest((a.n - 1) * a.s)),
    case=lambda a: [a.n > 1, a.s < 0],
)

# --- sound -----------------------------------------------------------------------------------------------------------


def _indexed(given: Symbols, state: Symbols, axis: Symbols) -> Mapping[str, Term]:
    return {**span_after(state, axis.n, axis.s), "at": state.at + axis.i * axis.s}


_INDEXED_AXIS = Step(
    "an axis",
    "n s i",
    facts=lambda g, q, a: [within(a.i, a.n)],
    advance=_indexed,
    quotes=lambda g, q, a: [AXIS_REACH.at(n=a.n, s=a.s, i=a.i)],
    case=lambda g, q, a: [a.n > 1, a.s < 0],
)

SOUND = Induction(
    "every position lies in the span",
    given="offset",
    state="lo at top",
    start=lambda g: {"lo": g.offset, "at": g.offset, "top": g.offset},
    steps=(_INDEXED_AXIS,),
    invariant=lambda g, q: z3.And(q.lo <= q.at, q.at <= q.top),
    claim=lambda g, q: z3.And(q.lo <= q.at, q.at < q.top + 1),
)


def _unsigned_reach(given: Symbols, state: Symbols, axis: Symbols) -> Mapping[str, Term]:
    raised = {"lo": state.lo, "top": state.top + (axis.n - 1) * axis.s}
    return {**_indexed(given, state, axis), **raised}


_IGNORING_SIGNS = replace(SOUND, steps=(replace(_INDEXED_AXIS, advance=_unsigned_reach),))
_WITHOUT_ONE = replace(SOUND, claim=lambda g, q: z3.And(q.lo <= q.at, q.at < q.top))

SPAN_SOUND = Theorem(
    "layouts/span-sound",
    "Every position of a layout with an element lies in its span [lo, hi).",
    """The invariant is lo <= at <= top, where at is the position that the axes so far give an arbitrary index. The
    step adds one axis of any extent and stride: AXIS_REACH bounds what its index adds by what the axis adds to lo
    and top. The base is offset <= offset <= offset. Any layout is a list of axes, so by induction on the rank the
    invariant holds of every layout and index, and hi is top + 1. The order of the axes plays no part.""",
    ("layouts/span", "layouts/negative-position", "layouts/past-limit"),
    SOUND.obligations(),
    (
        Twin("negative strides are taken for positive ones", _IGNORING_SIGNS.unrolled(0)),
        Twin("the span's end is the greatest position itself", _WITHOUT_ONE.unrolled(0)),
    ),
)

# --- tight -----------------------------------------------------------------------------------------------------------


def _at_ends(given: Symbols, state: Symbols, axis: Symbols) -> Mapping[str, Term]:
    lowest = z3.If(axis.s < 0, axis.n - 1, 0)
    highest = z3.If(axis.s > 0, axis.n - 1, 0)
    return {
        **span_after(state, axis.n, axis.s),
        "at_lo": state.at_lo + lowest * axis.s,
        "at_top": state.at_top + highest * axis.s,
        "indices": z3.And(state.indices, within(lowest, axis.n), within(highest, axis.n)),
    }


TIGHT = Induction(
    "both ends of the span are positions",
    given="offset",
    state="lo top at_lo at_top indices?",
    start=lambda g: {**dict.fromkeys(("lo", "top", "at_lo", "at_top"), g.offset), "indices": z3.BoolVal(True)},
    steps=(
        Step(
            "an axis",
            "n s",
            facts=lambda g, q, a: [a.n >= 1],
            advance=_at_ends,
            case=lambda g, q, a: [a.n > 1, a.s < 0],
        ),
    ),
    invariant=lambda g, q: z3.And(q.indices, q.at_lo == q.lo, q.at_top == q.top),
    claim=lambda g, q: z3.And(q.indices, q.at_lo == q.lo, q.at_top == q.top),
)


def _reach_of_extent(given: Symbols, state: Symbols, axis: Symbols) -> Mapping[str, Term]:
    reach = axis.n * axis.s
    loose = {"lo": state.lo + least(reach), "top": state.top + greatest(reach)}
    return {**_at_ends(given, state, axis), **loose}


_LOOSE = replace(TIGHT, steps=(replace(TIGHT.steps[0], advance=_reach_of_extent),))

SPAN_TIGHT = Theorem(
    "layouts/span-tight",
    "A layout with an element reaches lo and hi - 1: no smaller span would hold its positions.",
    """The two indices are named: along each axis, extent - 1 where the stride has the sign wanted, else 0. The
    invariant is that both are indices of the axes so far and that their positions are lo and top. The step adds an
    axis of any extent >= 1 and any stride; the base is the empty index at the offset. Every layout with an element
    is a list of such axes, so by induction on the rank both ends are reached.""",
    ("layouts/span", "layouts/negative-position", "layouts/past-limit"),
    TIGHT.obligations(),
    (Twin("an axis reaches extent * stride", _LOOSE.unrolled(0)),),
)

# --- sums on the way -------------------------------------------------------------------------------------------------


def _kept_sums(given: Symbols, state: Symbols, axis: Symbols) -> Mapping[str, Term]:
    moved = _indexed(given, state, axis)
    sums = {"sum": z3.If(axis.keep, moved["at"], state.sum)}
    return {**moved, **sums, "product": z3.If(axis.keep, axis.i * axis.s, state.product)}


PARTIAL_SUMS = Induction(
    "every partial sum lies in the span",
    given="offset",
    state="lo at top sum product",
    start=lambda g: {**dict.fromkeys(("lo", "at", "top", "sum"), g.offset), "product": z3.IntVal(0)},
    steps=(
        Step(
            "an axis",
            "n s i keep?",
            facts=lambda g, q, a: [within(a.i, a.n)],
            advance=_kept_sums,
            quotes=lambda g, q, a: [AXIS_REACH.at(n=a.n, s=a.s, i=a.i)],
            case=lambda g, q, a: [a.n > 1, a.s < 0, a.keep],
        ),
    ),
    invariant=lambda g, q: z3.And(
        q.lo <= q.at,
        q.at <= q.top,
        q.lo <= q.sum,
        q.sum <= q.top,
        q.lo - q.top <= q.product,
        q.product <= q.top - q.lo,
    ),
    claim=lambda g, q: z3.And(q.lo <= q.sum, q.sum <= q.top, q.lo - q.top <= q.product, q.product <= q.top - q.lo),
)

_FROM_ZERO = replace(PARTIAL_SUMS, start=lambda g: {**PARTIAL_SUMS.start(g), "sum": z3.IntVal(0)})

SUMS_INSIDE = Theorem(
    "layouts/partial-sums-inside",
    "Summing offset + index * stride axis by axis, every partial sum lies in the span and every product is "
    "smaller than the span, so positions within A7's limit are computed in 64 bits without wrap-around.",
    """One arbitrary partial sum, and the product added there, are kept: an axis' boolean keep says whether the sum
    after it is the one. The invariant is that the kept sum and the current one lie in [lo, top] and that the kept
    product is at most top - lo in magnitude. The step adds an axis: lo never rises and top never falls, so what was
    kept stays inside. Keeping was arbitrary, so by induction on the rank it holds of every sum on the way.""",
    ("layouts/span",),
    PARTIAL_SUMS.obligations(),
    (Twin("the sum starts at 0 and adds the offset last", _FROM_ZERO.unrolled(0)),),
)

THEOREMS = (SPAN_SOUND, SPAN_TIGHT, SUMS_INSIDE)
