"""bitcast keeps the buffer's bits: positions, spans, the two directions, and alignment.

An element of ``w`` bits at position p covers the bits [p * w, (p + 1) * w) of its buffer, low bits first. Narrowing by
the ratio ``r`` reads each element of r * w bits as r elements of w bits.
"""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.theorems.induction import (
    Induction,
    Lemma,
    Obligation,
    Step,
    Theorem,
    Twin,
    conjunction,
    is_quotient,
    within,
)
from counterfoil_spec.theorems.spans import span_after

# --- narrowing keeps the bits ----------------------------------------------------------------------------------------

_NARROWED = Induction(
    "narrowed positions",
    given="offset r",
    assuming=lambda g: [g.r >= 2],
    state="at narrow",
    start=lambda g: {"at": g.offset, "narrow": g.r * g.offset},
    steps=(
        Step(
            "an axis",
            "n s i",
            facts=lambda g, q, a: [within(a.i, a.n)],
            advance=lambda g, q, a: {"at": q.at + a.i * a.s, "narrow": q.narrow + a.i * (g.r * a.s)},
            case=lambda g, q, a: [a.n > 2, a.s < 0, a.i > 1],
        ),
    ),
    invariant=lambda g, q: q.narrow == g.r * q.at,
    claim=lambda g, q: q.narrow == g.r * q.at,
)
_OFFSET_KEPT = replace(_NARROWED, start=lambda g: {"at": g.offset, "narrow": g.offset})

SAME_BITS = Lemma(
    "a bit is covered by an element exactly if it is covered by one of its parts, and by which one",
    "p r w bit part",
    # The appended axis has extent r and stride 1: part k of element p is the narrow element r * p + k.
    hypotheses=lambda m: [m.r >= 2, m.w >= 1, is_quotient(m.part, m.bit - m.p * (m.r * m.w), m.w)],
    goal=lambda m: z3.And(
        z3.And(m.p * (m.r * m.w) <= m.bit, m.bit < (m.p + 1) * (m.r * m.w)) == within(m.part, m.r),
        z3.And((m.r * m.p + m.part) * m.w <= m.bit, m.bit < (m.r * m.p + m.part + 1) * m.w),
    ),
    case=lambda m: [m.p > 2, m.part > 0, m.w > 1],
)
ONE_PART = Lemma(
    "no bit is covered by two parts",
    "a b w bit",
    hypotheses=lambda m: [
        m.w >= 1,
        z3.And(m.a * m.w <= m.bit, m.bit < (m.a + 1) * m.w),
        z3.And(m.b * m.w <= m.bit, m.bit < (m.b + 1) * m.w),
    ],
    goal=lambda m: m.a == m.b,
    case=lambda m: [m.w > 2, m.a > 2],
)

KEEPS_BITS = Theorem(
    "arrays/bitcast-bits",
    "After narrowing by r, the r parts of each element cover exactly the element's bits, low bits first, each bit "
    "once.",
    """The invariant is that the narrow position is r times the wide one; the start multiplies the offset by r, and
    the step an axis' stride, for any axis. By induction it holds for every rank; the appended axis of stride 1 then
    adds the part's number. SAME_BITS says for one element that its bits are those of parts 0 to r - 1 and which
    part a bit is in; ONE_PART that no bit is in two. Widening is the inverse (arrays/bitcast-inverse), so it keeps
    bits as well.""",
    ("arrays/bitcast-map",),
    (*_NARROWED.obligations(), SAME_BITS.obligation(), ONE_PART.obligation()),
    (Twin("the offset is not multiplied", _OFFSET_KEPT.unrolled(0)),),
)

# --- the span in bits stays ------------------------------------------------------------------------------------------

_NARROWED_SPAN = Induction(
    "narrowed span",
    given="offset r",
    assuming=lambda g: [g.r >= 2],
    state="lo top narrow_lo narrow_top",
    start=lambda g: {
        "lo": g.offset,
        "top": g.offset,
        "narrow_lo": g.r * g.offset,
        "narrow_top": g.r * g.offset + (g.r - 1) * 1,  # the appended axis, summed first
    },
    steps=(
        Step(
            "an axis",
            "n s",
            facts=lambda g, q, a: [a.n >= 1],
            advance=lambda g, q, a: {
                **span_after(q, a.n, a.s),
                "narrow_lo": q.narrow_lo + z3.If(a.s < 0, (a.n - 1) * (g.r * a.s), 0),
                "narrow_top": q.narrow_top + z3.If(a.s > 0, (a.n - 1) * (g.r * a.s), 0),
            },
            case=lambda g, q, a: [a.n > 2, a.s < 0],
        ),
    ),
    invariant=lambda g, q: z3.And(q.narrow_lo == g.r * q.lo, q.narrow_top + 1 == g.r * (q.top + 1)),
    claim=lambda g, q: z3.And(q.narrow_lo == g.r * q.lo, q.narrow_top + 1 == g.r * (q.top + 1)),
)
SPAN_BITS = Lemma(
    "the narrowed span covers the same bits",
    "lo hi narrow_lo narrow_hi r w",
    hypotheses=lambda m: [m.r >= 2, m.w >= 1, m.narrow_lo == m.r * m.lo, m.narrow_hi == m.r * m.hi],
    goal=lambda m: z3.And(m.narrow_lo * m.w == m.lo * (m.r * m.w), m.narrow_hi * m.w == m.hi * (m.r * m.w)),
    case=lambda m: [m.hi > m.lo, m.lo > 0],
)
_TOP_MULTIPLIED = replace(_NARROWED_SPAN, claim=lambda g, q: q.narrow_top == g.r * q.top)

KEEPS_REACH = Theorem(
    "arrays/bitcast-reach",
    "Narrowing and widening keep the span's bits, so a cast array reaches past its buffer only if the array did.",
    """The invariant is narrow lo = r * lo and narrow hi = r * hi, where hi is top + 1; the appended axis is summed
    first and gives the base. The step adds an axis of any extent and stride: its reach is multiplied by r on both
    sides, and the sign of its stride is kept. By induction it holds for every rank; SPAN_BITS turns positions into
    bits.""",
    ("arrays/bitcast-map", "arrays/past-the-end"),
    (*_NARROWED_SPAN.obligations(), SPAN_BITS.obligation()),
    (Twin("the greatest position is multiplied, not the end", _TOP_MULTIPLIED.unrolled()),),
)

# --- the two directions ----------------------------------------------------------------------------------------------

THERE_AND_BACK = Lemma(
    "widening undoes narrowing, for a stride and for an offset alike",
    "r s narrow wide",
    hypotheses=lambda m: [m.r >= 2, m.narrow == m.r * m.s, m.wide * m.r == m.narrow],
    goal=lambda m: m.wide == m.s,
    case=lambda m: [m.s < 0],
)
BACK_AND_THERE = Lemma(
    "narrowing undoes widening where it divides",
    "r s wide rest again",
    hypotheses=lambda m: [
        m.r >= 2,
        z3.And(m.s == m.wide * m.r + m.rest, within(m.rest, m.r)),
        m.rest == 0,
        m.again == m.r * m.wide,
    ],
    goal=lambda m: m.again == m.s,
    case=lambda m: [m.s < 0],
)
_FLOORED = replace(
    BACK_AND_THERE, hypotheses=lambda m: [f for k, f in enumerate(BACK_AND_THERE.hypotheses(m)) if k != 2]
)
MUST_DIVIDE = Lemma(
    "if some wider layout covers the same bits, widening's conditions hold",
    "r t o s wide_o wide_s",
    # Narrow positions: part 1 of index 0, part 0 of index 0, part 0 of an axis' unit index; on the right the wide ones.
    hypotheses=lambda m: [
        m.r >= 2,
        m.o + 1 * m.t == m.r * m.wide_o + 1,
        m.o == m.r * m.wide_o,
        m.o + m.s == m.r * (m.wide_o + m.wide_s),
    ],
    goal=lambda m: z3.And(m.t == 1, m.o == m.r * m.wide_o, m.s == m.r * m.wide_s),
    case=lambda m: [m.wide_s < 0],
)

INVERSE = Theorem(
    "arrays/bitcast-inverse",
    "Narrowing then widening, and widening where it is not None then narrowing, give the layout back; and where "
    "widening's conditions fail, no layout of the wider dtype covers the same bits in the same order.",
    """Both act on each stride and on the offset alone, so one lemma for one number (THERE_AND_BACK, BACK_AND_THERE)
    covers every axis of every rank, and the appended axis is the one that is removed. For the last part: a wider
    layout with the same bits has part k of index i at r * position(i) + k. Part 1 of index 0 gives the trailing
    stride 1; part 0 of index 0 gives the offset; the unit index of any axis of extent above 1 (layouts/canonical-
    unique) gives that axis' stride: each is a multiple of r (MUST_DIVIDE). An axis of extent 1 reads stride 0,
    which is one.""",
    ("arrays/bitcast-map",),
    (THERE_AND_BACK.obligation(), BACK_AND_THERE.obligation(), MUST_DIVIDE.obligation()),
    (Twin("a stride that does not divide is rounded down", _FLOORED.obligation()),),
)

# --- alignment -------------------------------------------------------------------------------------------------------


def _alignment_kept(pairs: list[tuple[Dtype, Dtype]], name: str) -> Obligation:
    """A buffer aligned for the first dtype of each pair is aligned for the second."""
    address = z3.Int("address")
    needs = sorted({(source.alignment, target.alignment) for source, target in pairs})
    kept = conjunction(z3.Implies(address % source == 0, address % target == 0) for source, target in needs)
    return Obligation(name, (address >= 0,), kept, (address % 8 == 4,))


def _elements_aligned() -> Obligation:
    """Element p of a dtype of a byte or more starts on a multiple of the alignment exactly if the buffer does."""
    base, position = z3.Ints("base position")
    whole = sorted({(dtype.bits // 8, dtype.alignment) for dtype in Dtype.all if dtype.bits >= 8})
    same = [((base + position * width) % alignment == 0) == (base % alignment == 0) for width, alignment in whole]
    return Obligation("every element is aligned as the buffer is", (), conjunction(same), (base % 8 == 4, position > 0))


_NARROWINGS = [(source, target) for source in Dtype.all for target in Dtype.all if source.bits > target.bits]
_WIDENINGS = [(target, source) for source, target in _NARROWINGS]

ALIGNED = Theorem(
    "arrays/bitcast-aligned",
    "A narrowing bitcast never loses alignment, so only widening and equal widths check it; and an array's "
    "elements are aligned exactly if its buffer's first byte is.",
    """No rank is involved: a dtype's elements of a byte or more start at multiples of its width from the buffer's
    first byte, and its alignment divides its width, so all of them are aligned or none. Every pair of the 21 dtypes
    whose first is the wider one is asked: the alignment of the narrower divides that of the wider, complex ones
    included.""",
    ("arrays/misaligned", "arrays/bitcast-map"),
    (_alignment_kept(_NARROWINGS, "narrowing keeps alignment"), _elements_aligned()),
    (Twin("widening keeps alignment too", _alignment_kept(_WIDENINGS, "widening keeps alignment")),),
)

THEOREMS = (KEEPS_BITS, KEEPS_REACH, INVERSE, ALIGNED)
