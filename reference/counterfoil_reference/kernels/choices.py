"""What an expression may give at one index: every choice that its functions and free NaNs leave, followed through.

A function node may give any code of its interval (N2), and what is computed from it is computed from each. So the
accepted results of an expression are a set of codes, exactly; past 256 choices at a node, anything is accepted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from counterfoil_reference.intervals import ANY_NAN, ANYTHING, Accept, AnyNaN, AnyOf, Between, Exactly, Parts
from counterfoil_reference.kernels.operations import KEEPS_BITS, Core, room
from counterfoil_reference.numbers import FORMATS, is_nan_code, ordered, split_complex
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.expressions import Apply, Node

MOST = 256
"""Most choices followed at a node."""

Choice = tuple[int, int]
"""A code, and which of its parts are NaN of free sign and payload: 1 the only or the real one, 2 the imaginary one."""

Choices = frozenset[Choice] | None
"""None: anything."""


def accepted(
    steps: Sequence[tuple[Node, tuple[int, ...]]],
    cores: Sequence[Core | None],
    dtypes: Sequence[Dtype | None],
    codes: Sequence[int],
) -> Accept | None:
    """The room of the last of ``steps``, whose nodes gave ``codes`` in the reference."""
    found: list[Choices] = []
    for place, (each, arguments) in enumerate(steps):
        compute, dtype = cores[place], dtypes[place]
        if compute is None or dtype is None:
            found.append(frozenset({(codes[place], 0)}))
        else:
            name = each.kernel if isinstance(each, Apply) else "cast"
            source = dtypes[arguments[-1]]
            assert source is not None
            found.append(_followed(name, source, dtype, compute, [found[argument] for argument in arguments]))
    last = dtypes[-1]
    return None if last is None else _accept(last, found[-1])


def _followed(name: str, source: Dtype, dtype: Dtype, compute: Core, arguments: Sequence[Choices]) -> Choices:
    """The choices of a node from those of its arguments."""
    known = [choices for choices in arguments if choices is not None]
    if len(known) < len(arguments):
        return None
    count = 1
    for choices in known:
        count *= len(choices)
    if count > MOST:
        return None
    found: set[Choice] = set()
    for combination in itertools.product(*known):
        results = _results(name, source, dtype, compute, combination)
        if results is None:
            return None
        found.update(results)
    return frozenset(found) if len(found) <= MOST else None


def _results(
    name: str, source: Dtype, dtype: Dtype, compute: Core, sources: Sequence[Choice]
) -> Iterator[Choice] | list[Choice] | None:
    codes = tuple(code for code, _ in sources)
    result = compute(*codes)
    if name in KEEPS_BITS:
        free = any(mask for _, mask in sources)
        return [(result, _nan_parts(dtype, result) if free else 0)]
    rooms = room(name, source)
    found = rooms(codes, result) if rooms else None
    if isinstance(found, Between):
        return _codes_between(dtype, found)
    return [(result, _nan_parts(dtype, result))]


def _nan_parts(dtype: Dtype, code: int) -> int:
    if dtype.float_format is None:
        return 0
    parts = split_complex(dtype, code) if dtype.kind is Kind.COMPLEX else (code,)
    return sum(1 << place for place, part in enumerate(parts) if is_nan_code(FORMATS[dtype], part))


def _codes_between(dtype: Dtype, between: Between) -> list[Choice] | None:
    """All codes of an interval without NaN, or None if they are too many."""
    form = FORMATS[dtype]
    low, high = ordered(form, between.low), ordered(form, between.high)
    if high - low > MOST:
        return None
    codes = [form.sign_bit - place if place < 0 else place for place in range(low, high + 1)]
    return [(code, 0) for code in codes] + ([(form.sign_bit, 0)] if low <= 0 <= high else [])


def _accept(dtype: Dtype, choices: Choices) -> Accept | None:
    if choices is None:
        return ANYTHING
    sure = frozenset(code for code, mask in choices if mask == 0)
    free = tuple(_with_free_parts(dtype, code, mask) for code, mask in choices if mask)
    if len(sure) == 1 and not free:
        return None
    return AnyOf(sure, free) if sure or len(free) > 1 else free[0]


def _with_free_parts(dtype: Dtype, code: int, mask: int) -> AnyNaN | Parts:
    if dtype.kind is not Kind.COMPLEX:
        return ANY_NAN
    parts = split_complex(dtype, code)
    real, imaginary = (ANY_NAN if mask >> place & 1 else Exactly(part) for place, part in enumerate(parts))
    return Parts(real, imaginary)
