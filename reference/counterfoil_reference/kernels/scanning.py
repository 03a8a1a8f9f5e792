"""cumsum: at every index the sum of the elements along an axis up to and including it."""

from __future__ import annotations

from collections.abc import Callable

from counterfoil_reference import elements
from counterfoil_reference.arrays import Array
from counterfoil_reference.intervals import Accept
from counterfoil_reference.kernels import bounds, lanes
from counterfoil_reference.kernels.lanes import along, scattered
from counterfoil_reference.kernels.output import write
from counterfoil_reference.kernels.reducing import Group, parts_of, whole, whole_room
from counterfoil_reference.numbers import FORMATS, decode
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype


def cumsum(dst: Array, x: Array, axis: int) -> Answer:
    """Inclusive running sums; integers wrap, the k-th float sum is within N3's bound for its k terms.

    The destination's shape is the source's; an axis that is none is Shape_mismatch. An identical destination is
    computed right: everything is read before anything is written.
    """
    return lanes.call("cumsum", dst, x, axis, _work)


def _work(dst: Array, x: Array, axis: int) -> None:
    dtype, shape = x.dtype, x.shape
    columns = along(elements.codes(x), shape, axis)
    results = [_running(dtype, lane) for lane in columns]

    def rooms() -> list[Accept | None]:
        found = [_running_rooms(dtype, lane, stored) for lane, stored in zip(columns, results, strict=True)]
        return scattered(found, shape, axis)

    write(dst, scattered(results, shape, axis), rooms)


def _running(dtype: Dtype, lane: Group) -> Group:
    if dtype.float_format is None:
        total, mask, found = 0, (1 << dtype.bits) - 1, []
        for code in lane:
            total = total + code & mask
            found.append(total)
        return found
    form = FORMATS[dtype]
    sums = [[bounds.sum_code(form, terms) for terms in part] for part in _prefixes(dtype, lane)]
    return [whole(dtype, parts) for parts in zip(*sums, strict=True)]


def _prefixes(dtype: Dtype, lane: Group) -> list[list[bounds.Terms]]:
    form = FORMATS[dtype]
    return [list(bounds.prefixes([decode(form, code) for code in part])) for part in parts_of(dtype, lane)]


def _running_rooms(dtype: Dtype, lane: Group, stored: Group) -> list[Accept | None]:
    if dtype.float_format is None:
        return [None] * len(lane)
    terms = _prefixes(dtype, lane)
    return [whole_room(dtype, code, _room_at(dtype, terms, place)) for place, code in enumerate(stored)]


def _room_at(dtype: Dtype, terms: list[list[bounds.Terms]], place: int) -> Callable[[int, int], Accept | None]:
    return lambda part, code: bounds.sum_room(dtype, terms[part][place], code)
