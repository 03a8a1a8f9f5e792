"""Ranges and windows: deciding by counting steps, in 64 bits, is deciding by the last element, in whole numbers.

The formulas are those of the C core's bounds.h. Each range and each window concerns one axis, so what is shown of one
axis with unknown numbers holds for every rank.
"""

from __future__ import annotations

from dataclasses import replace

import z3

from counterfoil_spec.limits import MAX_ELEMENTS
from counterfoil_spec.theorems.bounds import held
from counterfoil_spec.theorems.induction import (
    Formula,
    Lemma,
    Symbols,
    Term,
    Theorem,
    Twin,
    greatest,
    is_quotient,
    least,
    within,
)

# --- a range's last element ------------------------------------------------------------------------------------------


def _range_hypotheses(m: Symbols) -> list[Formula]:
    forwards = z3.And(m.n - 1 - m.start == m.t * m.step + m.rest, m.rest >= 0, m.rest < m.step)
    backwards = z3.And(m.start == m.t * m.step + m.rest, m.rest >= 0, m.rest < -m.step)
    divided = z3.If(m.step > 0, forwards, backwards)
    return [m.step != 0, within(m.start, m.n), m.count >= 1, divided, m.room == z3.If(m.step > 0, m.t, -m.t)]


LAST = Lemma(
    "the last element is inside exactly if the steps to it are no more than there is room for",
    "n start count step t rest room",
    hypotheses=_range_hypotheses,
    goal=lambda m: z3.And(
        (m.count - 1 <= m.room) == within(m.start + (m.count - 1) * m.step, m.n), within(m.room, m.n)
    ),
    case=lambda m: [m.step < -1, m.room > 1, m.rest > 0],
)
_ROUNDED_UP = replace(LAST, goal=lambda m: (m.count - 1 <= m.room + 1) == within(m.start + (m.count - 1) * m.step, m.n))
_LAST_WRAPPED = Lemma(
    "the last element is formed in 64 bits",
    "n start count step last wraps",
    hypotheses=lambda m: [
        z3.And(m.step != 0, held(m.step, 64), within(m.start, m.n), m.n <= MAX_ELEMENTS),
        z3.And(m.count >= 1, held(m.count, 64)),
        m.last == m.start + (m.count - 1) * m.step - m.wraps * 2**64,
        held(m.last, 64),
    ],
    goal=lambda m: within(m.last, m.n) == within(m.start + (m.count - 1) * m.step, m.n),
)

SLICE_LAST = Theorem(
    "bounds/slice-last",
    "count - 1 <= room holds exactly if start + (count - 1) * step lies in [0, extent), where room is (extent - 1 "
    "- start) divided by a positive step, or minus start divided by a negative one, truncating.",
    """One axis decides for itself, so the lemma for one axis is the theorem for every rank. The truncated quotient
    is given by its remainder, 0 <= rest < |step|; the room lies in [0, extent), so it fits whatever the step, and
    the last element itself is formed only on the mathematical side.""",
    ("moves/slice-last",),
    (LAST.obligation(),),
    (
        Twin("the room is rounded up", _ROUNDED_UP.obligation()),
        Twin("the last element is formed in 64 bits and looked at afterwards", _LAST_WRAPPED.obligation()),
    ),
)

# --- windows ---------------------------------------------------------------------------------------------------------

WINDOW_FITS = Lemma(
    "a window fits exactly if its size less one is at most the extent less one divided by the dilation",
    "n size dilation quotient",
    hypotheses=lambda m: [m.n >= 1, m.size >= 1, m.dilation >= 1, is_quotient(m.quotient, m.n - 1, m.dilation)],
    goal=lambda m: (m.size - 1 <= m.quotient) == (m.dilation * (m.size - 1) <= m.n - 1),
    case=lambda m: [m.size > 2, m.dilation > 1, m.quotient > 2],
)
WINDOW_COUNT = Lemma(
    "window w fits exactly if w is below the count",
    "n reach step quotient count w",
    # `reach` is dilation * (size - 1).
    hypotheses=lambda m: [
        z3.And(m.n >= 1, m.reach >= 0, m.reach <= m.n - 1, m.step >= 1),
        is_quotient(m.quotient, m.n - 1 - m.reach, m.step),
        m.count == m.quotient + 1,
        m.w >= 0,
    ],
    goal=lambda m: z3.And((m.w * m.step + m.reach < m.n) == (m.w < m.count), m.count >= 1, m.count <= m.n),
    case=lambda m: [m.step > 1, m.quotient > 1],
)
NO_WINDOW = Lemma(
    "no window fits where the first does not",
    "n reach step w",
    hypotheses=lambda m: [m.n >= 0, m.reach >= m.n, m.step >= 1, m.w >= 0],
    goal=lambda m: z3.Not(m.w * m.step + m.reach < m.n),
    case=lambda m: [m.step > 1, m.w > 1],
)
_UP = replace(WINDOW_COUNT, goal=lambda m: (m.w * m.step + m.reach < m.n) == (m.w < m.count + 1))
_CEILING = replace(
    WINDOW_COUNT,
    hypotheses=lambda m: [
        z3.And(m.n >= 1, m.reach >= 0, m.reach <= m.n - 1, m.step >= 1),
        z3.And((m.quotient - 1) * m.step < m.n - 1 - m.reach, m.n - 1 - m.reach <= m.quotient * m.step),
        m.count == m.quotient + 1,
        m.w >= 0,
    ],
)

WINDOWS = Theorem(
    "bounds/window-count",
    "floor((extent - 1 - dilation * (size - 1)) / step) + 1 is the number of windows that fit, there is one "
    "exactly if size - 1 <= floor((extent - 1) / dilation), and no number formed passes the extent.",
    """The windows that fit are those w >= 0 with w * step + dilation * (size - 1) < extent. WINDOW_COUNT: these are
    exactly the w below the count, so there are count of them. WINDOW_FITS: the test that comes first decides
    whether w = 0 is one without forming the product; where it is not, none is (NO_WINDOW; an extent of 0 too). Each
    window concerns one axis, so this is the theorem for every rank and any number of windows.""",
    ("moves/window-fit",),
    (WINDOW_FITS.obligation(), WINDOW_COUNT.obligation(), NO_WINDOW.obligation()),
    (
        Twin("one window more is counted", _UP.obligation()),
        Twin("the division rounds up", _CEILING.obligation()),
    ),
)

# --- entries beyond 64 bits -------------------------------------------------------------------------------------------


def _saturated(value: Term) -> Term:
    """The nearest number that 64 bits hold."""
    return z3.If(value >= 2**63, 2**63 - 1, z3.If(value < -(2**63), -(2**63), value))


def _is_range(n: Term, start: Term, count: Term, step: Term) -> Formula:
    inside = z3.And(within(start, n), within(start + (count - 1) * step, n))
    return z3.And(step != 0, count >= 0, z3.Or(count == 0, inside))


SATURATED_RANGE = Lemma(
    "a range with saturated entries is inside exactly if the range is, and walks by the same step",
    "n start count step",
    hypotheses=lambda m: [z3.And(m.n >= 0, m.n <= MAX_ELEMENTS)],
    goal=lambda m: z3.And(
        _is_range(m.n, m.start, m.count, m.step)
        == _is_range(m.n, _saturated(m.start), _saturated(m.count), _saturated(m.step)),
        z3.Implies(
            z3.And(_is_range(m.n, m.start, m.count, m.step), m.count > 0),
            z3.And(m.start == _saturated(m.start), m.count == _saturated(m.count)),
        ),
        z3.Implies(z3.And(_is_range(m.n, m.start, m.count, m.step), m.count > 1), m.step == _saturated(m.step)),
    ),
    case=lambda m: [m.step > 2**70, m.count == 1, m.n > 2],
)


def _fits(n: Term, size: Term, dilation: Term) -> Formula:
    return z3.And(n >= 1, size >= 1, dilation >= 1, dilation * (size - 1) <= n - 1)


SATURATED_WINDOW = Lemma(
    "a window with saturated entries fits exactly if the window does, as often, and walks by the same steps",
    "n size step dilation w",
    hypotheses=lambda m: [z3.And(m.n >= 0, m.n <= MAX_ELEMENTS), m.step >= 1, m.w >= 0],
    goal=lambda m: z3.And(
        _fits(m.n, m.size, m.dilation) == _fits(m.n, _saturated(m.size), _saturated(m.dilation)),
        z3.Implies(
            _fits(m.n, m.size, m.dilation),
            z3.And(
                m.size == _saturated(m.size),
                z3.Implies(m.size > 1, m.dilation == _saturated(m.dilation)),
                (m.w * m.step + m.dilation * (m.size - 1) < m.n)
                == (m.w * _saturated(m.step) + m.dilation * (m.size - 1) < m.n),
            ),
        ),
    ),
    case=lambda m: [m.dilation > 2**70, m.size == 1, m.step > 2**70, m.n > 2],
)


def _answer(least_position: Term, greatest_position: Term) -> Term:
    """What a layout's two ends say: 1 a negative position, 2 one past the limit, 0 neither."""
    return z3.If(least_position < 0, 1, z3.If(greatest_position >= MAX_ELEMENTS, 2, 0))


_SATURATED_LAYOUT = Lemma(
    "a layout with saturated entries is refused for the same reason",
    "n s offset",
    hypotheses=lambda m: [m.n > 1, m.n <= MAX_ELEMENTS],
    goal=lambda m: (
        _answer(m.offset + least((m.n - 1) * m.s), m.offset + greatest((m.n - 1) * m.s))
        == _answer(
            _saturated(m.offset) + least((m.n - 1) * _saturated(m.s)),
            _saturated(m.offset) + greatest((m.n - 1) * _saturated(m.s)),
        )
    ),
)

SATURATED = Theorem(
    "bounds/saturated-moves",
    "Replacing the entries of a slice or a window by the nearest numbers that 64 bits hold changes neither what "
    "is refused nor what results.",
    """Each range and each window concerns one axis, so the lemma for one axis is the theorem for every rank. A
    start or a count beyond 64 bits is beyond every extent, on the same side. A step or dilation that is, leaves the
    axis at once unless there is one element to walk, where it is not used; which windows fit is the same for every
    w. Layouts have no such theorem: the twin has an offset and a stride whose sum is a good position although
    neither number is.""",
    ("moves/slice-last", "moves/slice-start", "moves/window-fit"),
    (SATURATED_RANGE.obligation(), SATURATED_WINDOW.obligation()),
    (Twin("the entries of a layout are replaced as well", _SATURATED_LAYOUT.obligation()),),
)

THEOREMS = (SLICE_LAST, WINDOWS, SATURATED)
