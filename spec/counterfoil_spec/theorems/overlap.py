"""Exact overlap: the cheap tests answer "no common byte" only where there is none; identity is a matter of addresses.

An array's memory starts at byte ``base``; its element at position p covers the bits [p * w, (p + 1) * w) from there,
and so the bytes that hold one of those bits.
"""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.theorems.induction import (
    Formula,
    Induction,
    Lemma,
    Step,
    Symbols,
    Theorem,
    Twin,
    is_quotient,
    within,
)

# --- disjoint hulls --------------------------------------------------------------------------------------------------


def _byte_hull(m: Symbols) -> list[Formula]:
    """``first`` is the byte of the span's first bit, ``last`` that of its last bit, ``byte`` one of an element's."""
    return [
        z3.And(m.w >= 1, m.base >= 0, m.lo >= 0),
        z3.And(m.lo <= m.position, m.position < m.hi),  # layouts/span-sound
        is_quotient(m.first - m.base, m.lo * m.w, z3.IntVal(8)),
        is_quotient(m.last - m.base, m.hi * m.w - 1, z3.IntVal(8)),
        z3.And(m.position * m.w <= m.bit, m.bit < (m.position + 1) * m.w),
        is_quotient(m.byte - m.base, m.bit, z3.IntVal(8)),
    ]


HULL = Lemma(
    "the bytes of an element lie between the bytes of the span's first and last bit",
    "base w lo hi position bit first last byte",
    hypotheses=_byte_hull,
    goal=lambda m: z3.And(m.first <= m.byte, m.byte <= m.last),
    case=lambda m: [m.w == 4, m.lo == 3, m.hi == 8, m.position == 5, m.base == 10],
)
APART = Lemma(
    "hulls that do not meet share no byte",
    "first last byte other_first other_last other_byte",
    hypotheses=lambda m: [
        z3.And(m.first <= m.byte, m.byte <= m.last),
        z3.And(m.other_first <= m.other_byte, m.other_byte <= m.other_last),
        z3.Or(m.last < m.other_first, m.other_last < m.first),
    ],
    goal=lambda m: m.byte != m.other_byte,
)
_END_FLOORED = replace(
    HULL,
    hypotheses=lambda m: [
        f if k != 3 else is_quotient(m.last + 1 - m.base, m.hi * m.w, z3.IntVal(8)) for k, f in enumerate(_byte_hull(m))
    ],
)

HULLS = Theorem(
    "overlap/hulls",
    "Two arrays whose spans' byte ranges do not meet share no byte.",
    """Every position of either array lies in its span (layouts/span-sound, by induction for every rank). HULL: an
    element inside the span has its bytes between the byte of the span's first bit and that of its last, for any
    element width, narrower than a byte included. APART: two such ranges that do not meet leave no byte in common.""",
    ("door/overlapping", "arrays/overlapping"),
    (HULL.obligation(), APART.obligation()),
    (Twin("the end of the range is rounded down to a byte", _END_FLOORED.obligation()),),
)

# --- residues --------------------------------------------------------------------------------------------------------

_MULTIPLES = Induction(
    "positions in steps of a common divisor",
    given="g offset",
    assuming=lambda g: [g.g >= 1],
    state="at steps",
    start=lambda g: {"at": g.offset, "steps": z3.IntVal(0)},
    steps=(
        Step(
            "an axis whose stride is a multiple of g",
            "n s i times",
            facts=lambda g, q, a: [within(a.i, a.n), a.s == g.g * a.times],
            advance=lambda g, q, a: {"at": q.at + a.i * a.s, "steps": q.steps + a.i * a.times},
            case=lambda g, q, a: [a.n > 2, a.s < 0, g.g > 1, a.i > 0],
        ),
    ),
    invariant=lambda g, q: q.at == g.offset + g.g * q.steps,
    claim=lambda g, q: q.at == g.offset + g.g * q.steps,
)
GAP = Lemma(
    "a distance that is rest modulo g is none of those within two elements",
    "g k w z rest e f",
    hypotheses=lambda m: [
        z3.And(m.g >= 1, m.rest >= m.w, m.rest + m.z <= m.g),
        z3.And(within(m.e, m.w), within(m.f, m.z)),
    ],
    goal=lambda m: m.g * m.k + m.rest != m.e - m.f,
    case=lambda m: [m.w > 1, m.z > 1, m.k < 0],
)
RESIDUES = Lemma(
    "elements in different residues of the common divisor never meet",
    # First bytes x + g * u and y + g * v, of w and z bytes; y - x leaves the remainder rest; e, f count bytes inside.
    "g x y u v w z times rest e f",
    hypotheses=lambda m: [
        z3.And(m.g >= 1, m.y - m.x == m.g * m.times + m.rest, within(m.rest, m.g)),
        z3.And(m.rest >= m.w, m.rest + m.z <= m.g),
        z3.And(within(m.e, m.w), within(m.f, m.z)),
    ],
    goal=lambda m: m.x + m.g * m.u + m.e != m.y + m.g * m.v + m.f,
    quotes=lambda m: [GAP.at(g=m.g, k=m.times - m.u + m.v, w=m.w, z=m.z, rest=m.rest, e=m.e, f=m.f)],
    case=lambda m: [m.w > 1, m.z > 1, m.times != 0],
)
WHOLE_BYTES = Lemma(
    "steps of whole bytes keep a narrow element at the same bits of its byte",
    "bit steps byte moved",
    hypotheses=lambda m: [
        is_quotient(m.byte, m.bit, z3.IntVal(8)),
        is_quotient(m.moved, m.bit + 8 * m.steps, z3.IntVal(8)),
    ],
    goal=lambda m: m.moved == m.byte + m.steps,
    case=lambda m: [m.steps < 0],
)
_ONE_WIDTH = replace(
    RESIDUES,
    quotes=lambda m: [],
    hypotheses=lambda m: [
        z3.And(m.g >= 1, m.y - m.x == m.g * m.times + m.rest, within(m.rest, m.g)),
        m.rest >= m.w,
        z3.And(within(m.e, m.w), within(m.f, m.z)),
    ],
)

RESIDUE = Theorem(
    "overlap/residues",
    "If g divides every stride of both arrays in bytes, and the first elements' addresses differ by rest modulo g "
    "with rest >= one width and rest + the other width <= g, then the arrays share no byte.",
    """The invariant: a position is the offset plus a multiple of g. The step adds an axis whose stride is a
    multiple of g and of either sign, an axis of stride 0 included; so by induction it holds for every rank. Taken
    in bytes, elements of one array fill the residues [0, w) from its offset and those of the other [rest, rest +
    z), which do not meet, not even round the end of g (GAP, RESIDUES). Narrow elements whose strides are whole
    bytes take one byte each, which moves with the steps (WHOLE_BYTES).""",
    ("door/overlapping", "arrays/overlapping"),
    (*_MULTIPLES.obligations(), *RESIDUES.obligations(), WHOLE_BYTES.obligation()),
    (Twin("only the width of the first array is looked at", _ONE_WIDTH.obligation()),),
)

# --- identity --------------------------------------------------------------------------------------------------------

_ALIKE = Induction(
    "equal strides and equal first bits",
    given="w base offset other_base other_offset",
    assuming=lambda g: [g.w >= 1, 8 * g.base + g.offset * g.w == 8 * g.other_base + g.other_offset * g.w],
    state="at other",
    start=lambda g: {"at": g.offset, "other": g.other_offset},
    steps=(
        Step(
            "an axis of both",
            "n s i",
            facts=lambda g, q, a: [within(a.i, a.n)],
            advance=lambda g, q, a: {"at": q.at + a.i * a.s, "other": q.other + a.i * a.s},
            case=lambda g, q, a: [a.n > 2, a.s < 0, a.i > 0, g.base != g.other_base],
        ),
    ),
    invariant=lambda g, q: 8 * g.base + q.at * g.w == 8 * g.other_base + q.other * g.w,
    claim=lambda g, q: 8 * g.base + q.at * g.w == 8 * g.other_base + q.other * g.w,
)
MUST_AGREE = Lemma(
    "identical arrays have equal strides and equal first bits",
    "w base offset other_base other_offset s t",
    # Index 0, and the unit index of an axis of extent above 1 (layouts/canonical-unique), at equal bits of equal bytes.
    hypotheses=lambda m: [
        m.w >= 1,
        8 * m.base + m.offset * m.w == 8 * m.other_base + m.other_offset * m.w,
        8 * m.base + (m.offset + m.s) * m.w == 8 * m.other_base + (m.other_offset + m.t) * m.w,
    ],
    goal=lambda m: m.s == m.t,
    case=lambda m: [m.s < 0, m.w > 1],
)
SHARES = Lemma(
    "identical arrays with an element share a byte",
    "first other_first byte other_byte",
    hypotheses=lambda m: [
        m.first == m.other_first,
        is_quotient(m.byte, m.first, z3.IntVal(8)),
        is_quotient(m.other_byte, m.other_first, z3.IntVal(8)),
    ],
    goal=lambda m: m.byte == m.other_byte,
)
_OFFSETS = replace(_ALIKE, assuming=lambda g: [g.w >= 1, g.base >= 0, g.other_base >= 0, g.offset == g.other_offset])

IDENTITY = Theorem(
    "door/identical",
    "Two arrays of one element width and one shape, with an element, are identical exactly if their canonical "
    "strides are equal and their first elements start at the same bit of the same byte; and identical arrays "
    "share a byte.",
    """If: the invariant is equal bit addresses, which start equal and to which each axis adds the same on both
    sides; by induction over the axes it holds for every index and rank. Only if: index 0 gives equal first bits;
    the unit index of an axis of extent above 1 gives equal strides (MUST_AGREE); axes of extent 1 read stride 0 in
    both. The byte of the first element's first bit is shared (SHARES).""",
    ("door/identical", "door/overlapping"),
    (*_ALIKE.obligations(), MUST_AGREE.obligation(), SHARES.obligation()),
    (Twin("offsets are compared in place of addresses", _OFFSETS.unrolled()),),
)

THEOREMS = (HULLS, RESIDUE, IDENTITY)
