"""isl: exact answers about sets of integers, for span, distinctness and overlap.

A layout is the map from its indices to positions as isl writes it; isl never sees an element one by one, so spans far
past what enumeration can hold are decided too. A question may take a bounded number of isl's operations.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

import islpy as isl

from counterfoil_oracles.opinions.opinion import Topic, Undecided
from counterfoil_oracles.opinions.places import Operand, Pair, Places, overlapping, pairs, small, sparse
from counterfoil_spec.dtypes import Dtype

ORACLE: Final = "isl"

_OPERATIONS: Final = 15_000
_EXACT_SPAN: Final = 2**32

_context: Final = isl.Context()
_context.set_max_operations(_OPERATIONS)


def _bounded(text: str, read: Any, ask: Any) -> Any:
    """What ``ask`` says of the object that isl reads from a text; Undecided past the operations allowed.

    isl tells that limit from no other error, so each error counts as an unknown, and few may.
    """
    _context.reset_operations()
    try:
        return ask(read(_context, text))
    except isl.Error:
        raise Undecided from None


def _whole(value: Any) -> int:
    """isl's number as ours; where isl stopped it has no text."""
    text = value.to_str()
    if text is None:
        raise Undecided
    return int(text)


def layout_map(places: Places) -> str:
    """The map from indices to positions."""
    names = [f"i{axis}" for axis in range(len(places.shape))]
    bounds = [f"0 <= {name} < {extent}" for name, extent in zip(names, places.shape, strict=True)]
    terms = [f"{stride} * {name}" for name, stride in zip(names, places.strides, strict=True)]
    position = " + ".join([str(places.offset), *terms])
    return f"{{ [{', '.join(names)}] -> [{position}] : {' and '.join(bounds) or '0 = 0'} }}"


def byte_set(operand: Operand) -> str:
    """The bytes of the common memory that hold a bit of the operand."""
    places, bits = operand.places, operand.dtype.bits
    names = [f"i{axis}" for axis in range(len(places.shape))]
    bounds = [f"0 <= {name} < {extent}" for name, extent in zip(names, places.shape, strict=True)]
    terms = [f"{stride * bits} * {name}" for name, stride in zip(names, places.strides, strict=True)]
    first = " + ".join([str(operand.start * 8 + places.offset * bits), *terms])
    where = [*bounds, f"0 <= k < {bits}", f"8 b <= {first} + k < 8 b + 8"]
    return f"{{ [b] : exists {', '.join([*names, 'k'])} : {' and '.join(where)} }}"


def _span(places: Places) -> tuple[int, int]:
    def ends(layout: Any) -> tuple[int, int]:
        reached = layout.range()
        if reached.is_empty():
            return 0, 0
        return _whole(reached.dim_min_val(0)), _whole(reached.dim_max_val(0)) + 1

    found: tuple[int, int] = _bounded(layout_map(places), isl.Map.read_from_str, ends)
    return found


def opinion_distinct(places: Places) -> bool:
    return bool(_bounded(layout_map(places), isl.Map.read_from_str, lambda layout: layout.is_injective()))


def _overlap(pair: Pair) -> bool:
    def meet(one: Any) -> bool:
        return not one.is_disjoint(isl.Set.read_from_str(_context, byte_set(pair.two)))

    return bool(_bounded(byte_set(pair.one), isl.Set.read_from_str, meet))


def _layouts(rng: random.Random, count: int, widest: int) -> Iterator[Places]:
    for _ in range(count):
        yield rng.choice((small(rng), sparse(rng, 2000), sparse(rng, widest)))


TOPICS: Final = (
    Topic(
        ORACLE, "span", ("layouts/span", "layouts/canonical"), 1450,
        draw=lambda rng: _layouts(rng, 1500, 2**52),
        opinion=_span,
        answer=lambda half, places: places.on(half).span,
    ),
    Topic(
        ORACLE, "distinct", ("layouts/distinct", "door/repeated-elements"), 585,
        draw=lambda rng: _layouts(rng, 600, _EXACT_SPAN),
        opinion=opinion_distinct,
        answer=lambda half, places: places.on(half).is_distinct,
    ),
    Topic(
        ORACLE, "overlap", ("door/overlapping",), 970,
        draw=lambda rng: pairs(rng, 1000, Dtype.all),
        opinion=_overlap,
        answer=overlapping,
    ),
)  # fmt: skip
