"""The checks a machine makes with integers of fixed width answer the mathematical questions, and never wrap.

The formulas are those of the C core's bounds.h: a product checked by division, a span summed in integers of twice the
width, a byte bound without a product. "No wrap" is a statement about ranges: each number formed lies within its type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import z3

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.limits import MAX_ELEMENTS, MAX_RANK
from counterfoil_spec.theorems.induction import (
    Formula,
    Induction,
    Lemma,
    Step,
    Symbols,
    Term,
    Theorem,
    Twin,
    conjunction,
    greatest,
    is_quotient,
    least,
    magnitude,
    within,
)

# --- the product of the extents --------------------------------------------------------------------------------------

BY_DIVISION = Lemma(
    "a product is at most the limit exactly if one factor is at most the limit divided by the other",
    "p d limit quotient",
    hypotheses=lambda m: [m.p >= 1, m.limit >= 1, is_quotient(m.quotient, m.limit, m.p)],
    goal=lambda m: (m.d <= m.quotient) == (m.p * m.d <= m.limit),
    case=lambda m: [m.p > 2, m.d > 2, m.quotient > 2],
)


def _next_product(given: Symbols, state: Symbols, axis: Symbols) -> dict[str, Term]:
    fits = z3.And(state.fits, axis.d <= axis.quotient)
    return {
        "product": state.product * axis.d,
        "size": state.size * axis.d,
        "machine": z3.If(fits, state.machine * axis.d, state.machine),
        "fits": fits,
    }


_PRODUCT = Induction(
    "the product of the extents",
    given="limit",
    assuming=lambda g: [g.limit >= 1],
    state="product size machine fits? empty?",
    start=lambda g: {
        **dict.fromkeys(("product", "size", "machine"), z3.IntVal(1)),
        "fits": z3.BoolVal(True),
        "empty": z3.BoolVal(False),
    },
    steps=(
        Step(
            "an extent above 0",
            "d quotient",
            facts=lambda g, q, a: [a.d >= 1, is_quotient(a.quotient, g.limit, q.machine)],
            advance=_next_product,
            quotes=lambda g, q, a: [BY_DIVISION.at(p=q.machine, d=a.d, limit=g.limit, quotient=a.quotient)],
            case=lambda g, q, a: [a.d > 2, q.machine > 2, a.quotient > 2],
        ),
        Step(
            "an extent of 0",
            "",
            facts=lambda g, q, a: [],
            advance=lambda g, q, a: {"size": q.size * 0, "empty": z3.BoolVal(True)},
        ),
    ),
    invariant=lambda g, q: z3.And(
        z3.And(q.machine >= 1, q.machine <= g.limit),
        z3.And(q.product >= 1, q.fits == (q.product <= g.limit)),
        z3.Implies(q.fits, q.machine == q.product),
        q.size == z3.If(q.empty, 0, q.product),
    ),
    claim=lambda g, q: z3.And(
        q.fits == (q.product <= g.limit),
        z3.Implies(q.fits, z3.If(q.empty, 0, q.machine) == q.size),
        z3.And(q.machine >= 1, q.machine <= g.limit),
    ),
    direct=((), (0,), (1,), (0, 0), (1, 0)),
)
_WRAPPING = Induction(
    "the product modulo 2^64",
    state="product machine",
    start=lambda g: dict.fromkeys(("product", "machine"), z3.IntVal(1)),
    steps=(
        Step(
            "an extent above 0",
            "d next wraps",
            facts=lambda g, q, a: [
                z3.And(a.d >= 1, a.d < 2**63),
                z3.And(a.next == q.machine * a.d - a.wraps * 2**64, a.next >= -(2**63), a.next < 2**63),
            ],
            advance=lambda g, q, a: {"product": q.product * a.d, "machine": a.next},
        ),
    ),
    invariant=lambda g, q: q.product == q.machine,
    claim=lambda g, q: (q.machine <= MAX_ELEMENTS) == (q.product <= MAX_ELEMENTS),
)

PRODUCT = Theorem(
    "bounds/product",
    "Multiplying extents only while extent <= limit / product accepts exactly the shapes whose extents other than "
    "0 multiply to at most the limit, gives their size, and forms no product above the limit.",
    """The invariant: the machine's product lies in [1, limit], the answer so far is right, and while it is yes the
    machine holds the true product. The step multiplies one more extent above 0 where BY_DIVISION allows it (once
    the true product passes the limit it stays past, extents being 1 or more), or meets a 0, which only makes the
    size 0. By induction it holds for every rank and every limit: 2^53, and the small one of the 8-bit model.""",
    ("layouts/too-many-elements",),
    _PRODUCT.obligations(),
    (Twin("the product is formed in 64 bits and looked at afterwards", _WRAPPING.unrolled(0, 0)),),
)

# --- the span --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Widths:
    """A machine's numbers: bits of an index and of the sums, the limit of positions, the most axes."""

    index: int
    wide: int
    limit: int
    rank: int


MACHINE = Widths(64, 128, MAX_ELEMENTS, MAX_RANK)
MODEL = Widths(8, 16, 2**5, 4)

REACH_BOUND = Lemma(
    "a product is bounded by the product of the bounds",
    "x s most_x most_s",
    hypotheses=lambda m: [z3.And(m.x >= 0, m.x <= m.most_x), magnitude(m.s) <= m.most_s],
    goal=lambda m: magnitude(m.x * m.s) <= m.most_x * m.most_s,
    case=lambda m: [m.x > 1, m.s < -1],
)


def held(value: Term, bits: int) -> Formula:
    """The signed integers of that many bits hold the value."""
    return z3.And(-(2 ** (bits - 1)) <= value, value < 2 ** (bits - 1))


def _sums(machine: Widths) -> Induction:
    """Summing a span in ``machine.wide`` bits: every product and every sum on the way fits."""
    most_reach = (machine.limit - 1) * 2 ** (machine.index - 1)
    start = 2 ** (machine.index - 1)

    def advance(given: Symbols, state: Symbols, axis: Symbols) -> dict[str, Term]:
        reach = (axis.n - 1) * axis.s
        lo, top = state.lo + least(reach), state.top + greatest(reach)
        formed = z3.And(state.formed, *(held(value, machine.wide) for value in (reach, lo, top)))
        return {"lo": lo, "top": top, "axes": state.axes + 1, "formed": formed}

    def bounded(given: Symbols, state: Symbols) -> Formula:
        near = start + state.axes * most_reach
        sums = [magnitude(value) <= near for value in (state.lo, state.top)]
        return z3.And(state.formed, state.axes >= 0, state.axes <= machine.rank, *sums)

    step = Step(
        "an axis",
        "n s",
        facts=lambda g, q, a: [
            z3.And(a.n >= 1, a.n <= machine.limit),
            held(a.s, machine.index),
            q.axes < machine.rank,
        ],
        advance=advance,
        quotes=lambda g, q, a: [
            REACH_BOUND.at(
                x=a.n - 1, s=a.s, most_x=z3.IntVal(machine.limit - 1), most_s=z3.IntVal(2 ** (machine.index - 1))
            )
        ],
        case=lambda g, q, a: [a.n == machine.limit, a.s == -(2 ** (machine.index - 1)), q.axes == machine.rank - 1],
    )
    return Induction(
        f"sums of {machine.wide} bits over {machine.index}-bit strides",
        given="offset",
        assuming=lambda g: [held(g.offset, machine.index)],
        state="lo top axes formed?",
        start=lambda g: {"lo": g.offset, "top": g.offset, "axes": z3.IntVal(0), "formed": z3.BoolVal(True)},
        steps=(step,),
        invariant=bounded,
        claim=lambda g, q: q.formed,
        direct=((), (0,)),
    )


SPAN_SUMS = Theorem(
    "bounds/span-sums",
    "Summing a span in integers of twice the width forms no number that does not fit: 128 bits for 64-bit "
    "strides, extents to 2^53 and 32 axes; 16 bits for the 8-bit model with limit 2^5 and 4 axes.",
    """The invariant: after k axes both sums are at most 2^63 + k * (2^53 - 1) * 2^63 in magnitude, k is at most the
    rank's limit, and every product and sum so far fitted. The step adds one axis with REACH_BOUND. The base is the
    offset. By induction it holds for each rank up to 32, for which the bound is below 2^122; the 8-bit model is the
    same induction with its own widths. One axis more than that bound allows is not claimed.""",
    ("layouts/negative-position", "layouts/past-limit"),
    (*_sums(MACHINE).obligations(), *_sums(MODEL).obligations()),
    (Twin("the span is summed in 64 bits", _sums(replace(MACHINE, wide=64)).unrolled(0)),),
)

SPAN_ANSWER = Lemma(
    "the two ends decide for every position",
    "lo top position at_lo at_top limit",
    hypotheses=lambda m: [
        z3.And(m.lo <= m.position, m.position <= m.top),  # layouts/span-sound, for any index
        z3.And(m.at_lo == m.lo, m.at_top == m.top),  # layouts/span-tight, for two indices there are
    ],
    goal=lambda m: z3.And(
        z3.Implies(z3.And(m.lo >= 0, m.top < m.limit), within(m.position, m.limit)),
        z3.Implies(m.lo < 0, m.at_lo < 0),
        z3.Implies(m.top >= m.limit, m.at_top >= m.limit),
        z3.Implies(z3.And(m.lo >= 0, m.top < m.limit), z3.And(within(m.lo, m.limit), m.top + 1 <= m.limit)),
    ),
    case=lambda m: [m.lo < m.position, m.position < m.top],
)
_OFFSET_ONLY = replace(
    SPAN_ANSWER,
    unknowns="lo top position at_lo at_top limit offset",
    hypotheses=lambda m: [*SPAN_ANSWER.hypotheses(m), m.lo <= m.offset, m.offset <= m.top],
    goal=lambda m: z3.Implies(z3.And(m.offset >= 0, m.top < m.limit), within(m.position, m.limit)),
)

SPAN_DECIDES = Theorem(
    "bounds/span-answer",
    "lo >= 0 and hi <= limit hold exactly if every position lies in [0, limit): a negative position is reported "
    "exactly if some index has one, and so is a position past the limit.",
    """Each position lies between lo and hi - 1 (layouts/span-sound), so good ends make good positions; both ends
    are positions (layouts/span-tight), so a bad end is a bad position. Both theorems hold for every rank, and the
    sums are the true ones by bounds/span-sums; what is left is the comparison of whole numbers asked here.""",
    ("layouts/negative-position", "layouts/past-limit", "layouts/span"),
    (SPAN_ANSWER.obligation(),),
    (Twin("the offset is looked at in place of the least position", _OFFSET_ONLY.obligation()),),
)

# --- bytes -----------------------------------------------------------------------------------------------------------


def _within_bytes(hi: Term, bits: int, nbytes: Term) -> Formula:
    """The machine's test that ``hi`` elements lie in ``nbytes`` bytes."""
    if bits >= 8:
        return hi <= nbytes / (bits // 8)
    per_byte = 8 // bits
    return hi / per_byte + z3.If(hi % per_byte != 0, 1, 0) <= nbytes


def _bytes(test: Callable[[Term, int, Term], Formula]) -> Lemma:
    """The test is right for every width there is, and it is about the bits of elements."""
    widths = sorted({dtype.bits for dtype in Dtype.all})
    return Lemma(
        "elements lie within bytes",
        "hi nbytes position",
        hypotheses=lambda m: [m.hi >= 0, m.nbytes >= 0, within(m.position, m.hi)],
        goal=lambda m: conjunction(
            z3.And(
                test(m.hi, bits, m.nbytes) == (m.hi * bits <= m.nbytes * 8),
                z3.Implies(test(m.hi, bits, m.nbytes), (m.position + 1) * bits <= m.nbytes * 8),
                z3.Implies(((m.hi - 1) + 1) * bits <= m.nbytes * 8, test(m.hi, bits, m.nbytes)),
            )
            for bits in widths
        ),
        case=lambda m: [m.hi == 5, m.nbytes == 2],
    )


BYTES = Theorem(
    "bounds/bytes",
    "The test of a layout's reach, hi <= nbytes / width for widths of bytes and ceil(hi / (8 / bits)) <= nbytes "
    "for narrower ones, holds exactly if every bit of every element lies in the buffer.",
    """The span is tight (layouts/span-tight, every rank), so the last bit any element covers is bit hi * bits - 1:
    the bound is hi * bits <= nbytes * 8. Each width of the 21 dtypes is asked by itself; division by a constant
    rounds down. The quotients and the ceiling are no larger than their operands, so nothing can wrap.""",
    ("arrays/past-the-end",),
    (_bytes(_within_bytes).obligation(),),
    (
        Twin(
            "a byte begun by the last narrow element is not counted",
            _bytes(
                lambda hi, bits, nbytes: hi / (8 // bits) <= nbytes if bits < 8 else hi <= nbytes / (bits // 8)
            ).obligation(),
        ),
    ),
)

THEOREMS = (PRODUCT, SPAN_SUMS, SPAN_DECIDES, BYTES)
