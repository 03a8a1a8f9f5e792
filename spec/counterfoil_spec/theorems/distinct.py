"""When layouts say the same and when indices collide: canonical form, nesting, and more indices than positions."""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.theorems.induction import (
    Induction,
    Lemma,
    Obligation,
    Step,
    Theorem,
    Twin,
    conjunction,
    magnitude,
    symbols,
    within,
)

# --- canonical form is unique ----------------------------------------------------------------------------------------

UNIT_INDEX = Induction(
    "the index that is 1 along one axis and 0 along the others lies one stride from the offset",
    given="offset",
    state="at stride chosen? inside?",
    start=lambda g: {
        "at": g.offset,
        "stride": z3.IntVal(0),
        "chosen": z3.BoolVal(False),
        "inside": z3.BoolVal(True),
    },
    steps=(
        Step(
            "another axis",
            "n s",
            facts=lambda g, q, a: [a.n >= 1],
            advance=lambda g, q, a: {"at": q.at + 0 * a.s, "inside": z3.And(q.inside, within(z3.IntVal(0), a.n))},
        ),
        Step(
            "the chosen axis",
            "n s",
            facts=lambda g, q, a: [a.n > 1, z3.Not(q.chosen)],
            advance=lambda g, q, a: {
                "at": q.at + 1 * a.s,
                "stride": a.s,
                "chosen": z3.BoolVal(True),
                "inside": z3.And(q.inside, within(z3.IntVal(1), a.n)),
            },
        ),
    ),
    invariant=lambda g, q: z3.And(q.inside, q.at == g.offset + z3.If(q.chosen, q.stride, 0)),
    claim=lambda g, q: z3.And(q.inside, q.at == g.offset + z3.If(q.chosen, q.stride, 0)),
    chain=(0, 1, 0),
    direct=((), (0,), (1,), (0, 1, 0)),
)

SAME_STRIDE = Lemma(
    "equal positions at index 0 and at the unit index of an axis, and A14, fix that axis' stride and the offset",
    "n s t o p",
    hypotheses=lambda a: [
        a.n >= 1,
        a.o == a.p,  # index 0 of both maps
        z3.Implies(a.n > 1, a.o + a.s == a.p + a.t),  # the unit index, where it is an index
        z3.Implies(a.n == 1, z3.And(a.s == 0, a.t == 0)),
    ],
    goal=lambda a: z3.And(a.o == a.p, a.s == a.t),
)
_NOT_CANONICAL = replace(SAME_STRIDE, hypotheses=lambda a: SAME_STRIDE.hypotheses(a)[:3])

EMPTY_FIXED = Lemma(
    "two canonical layouts without an element have the same strides and offset",
    "s t o p",
    hypotheses=lambda a: [a.s == 0, a.t == 0, a.o == 0, a.p == 0],
    goal=lambda a: z3.And(a.s == a.t, a.o == a.p),
)

CANONICAL = Theorem(
    "layouts/canonical-unique",
    "Two canonical layouts of one shape with the same map have the same strides and the same offset.",
    """Index 0 lies at the offset, so the offsets agree. For an axis of extent above 1, the index that is 1 there
    and 0 elsewhere is an index; by induction over the other axes before and after it (UNIT_INDEX: each adds 0 times
    its stride) it lies one stride from the offset. Equal maps then give equal strides (SAME_STRIDE). Axes of extent
    1 read stride 0 in both, and without an element all is 0 in both. The axis was any axis, so it holds for every
    rank.""",
    ("layouts/canonical",),
    (*UNIT_INDEX.obligations(), SAME_STRIDE.obligation(), EMPTY_FIXED.obligation()),
    (Twin("an axis of extent 1 keeps the stride it was given", _NOT_CANONICAL.obligation()),),
)

# --- nesting implies distinct ----------------------------------------------------------------------------------------

NO_CANCEL = Lemma(
    "a step along a nested axis is longer than everything inside it",
    "s inner d",
    hypotheses=lambda a: [a.inner >= 0, magnitude(a.s) > a.inner, a.d != 0],
    goal=lambda a: magnitude(a.d * a.s) > a.inner,
    case=lambda a: [a.s < 0, a.d > 1, a.inner > 1],
)
STEP_BOUND = Lemma(
    "two indices differ along an axis by at most its reach",
    "n s i j",
    hypotheses=lambda a: [within(a.i, a.n), within(a.j, a.n)],
    goal=lambda a: magnitude((a.i - a.j) * a.s) <= (a.n - 1) * magnitude(a.s),
    case=lambda a: [a.n > 2, a.s < 0, a.i != a.j],
)

NESTED = Induction(
    "nested axes",
    state="difference inner same?",
    start=lambda g: {"difference": z3.IntVal(0), "inner": z3.IntVal(0), "same": z3.BoolVal(True)},
    steps=(
        Step(
            "an axis outside the ones before",
            "n s i j",
            facts=lambda g, q, a: [
                within(a.i, a.n),
                within(a.j, a.n),
                z3.Implies(a.n > 1, magnitude(a.s) > q.inner),
            ],
            advance=lambda g, q, a: {
                "difference": q.difference + (a.i - a.j) * a.s,
                "inner": q.inner + (a.n - 1) * magnitude(a.s),
                "same": z3.And(q.same, a.i == a.j),
            },
            quotes=lambda g, q, a: [
                STEP_BOUND.at(n=a.n, s=a.s, i=a.i, j=a.j),
                NO_CANCEL.at(s=a.s, inner=q.inner, d=a.i - a.j),
            ],
            case=lambda g, q, a: [a.n > 2, a.s < 0, a.i != a.j, q.inner > 1],
        ),
    ),
    invariant=lambda g, q: z3.And(magnitude(q.difference) <= q.inner, z3.Implies(q.difference == 0, q.same)),
    claim=lambda g, q: z3.Implies(q.difference == 0, q.same),
)
_NEIGHBOUR_ONLY = replace(
    NESTED,
    state="difference inner same? previous",
    start=lambda g: {**NESTED.start(g), "previous": z3.IntVal(0)},
    steps=(
        replace(
            NESTED.steps[0],
            facts=lambda g, q, a: [
                within(a.i, a.n),
                within(a.j, a.n),
                z3.Implies(a.n > 1, magnitude(a.s) > q.previous),
            ],
            advance=lambda g, q, a: {
                **NESTED.steps[0].advance(g, q, a),
                "previous": z3.If(a.n > 1, (a.n - 1) * magnitude(a.s), q.previous),
            },
        ),
    ),
)
_AT_LEAST = replace(
    NESTED,
    steps=(
        replace(
            NESTED.steps[0],
            facts=lambda g, q, a: [
                within(a.i, a.n),
                within(a.j, a.n),
                z3.Implies(a.n > 1, z3.And(a.s != 0, magnitude(a.s) >= q.inner)),
            ],
        ),
    ),
)

NESTING = Theorem(
    "layouts/nesting-distinct",
    "If every axis of extent above 1, taken by increasing |stride|, has |stride| above the summed reach of the "
    "axes before it, then no two indices reach one position.",
    """For two indices the state holds the difference of their positions and the summed reach |inner| of the axes so
    far. The invariant: |difference| <= inner, and a difference of 0 means equal indices so far. The step adds an
    axis outside: STEP_BOUND keeps the bound; and where the axis' indices differ, its step is longer than inner
    (NO_CANCEL), so the difference cannot return to 0. The base is no axes. Signs are any, and positions do not
    depend on the order of axes (moves/permute-inside), so walking them sorted loses nothing; by induction it holds
    for every rank.""",
    ("layouts/distinct", "door/repeated-elements"),
    NESTED.obligations(),
    (
        Twin("an axis is compared with its neighbour only", _NEIGHBOUR_ONLY.unrolled(0, 0, 0)),
        Twin("a stride equal to the summed reach is let through", _AT_LEAST.unrolled(0, 0)),
    ),
)

# --- more indices than positions -------------------------------------------------------------------------------------


def _one_hole_fewer(knowing_the_last: bool) -> tuple[Obligation, Obligation]:
    """From a one-to-one map of [0, count) into [0, holes + 1), one of [0, count - 1) into [0, holes).

    ``f`` is the given map; ``g(i)`` is f(i), or f(count - 1) where f(i) is the position taken away. First: g maps
    into [0, holes). Second: g is one-to-one. The premises are instances of what is known of f, at i, j and count - 1;
    without ``knowing_the_last`` the last index is not known to differ from the others.
    """
    f = z3.Function("f", z3.IntSort(), z3.IntSort())
    unknown = symbols("i j count holes")
    i, j, last = unknown.i, unknown.j, unknown.count - 1

    def g(index: z3.ArithRef) -> z3.ArithRef:
        return z3.If(f(index) == unknown.holes, f(last), f(index))

    def indices(*points: z3.ArithRef) -> list[z3.BoolRef]:
        return [within(point, last) for point in points] + [within(f(p), unknown.holes + 1) for p in (*points, last)]

    apart = [z3.Implies(i != j, f(i) != f(j))]
    from_last = [f(i) != f(last), f(j) != f(last)] if knowing_the_last else []
    case = (f(i) == unknown.holes,)
    into = Obligation("one hole fewer: into", (*indices(i), *from_last[:1]), within(g(i), unknown.holes), case)
    injective = z3.Implies(i != j, g(i) != g(j))
    return into, Obligation("one hole fewer: one-to-one", (*indices(i, j), *apart, *from_last), injective, case)


NO_HOLES = Lemma(
    "no index has a position among none",
    "position holes",
    hypotheses=lambda a: [a.holes == 0],
    goal=lambda a: z3.Not(within(a.position, a.holes)),
)
FEWER = Lemma(
    "one index and one position fewer, and as many indices as positions at most, give the claim back",
    "count holes",
    hypotheses=lambda a: [a.count >= 1, a.holes >= 0, a.count - 1 <= a.holes],
    goal=lambda a: a.count <= a.holes + 1,
)
CROWDED = Lemma(
    "a distinct layout has at most as many indices as its span has positions",
    "size lo hi holes",
    hypotheses=lambda a: [a.holes == a.hi - a.lo, a.size <= a.holes],
    goal=lambda a: z3.Not(a.size > a.hi - a.lo),
)
_FULL = replace(
    CROWDED,
    unknowns="size lo hi holes n s",
    hypotheses=lambda a: [a.n > 1, a.s == 1, a.size == a.n, a.hi == a.lo + (a.n - 1) * a.s + 1],
    goal=lambda a: z3.Not(a.size >= a.hi - a.lo),
)
STANDING_STILL = Lemma(
    "an axis of stride 0 and extent above 1 repeats its elements",
    "at n s",
    hypotheses=lambda a: [a.n > 1, a.s == 0],
    goal=lambda a: conjunction([within(z3.IntVal(1), a.n), a.at + 0 * a.s == a.at + 1 * a.s]),
)

PIGEONHOLE = Theorem(
    "layouts/crowded-repeats",
    "A layout with more indices than its span has positions reaches a position twice, and so does one with an "
    "axis of stride 0 and extent above 1.",
    """C order numbers the indices below size (layouts/c-order) and positions less lo lie below hi - lo (span-
    sound). So it is enough that a one-to-one map of [0, count) into [0, holes) has count <= holes, by induction on
    holes. Base: with no holes there is no index. Step, from holes to holes + 1: send the index that has position
    `holes` to where the last index was; the map of count - 1 indices that remains is one-to-one into [0, holes),
    and the hypothesis for it gives count - 1 <= holes (FEWER). This is an induction on positions, so it covers
    every rank at once.""",
    ("layouts/distinct", "door/repeated-elements"),
    (
        NO_HOLES.obligation(),
        *_one_hole_fewer(knowing_the_last=True),
        FEWER.obligation(),
        CROWDED.obligation(),
        STANDING_STILL.obligation(),
    ),
    (
        Twin("as many indices as positions are taken for too many", _FULL.obligation()),
        Twin("the last index is not known to differ from the others", _one_hole_fewer(knowing_the_last=False)[1]),
    ),
)

# --- leaving axes out of the question ---------------------------------------------------------------------------------

WITNESS = Lemma(
    "coprime to the modulus, a factor can be cancelled",
    # s = h * a and g = h * b with a and b coprime: u and v are their coefficients. The others differ by g * m.
    "d a b u v m h",
    hypotheses=lambda m: [m.h >= 1, m.a * m.u + m.b * m.v == 1, m.d * (m.h * m.a) + (m.h * m.b) * m.m == 0],
    goal=lambda m: m.d == m.b * (m.v * m.d - m.u * m.m),
    case=lambda m: [m.d > 0, m.h > 1, m.a > 1, m.b > 1],
)
SHORT_MULTIPLE = Lemma(
    "a multiple of b smaller than b is 0",
    "d b k",
    hypotheses=lambda m: [m.b >= 1, m.d == m.b * m.k, magnitude(m.d) < m.b],
    goal=lambda m: m.d == 0,
    case=lambda m: [m.b > 2],
)
BY_DIVISOR = Lemma(
    "an axis with no more indices than its first multiple needs has one index in equal sums",
    "n i j a b u v m h",
    hypotheses=lambda m: [
        z3.And(within(m.i, m.n), within(m.j, m.n), m.h >= 1, m.b >= 1, m.n <= m.b),
        m.a * m.u + m.b * m.v == 1,
        (m.i - m.j) * (m.h * m.a) + (m.h * m.b) * m.m == 0,
    ],
    goal=lambda m: m.i == m.j,
    quotes=lambda m: [
        WITNESS.at(d=m.i - m.j, a=m.a, b=m.b, u=m.u, v=m.v, m=m.m, h=m.h),
        SHORT_MULTIPLE.at(d=m.i - m.j, b=m.b, k=m.v * (m.i - m.j) - m.u * m.m),
    ],
    case=lambda m: [m.n > 2, m.h > 1, m.a > 1],
)
_COUNTED_BY_DIVISOR = replace(
    BY_DIVISOR,
    # The bound is taken to be the divisor g = h * b itself.
    hypotheses=lambda m: [
        z3.And(within(m.i, m.n), within(m.j, m.n), m.h >= 1, m.b >= 1, m.n <= m.h * m.b),
        *BY_DIVISOR.hypotheses(m)[1:],
    ],
    quotes=lambda m: [],
)
BY_REACH = Lemma(
    "an axis that steps further than all others reach has one index in equal sums",
    "s others difference d",
    hypotheses=lambda m: [
        magnitude(m.s) > m.others,
        magnitude(m.difference) <= m.others,
        m.d * m.s + m.difference == 0,
    ],
    goal=lambda m: m.d == 0,
    quotes=lambda m: [NO_CANCEL.at(s=m.s, inner=m.others, d=m.d)],
    case=lambda m: [m.others > 2, m.s < 0],
)
PAIR = Lemma(
    "two axes with room for each other's reduced step collide",
    # Strides h * a and h * b: index b of the one lies where index a of the other does.
    "n k a b h",
    hypotheses=lambda m: [m.h >= 1, m.a >= 1, m.b >= 1, m.n > m.b, m.k > m.a],
    goal=lambda m: z3.And(within(m.b, m.n), within(m.a, m.k), m.b != 0, m.b * (m.h * m.a) == m.a * (m.h * m.b)),
    case=lambda m: [m.h > 1, m.a > 1, m.b > 1],
)
OTHERS = Induction(
    "what the other axes add",
    given="g",
    state="difference reach multiple",
    start=lambda g: dict.fromkeys(("difference", "reach", "multiple"), z3.IntVal(0)),
    steps=(
        Step(
            "another axis",
            "n s i j times",
            facts=lambda g, q, a: [within(a.i, a.n), within(a.j, a.n), a.s == g.g * a.times],
            advance=lambda g, q, a: {
                "difference": q.difference + (a.i - a.j) * a.s,
                "reach": q.reach + (a.n - 1) * magnitude(a.s),
                "multiple": q.multiple + (a.i - a.j) * a.times,
            },
            quotes=lambda g, q, a: [STEP_BOUND.at(n=a.n, s=a.s, i=a.i, j=a.j)],
            case=lambda g, q, a: [a.n > 2, a.s < 0, a.i != a.j],
        ),
    ),
    invariant=lambda g, q: z3.And(magnitude(q.difference) <= q.reach, q.difference == g.g * q.multiple),
    claim=lambda g, q: z3.And(magnitude(q.difference) <= q.reach, q.difference == g.g * q.multiple),
    direct=((), (0,)),
)

SEPARABLE = Theorem(
    "layouts/separable-axis",
    "An axis can be left out of the question whether indices collide if its |stride| exceeds the summed reach of "
    "all other axes, or if its extent is at most g / gcd(stride, g) for a common divisor g of all other strides; "
    "and two axes collide if the extent of each exceeds the other's stride divided by their greatest common "
    "divisor.",
    """For two indices, OTHERS shows by induction over the other axes, however many, that what they add differs by a
    multiple of g and by at most their summed reach. If the two positions are equal, the difference along the axis
    itself cancels that: BY_REACH, or BY_DIVISOR (where h is the gcd, and a and b are coprime, which their
    coefficients u and v attest), makes its two indices equal. So indices collide exactly if they collide without
    the axis; leaving out one axis at a time, this covers every rank. PAIR names the two colliding indices of two
    axes.""",
    ("layouts/distinct", "door/repeated-elements"),
    (*OTHERS.obligations(), *BY_REACH.obligations(), *BY_DIVISOR.obligations(), PAIR.obligation()),
    (Twin("the extent is compared with the divisor itself", _COUNTED_BY_DIVISOR.obligation()),),
)

THEOREMS = (CANONICAL, NESTING, SEPARABLE, PIGEONHOLE)
