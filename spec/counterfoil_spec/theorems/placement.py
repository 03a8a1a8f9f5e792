"""to_device: a kept layout stays in the copied bytes, and compacting gives each index its own place in few bytes."""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.theorems.induction import (
    Formula,
    Induction,
    Lemma,
    Obligation,
    Step,
    Symbols,
    Term,
    Theorem,
    Twin,
    conjunction,
    symbols,
    within,
)

WIDTHS = sorted({dtype.bits for dtype in Dtype.all})

# --- compacting ------------------------------------------------------------------------------------------------------

DIGIT = Lemma(
    "one more axis outside keeps places apart and in range",
    "place other weight n e d",
    hypotheses=lambda m: [
        within(m.place, m.weight),
        within(m.other, m.weight),
        within(m.e, m.n),
        within(m.d, m.n),
    ],
    goal=lambda m: z3.And(
        within(m.place + m.e * m.weight, m.n * m.weight),
        z3.Implies(m.place + m.e * m.weight == m.other + m.d * m.weight, z3.And(m.place == m.other, m.e == m.d)),
    ),
    case=lambda m: [m.n > 2, m.weight > 2, m.e != m.d, m.place != m.other],
)


def _digit(negative: Formula, extent: Term, index: Term) -> Term:
    """How many steps above the axis' least position an index lies: counted from the far end for a negative stride."""
    return z3.If(negative, extent - 1 - index, index)


def _compacted(given: Symbols, state: Symbols, axis: Symbols) -> dict[str, Term]:
    stride = z3.If(axis.negative, -state.weight, state.weight)
    raised = z3.If(axis.negative, (axis.n - 1) * state.weight, 0)  # what the axis adds to the offset
    return {
        "place": state.place + raised + axis.i * stride,
        "other": state.other + raised + axis.j * stride,
        "weight": axis.n * state.weight,
        "same": z3.And(state.same, axis.i == axis.j),
    }


_AXIS = Step(
    "an axis of stride other than 0",
    "n i j negative?",
    facts=lambda g, q, a: [within(a.i, a.n), within(a.j, a.n)],
    advance=_compacted,
    quotes=lambda g, q, a: [
        DIGIT.at(
            place=q.place,
            other=q.other,
            weight=q.weight,
            n=a.n,
            e=_digit(a.negative, a.n, a.i),
            d=_digit(a.negative, a.n, a.j),
        )
    ],
    case=lambda g, q, a: [a.n > 2, q.weight > 2, a.negative, a.i != a.j],
)
_STILL = Step(
    "an axis of stride 0",
    "n i j",
    facts=lambda g, q, a: [within(a.i, a.n), within(a.j, a.n)],
    advance=lambda g, q, a: {"place": q.place + a.i * 0, "other": q.other + a.j * 0},
)
COMPACTED = Induction(
    "compacted places",
    state="place other weight same?",
    start=lambda g: {"place": z3.IntVal(0), "other": z3.IntVal(0), "weight": z3.IntVal(1), "same": z3.BoolVal(True)},
    steps=(_AXIS, _STILL),
    invariant=lambda g, q: z3.And(within(q.place, q.weight), within(q.other, q.weight), (q.place == q.other) == q.same),
    claim=lambda g, q: z3.And(within(q.place, q.weight), (q.place == q.other) == q.same),
    chain=(0, 1, 0),
    direct=((), (0,), (1,), (0, 0)),
)
_SIGN_DROPPED = replace(
    COMPACTED,
    steps=(
        replace(
            _AXIS,
            advance=lambda g, q, a: {
                **_compacted(g, q, a),
                "place": q.place + a.i * z3.If(a.negative, -q.weight, q.weight),
            },
        ),
    ),
)
_STRIDE_OF_LAST = replace(
    COMPACTED, steps=(replace(_AXIS, advance=lambda g, q, a: {**_compacted(g, q, a), "weight": a.n}),)
)
ENDS = Induction(
    "the least and the greatest compacted place are reached",
    state="least most weight inside?",
    start=lambda g: {"least": z3.IntVal(0), "most": z3.IntVal(0), "weight": z3.IntVal(1), "inside": z3.BoolVal(True)},
    steps=(
        Step(
            "an axis of stride other than 0",
            "n negative?",
            facts=lambda g, q, a: [a.n >= 1],
            advance=lambda g, q, a: {
                "least": _end_place(q, a, q.least, z3.If(a.negative, a.n - 1, 0)),
                "most": _end_place(q, a, q.most, z3.If(a.negative, 0, a.n - 1)),
                "weight": a.n * q.weight,
                "inside": z3.And(q.inside, within(z3.IntVal(0), a.n), within(a.n - 1, a.n)),
            },
            case=lambda g, q, a: [a.n > 2, a.negative],
        ),
    ),
    invariant=lambda g, q: z3.And(q.inside, q.least == 0, q.most == q.weight - 1),
    claim=lambda g, q: z3.And(q.inside, q.least == 0, q.most == q.weight - 1),
)


def _end_place(state: Symbols, axis: Symbols, place: Term, index: Term) -> Term:
    """The place that an index along one more axis makes of a place."""
    moved = _compacted(
        Symbols(),
        Symbols(**{**vars(state), "place": place, "other": place, "same": z3.BoolVal(True)}),
        Symbols(n=axis.n, i=index, j=index, negative=axis.negative),
    )
    return moved["place"]


COMPACT_BYTES = Lemma(
    "the compacted elements fill their bytes and no more",
    "weight place",
    hypotheses=lambda m: [m.weight >= 1, within(m.place, m.weight)],
    goal=lambda m: conjunction(
        z3.And(
            (m.place + 1) * bits <= 8 * _bytes_of(m.weight, bits), 8 * _bytes_of(m.weight, bits) < m.weight * bits + 8
        )
        for bits in WIDTHS
    ),
    case=lambda m: [m.weight % 8 == 3],
)


def _bytes_of(count: Term, bits: int) -> Term:
    """``ceil(count * bits / 8)``."""
    return (count * bits + 7) / 8


COMPACT = Theorem(
    "arrays/to-device-compact",
    "Compacting places two indices apart exactly if they differ along an axis of stride other than 0, fills [0, "
    "n) for n the product of those axes' extents, and so needs exactly the bytes of n elements.",
    """Axes are taken innermost first; weight is the product of their extents, the stride's magnitude for the next.
    The invariant: two indices' places lie in [0, weight) and are equal exactly if the indices agree so far. The
    step adds an axis of either sign: what a negative stride adds to the offset turns its index into a digit counted
    from the far end, and DIGIT is the step for a digit. An axis of stride 0 changes nothing. By induction it holds
    for every rank and any order of the axes; a second induction (ENDS) shows that 0 and weight - 1 are reached, and
    COMPACT_BYTES turns places into bytes for every width.""",
    ("arrays/compact",),
    (*COMPACTED.obligations(), *ENDS.obligations(), COMPACT_BYTES.obligation()),
    (
        Twin("a negative stride does not raise the offset", _SIGN_DROPPED.unrolled(0)),
        Twin("a stride is the extent of the next axis, not the product", _STRIDE_OF_LAST.unrolled(0, 0, 0)),
    ),
)

# --- keeping the layout ----------------------------------------------------------------------------------------------


def _kept(floored: bool) -> Obligation:
    """The bytes from a layout's first to its last position hold it, shifted; ``floored``: the last byte rounds down."""
    unknown = symbols("lo hi position bit need")
    lo, hi, position, bit = unknown.lo, unknown.hi, unknown.position, unknown.bit
    claims = []
    for bits in WIDTHS:
        first = (lo * bits) / 8
        last = (hi * bits) / 8 if floored else (hi * bits + 7) / 8
        shift = (8 * first) / bits
        length = last - first
        claims += [
            shift * bits == 8 * first,  # the shift is a whole number of elements: no bit moves within its byte
            z3.And(lo - shift >= 0, hi - shift <= (8 * length) / bits),
            z3.And((position - shift) * bits >= 0, (position - shift + 1) * bits <= 8 * length),
            z3.Implies(
                z3.And(position * bits <= bit, bit < (position + 1) * bits),
                z3.And(bit / 8 - first == (bit - shift * bits) / 8, bit % 8 == (bit - shift * bits) % 8),
            ),
            z3.Implies(length <= unknown.need, 8 * length <= 8 * unknown.need),
        ]
    hypotheses = (lo >= 0, lo <= position, position < hi)
    return Obligation(
        "kept layouts stay in the copied bytes", hypotheses, conjunction(claims), (lo % 8 == 3, hi > lo + 8)
    )


KEEP = Theorem(
    "arrays/to-device-keep",
    "Where the layout is kept, the copied bytes hold every element at the same bits of its byte, the shifted "
    "positions start at 0 or more and end within the copy, and the copy is no longer than the bound that was "
    "tested.",
    """The strides stay, so every position moves by the same shift and the claim concerns one arbitrary position
    between lo and hi (layouts/span-sound, every rank). Each of the widths is asked by itself: the first byte is
    floor(lo * bits / 8) and the end ceil(hi * bits / 8); the shift 8 * first / bits is a whole number because a
    width of a byte or more starts on a byte, and a narrower one divides 8. The bound on the length is the test that
    chose this case.""",
    ("arrays/compact",),
    (_kept(floored=False),),
    (Twin("the last byte is rounded down", _kept(floored=True)),),
)

THEOREMS = (COMPACT, KEEP)
