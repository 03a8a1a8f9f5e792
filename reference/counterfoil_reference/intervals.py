"""What besides the reference's own bits is right (N1, N2, N3), recorded while somebody watches (N5).

The reference stores the exact result rounded once. Where the rules leave room, a kernel also says how much, as an
``Accept`` per destination element: any NaN where arithmetic gives one, an interval of codes for functions, float sums
and what is built on them, a set of codes for expressions of such. None stands for exactly the stored bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from counterfoil_reference.numbers import FORMATS, is_nan_code, ordered, split_complex
from counterfoil_spec.dtypes import Dtype


class Accept(Protocol):
    """A set of codes that are right for one element."""

    def accepts(self, dtype: Dtype, code: int) -> bool:
        """Whether ``code`` is right; ``dtype`` is the element's (of a complex one's part: the complex dtype)."""


@dataclass(frozen=True, slots=True)
class AnyNaN:
    """A NaN of any sign and payload."""

    def accepts(self, dtype: Dtype, code: int) -> bool:
        return is_nan_code(FORMATS[dtype], code)


@dataclass(frozen=True, slots=True)
class Between:
    """Codes from ``low`` to ``high`` in the order of their values, a zero of either sign; with ``nan``, any NaN too."""

    low: int
    high: int
    nan: bool = False

    def accepts(self, dtype: Dtype, code: int) -> bool:
        form = FORMATS[dtype]
        if is_nan_code(form, code):
            return self.nan
        return ordered(form, self.low) <= ordered(form, code) <= ordered(form, self.high)


@dataclass(frozen=True, slots=True)
class Exactly:
    """One code: for a part of a complex element whose other part has room."""

    code: int

    def accepts(self, dtype: Dtype, code: int) -> bool:
        return code == self.code


@dataclass(frozen=True, slots=True)
class Parts:
    """A complex element: its real and its imaginary part, each by itself."""

    real: Accept
    imaginary: Accept

    def accepts(self, dtype: Dtype, code: int) -> bool:
        real, imaginary = split_complex(dtype, code)
        return self.real.accepts(dtype, real) and self.imaginary.accepts(dtype, imaginary)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several codes, or what one of several other sets accepts."""

    codes: frozenset[int]
    others: tuple[Accept, ...] = ()

    def accepts(self, dtype: Dtype, code: int) -> bool:
        return code in self.codes or any(other.accepts(dtype, code) for other in self.others)


@dataclass(frozen=True, slots=True)
class Anything:
    """Any code: where so many are right that the expression decides nothing."""

    def accepts(self, dtype: Dtype, code: int) -> bool:
        return True


ANY_NAN: Final = AnyNaN()
ANYTHING: Final = Anything()


class Record(NamedTuple):
    """A kernel call that was Done: its destination, and per element in C order an Accept or None."""

    dst: Any
    accepts: Sequence[Accept | None]


_log: ContextVar[list[Record] | None] = ContextVar("log", default=None)


@contextmanager
def watching() -> Iterator[list[Record]]:
    """A log that gets one Record per kernel call that ends Done inside the block; the innermost block has it."""
    records: list[Record] = []
    token = _log.set(records)
    try:
        yield records
    finally:
        _log.reset(token)


def watched() -> list[Record] | None:
    """The log in force, or None when nobody watches."""
    return _log.get()


def free_nan(dtype: Dtype, code: int) -> Accept | None:
    """The room of an arithmetic result: any NaN for each part that is one (N1), else none."""
    form = FORMATS.get(dtype)
    if form is None:
        return None
    if dtype.bits == form.bits:
        return ANY_NAN if is_nan_code(form, code) else None
    parts = split_complex(dtype, code)
    nans = [is_nan_code(form, part) for part in parts]
    return parted(parts, [ANY_NAN if nan else None for nan in nans])


def parted(codes: Sequence[int], accepts: Sequence[Accept | None]) -> Accept | None:
    """The room of a complex element from its parts' codes and rooms."""
    if accepts[0] is None and accepts[1] is None:
        return None
    return Parts(accepts[0] or Exactly(codes[0]), accepts[1] or Exactly(codes[1]))
