"""A cast as a staircase: the codes it gives, and exactly where along its argument each begins.

Along a run of codes on which a cast's result moves one way (the finite values of one sign, or NaN payloads with the
same first bit) the steps are found by halving: where both ends of an interval give one code, so does all between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from counterfoil_reference.kernels.operations import cast_core
from counterfoil_spec.dtypes import Dtype, float32

Codes = np.ndarray[Any, np.dtype[Any]]

_INFINITY = 0x7F800000
_QUIET = 0x7FC00000
_SIGN = 0x80000000
RUNS = tuple(
    (sign + first, sign + last)
    for sign in (0, _SIGN)
    for first, last in ((0, _INFINITY), (_INFINITY + 1, _QUIET - 1), (_QUIET, _SIGN - 1))
)
"""First and last code of each run of float32."""


class Staircase(NamedTuple):
    """float32 codes from ``starts[k]`` on, up to the next start, give ``codes[k]``."""

    starts: Codes
    codes: Codes

    def between(self, first: int, last: int) -> Codes:
        """The results of the codes ``first`` .. ``last - 1``."""
        low = int(np.searchsorted(self.starts, first, "right")) - 1
        high = int(np.searchsorted(self.starts, last, "left"))
        edges = np.append(np.maximum(self.starts[low:high], first), last)
        return np.repeat(self.codes[low:high], np.diff(edges))

    def near_steps(self) -> Codes:
        """Every code that begins a step, the one before and the one after."""
        around = np.concatenate([self.starts - 1, self.starts, self.starts + 1])
        return np.unique(np.clip(around, 0, 0xFFFFFFFF))


def staircase(target: Dtype, storage: type[np.unsignedinteger[Any]]) -> Staircase:
    """The staircase of casts from float32 to ``target``, computed exactly by the reference."""
    cast = cast_core(float32, target)
    steps = [step for first, last in RUNS for step in _steps(cast, first, last)]
    starts, codes = zip(*steps, strict=True)
    return Staircase(np.array(starts, np.int64), np.array(codes, storage))


def _steps(cast: Callable[[int], int], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The first code of each step of a run, and what the step gives."""
    yield first, cast(first)
    waiting = [(first, cast(first), last, cast(last))]
    while waiting:
        low, below, high, above = waiting.pop()
        if below == above:
            continue
        if high - low == 1:
            yield high, above
            continue
        middle = (low + high) // 2
        between = cast(middle)
        waiting.append((middle, between, high, above))  # the lower half first: steps come in order
        waiting.append((low, below, middle, between))
