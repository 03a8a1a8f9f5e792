"""Reshape: C order, merging and splitting axes exactly, and answering None only where no strides express the result.

C order numbers the indices of a shape: with the numbers of the outer axes known, number = number * extent + index.
The state after some axes, outermost first, is that ``number`` out of ``count``, and positions relative to the offset.
Axes of extent 1 are dropped by a reshape on both sides; the steps below admit them, as axes that change nothing.
"""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.theorems.induction import Induction, Lemma, Step, Theorem, Twin, is_quotient, within
from counterfoil_spec.theorems.moves import REACH_KEPT

NUMBERED = Lemma(
    "numbering one more axis stays in range and loses nothing",
    "number other count n i j",
    hypotheses=lambda a: [within(a.number, a.count), within(a.other, a.count), within(a.i, a.n), within(a.j, a.n)],
    goal=lambda a: z3.And(
        within(a.number * a.n + a.i, a.count * a.n),
        z3.Implies(a.number * a.n + a.i == a.other * a.n + a.j, z3.And(a.number == a.other, a.i == a.j)),
    ),
    case=lambda a: [a.n > 2, a.count > 2, a.i != a.j, a.number != a.other],
)

# --- C order is a numbering ------------------------------------------------------------------------------------------

_NUMBERS = Induction(
    "C order numbers the indices",
    state="number other count same?",
    start=lambda g: {"number": z3.IntVal(0), "other": z3.IntVal(0), "count": z3.IntVal(1), "same": z3.BoolVal(True)},
    steps=(
        Step(
            "an axis",
            "n i j",
            facts=lambda g, q, a: [within(a.i, a.n), within(a.j, a.n)],
            advance=lambda g, q, a: {
                "number": q.number * a.n + a.i,
                "other": q.other * a.n + a.j,
                "count": q.count * a.n,
                "same": z3.And(q.same, a.i == a.j),
            },
            quotes=lambda g, q, a: [NUMBERED.at(number=q.number, other=q.other, count=q.count, n=a.n, i=a.i, j=a.j)],
            case=lambda g, q, a: [a.n > 2, a.i != a.j],
        ),
    ),
    invariant=lambda g, q: z3.And(within(q.number, q.count), within(q.other, q.count), (q.number == q.other) == q.same),
    claim=lambda g, q: z3.And(within(q.number, q.count), (q.number == q.other) == q.same),
    direct=((), (0,), (0, 0)),
)

REACHED = Lemma(
    "each number of one more axis is that of an index: its quotient and remainder",
    "wanted count n number i",
    hypotheses=lambda a: [
        a.n >= 1,
        within(a.wanted, a.count * a.n),
        is_quotient(a.number, a.wanted, a.n),
        a.i == a.wanted - a.number * a.n,
    ],
    goal=lambda a: z3.And(within(a.number, a.count), within(a.i, a.n), a.wanted == a.number * a.n + a.i),
    case=lambda a: [a.n > 2, a.count > 2, a.i > 0, a.number > 0],
)

DIVIDED = Lemma(
    "division with remainder undoes the numbering",
    "number n i",
    hypotheses=lambda a: [a.number >= 0, within(a.i, a.n)],
    goal=lambda a: z3.And(
        is_quotient(a.number, a.number * a.n + a.i, a.n), (a.number * a.n + a.i) - a.number * a.n == a.i
    ),
    case=lambda a: [a.n > 2, a.number > 2],
)

_OUTER_EXTENT = replace(
    _NUMBERS,
    state=_NUMBERS.state + " extent",
    start=lambda g: {**_NUMBERS.start(g), "extent": z3.IntVal(1)},
    steps=(
        replace(
            _NUMBERS.steps[0],
            advance=lambda g, q, a: {
                **_NUMBERS.steps[0].advance(g, q, a),
                "number": q.number * q.extent + a.i,
                "other": q.other * q.extent + a.j,
                "extent": a.n,
            },
        ),
    ),
)

C_ORDER = Theorem(
    "layouts/c-order",
    "C order gives each index of a shape its own number below the product of the extents, and each such number is one.",
    """Into and one-to-one: the invariant is that two indices' numbers lie in [0, count) and are equal exactly if
    the indices are; NUMBERED is the step for one more axis of any extent, the base is the one empty index, numbered
    0 of 1. Onto: by the same induction, a wanted number of count * n splits by REACHED into a number of count,
    reached by the outer axes, and an index of the new one; DIVIDED says that this undoes the numbering. So for
    every rank.""",
    ("layouts/contiguous", "moves/keeps-elements"),
    (*_NUMBERS.obligations(), REACHED.obligation(), DIVIDED.obligation()),
    (Twin("the number is multiplied by the extent of the axis before", _OUTER_EXTENT.unrolled(0, 0)),),
)

# --- runs: merging and splitting --------------------------------------------------------------------------------------

_RUN = Induction(
    "a run of axes",
    state="number count at last",
    start=lambda g: {"number": z3.IntVal(0), "count": z3.IntVal(1), "at": z3.IntVal(0)},
    steps=(
        Step(
            "an axis in line with the one before",
            "n s i",
            facts=lambda g, q, a: [within(a.i, a.n), z3.Or(q.count == 1, q.last == a.n * a.s)],
            advance=lambda g, q, a: {
                "number": q.number * a.n + a.i,
                "count": q.count * a.n,
                "at": q.at + a.i * a.s,
                "last": a.s,
            },
            case=lambda g, q, a: [a.n > 1, q.count > 1, a.s < 0],
        ),
        Step(
            "an axis of extent 1",
            "i",
            facts=lambda g, q, a: [within(a.i, z3.IntVal(1))],
            advance=lambda g, q, a: {"number": q.number * 1 + a.i, "at": q.at + a.i * 0},
        ),
    ),
    invariant=lambda g, q: z3.And(within(q.number, q.count), q.at == q.number * q.last),
    claim=lambda g, q: z3.And(within(q.number, q.count), q.at == q.number * q.last),
    direct=((), (0,), (1,), (0, 0)),
)
_NEIGHBOUR_EXTENT = replace(
    _RUN,
    state="number count at last extent",
    start=lambda g: {**_RUN.start(g), "extent": z3.IntVal(1)},
    steps=(
        replace(
            _RUN.steps[0],
            facts=lambda g, q, a: [within(a.i, a.n), z3.Or(q.count == 1, q.last == q.extent * a.s)],
            advance=lambda g, q, a: {**_RUN.steps[0].advance(g, q, a), "extent": a.n},
        ),
    ),
)

MERGE_ONLY_IF = Lemma(
    "two axes walked as one are in line",
    "outer inner merged n m",
    # Element 1 of the merged axis is index (0, 1), element m is index (1, 0): both extents are above 1.
    hypotheses=lambda a: [a.n > 1, a.m > 1, 1 * a.merged == 0 * a.outer + 1 * a.inner, a.m * a.merged == a.outer],
    goal=lambda a: z3.And(a.merged == a.inner, a.outer == a.m * a.inner),
    case=lambda a: [a.inner < 0],
)

MERGE = Theorem(
    "moves/reshape-merge",
    "Neighbouring axes walk as one axis exactly if stride[a] = stride[b] * extent[b], b being the next axis; the "
    "merged axis has the last one's stride. With last stride 1 that is contiguity: element k of C order lies at "
    "offset + k. Coalescing asks the same condition of every layout at once.",
    """If: along axes in line, the invariant is that the position is the C-order number times the last axis' stride.
    The step appends an axis whose stride * extent is the stride before it (or any axis while only one index is
    there, or an axis of extent 1, which changes nothing). The base is number 0 at 0. So by induction a run of any
    length walks as one axis. Only if (MERGE_ONLY_IF): elements 1 and extent[b] of the merged axis fix both strides.
    Splitting the run's one axis into others is the same run read the other way (moves/reshape-split).""",
    ("moves/reshape-none", "layouts/coalesced", "layouts/contiguous"),
    (*_RUN.obligations(), MERGE_ONLY_IF.obligation()),
    (Twin("the outer extent is compared instead of the inner one", _NEIGHBOUR_EXTENT.unrolled(0, 0)),),
)

SPLIT_STRIDE = Lemma(
    "the strides given to split axes are in line",
    "inner_product extent stride",
    hypotheses=lambda a: [a.inner_product >= 1, a.extent >= 1],
    # An axis gets stride * (product of the new extents after it); the one before it gets extent times that.
    goal=lambda a: (a.inner_product * a.extent) * a.stride == a.extent * (a.inner_product * a.stride),
)
SAME_RUN = Lemma(
    "two runs with one last stride put one number at one position",
    "number last at_old at_new",
    hypotheses=lambda a: [a.at_old == a.number * a.last, a.at_new == a.number * a.last],
    goal=lambda a: a.at_old == a.at_new,
)
_SPLIT = Lemma(
    "an axis split in two keeps every position",
    "p q n s k x y",
    hypotheses=lambda a: [a.n == a.p * a.q, within(a.x, a.p), within(a.y, a.q), a.k == a.x * a.q + a.y],
    goal=lambda a: z3.And(within(a.k, a.n), a.k * a.s == a.x * (a.q * a.s) + a.y * a.s),
    case=lambda a: [a.p > 1, a.q > 1, a.s < 0],
)
_SPLIT_OUTER = replace(_SPLIT, goal=lambda a: a.k * a.s == a.x * (a.p * a.s) + a.y * a.s)

SPLIT = Theorem(
    "moves/reshape-split",
    "A run of elements split into new axes keeps every element's position: each new axis has the run's stride "
    "times the product of the new extents after it.",
    """Those strides are in line by construction (SPLIT_STRIDE: one more extent on the inside multiplies the stride
    before it), so the new axes are a run with the same last stride as the old ones, and moves/reshape-merge's
    induction gives position = number * last stride on both sides, for any number of old and new axes: equal
    numbers, equal positions (SAME_RUN). Reshape keeps C-order numbers, and layouts/c-order makes those one-to-one.
    The split of one axis in two is also asked directly, with div and mod as in layouts/c-order.""",
    ("moves/reshape-none", "moves/keeps-elements"),
    (
        SPLIT_STRIDE.obligation(),
        SAME_RUN.obligation(),
        *_RUN.obligations(),
        _SPLIT.obligation(),
        REACH_KEPT.obligation(),
    ),
    (Twin("the outer axis steps by its own extent", _SPLIT_OUTER.obligation()),),
)

# --- None only where nothing expresses it -----------------------------------------------------------------------------

INNERMOST = Lemma(
    "the innermost boundary of either side is in line",
    # One side's innermost axes: (n, a) outside (p, b). The other side's innermost axis: (extent, t), extent > p.
    # Elements 1 and p lie at f1 and fp from element 0; the digits of element p are (x, y) on the one side, (u, v) on
    # the other, where u numbers all the axes outside the innermost one and w stands for whatever those add.
    "n p a b extent t w x y u v f1 fp",
    hypotheses=lambda m: [
        m.n > 1,
        m.p > 1,
        m.extent > m.p,
        z3.And(m.x >= 0, within(m.y, m.p), m.x * m.p + m.y == m.p),
        z3.And(m.u >= 0, within(m.v, m.extent), m.u * m.extent + m.v == m.p),
        z3.And(m.f1 == m.b, m.f1 == m.t),
        z3.And(m.fp == m.x * m.a + m.y * m.b, m.fp == m.u * m.w + m.v * m.t),
    ],
    goal=lambda m: z3.And(m.u == 0, m.a == m.p * m.b),
    case=lambda m: [m.b < 0],
)
_SHARED_BOUNDARY = replace(
    INNERMOST, hypotheses=lambda m: [m.extent == m.p, *(f for k, f in enumerate(INNERMOST.hypotheses(m)) if k != 2)]
)

ALONE = Lemma(
    "elements that differ in one group of axes only are numbered by that group",
    "number inner outer rest element",
    # `inner` is the product of the groups inside it, the same on both sides.
    hypotheses=lambda m: [
        m.inner >= 1,
        m.number >= 0,
        m.element == m.number * m.inner,
        z3.And(m.outer >= 0, within(m.rest, m.inner), m.outer * m.inner + m.rest == m.element),
    ],
    goal=lambda m: z3.And(m.outer == m.number, m.rest == 0),
    case=lambda m: [m.inner > 2, m.number > 2],
)

NONE_ONLY_IF = Theorem(
    "moves/reshape-none",
    "Reshape answers None only where no strides at all express the result.",
    """Extents of 1 are dropped; old and new axes are cut into the smallest groups of equal products. A group stands
    alone: elements that agree outside it are numbered by it (ALONE). Inside a group no product of inner axes of one
    side equals one of the other side, its ends apart. Suppose some strides of the new axes express the map. Take
    the smaller of the two innermost extents: INNERMOST shows that this axis and its outer neighbour are in line.
    Merge them (moves/reshape-merge): the map is unchanged, one boundary is gone, and the products still differ. By
    induction on the number of boundaries every pair of neighbours of both sides is in line: that is the condition
    whose failure is the only None. So None implies that no strides express the map; moves/reshape-split is the
    converse.""",
    ("moves/reshape-none",),
    (INNERMOST.obligation(), ALONE.obligation()),
    (Twin("neighbours are compared across a boundary that both sides share", _SHARED_BOUNDARY.obligation()),),
)

THEOREMS = (C_ORDER, MERGE, SPLIT, NONE_ONLY_IF)
