"""Which of a nest's loops are parallel: those whose points never write one element.

The positions a nest writes are read as mixed radices: loops whose strides overlap (``y + h`` of a convolution's
gradient) make one digit. Such a digit of a sum is turned around: a thread for each of its values gathers the points
that reach it, those outside the loops left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.work import Guards, Solved, Work, changed, stride, substituting
from counterfoil.compile.nests import REORDERED, Loops, Nest
from counterfoil_spec.programs.loops import Apply, Load, Store
from counterfoil_spec.programs.projections import Affine, affine, fixed
from counterfoil_spec.programs.symbols import Iterator, Symbol


def mapped(nest: Nest, guards: Guards) -> Work:
    """The nest's loops shared out."""
    work = Work(nest, (), nest.loops, guards)
    if nest.accumulator in REORDERED:
        work = _gathered(work)
        nest = work.nest
    elsewhere = any(
        isinstance(load, Load) and load.node is nest.node and load.index != nest.store.index for load in nest.loads
    )
    alone = [] if elsewhere else [digit.loops[0] for digit in digits(nest.target, nest.loops) if len(digit.loops) == 1]
    serial = tuple(loop for loop in nest.loops if loop not in alone)
    parallel = tuple(reversed(alone))
    if nest.accumulator in REORDERED:
        serial = _by_stride(nest, serial)
    return replace(work, nest=replace(nest, loops=(*parallel, *serial)), parallel=parallel, serial=serial)


@dataclass
class Digit:
    """Loops whose strides overlap: their values are multiples of ``unit`` and lie up to ``reach`` apart."""

    loops: list[tuple[Iterator, int]]
    unit: int
    reach: int


def digits(position: Affine, loops: Loops) -> list[Digit]:
    """The loops the position uses, as digits that never meet, by rising stride."""
    used = sorted(
        (abs(factor), place, loop) for place, loop in enumerate(loops) if (factor := stride(position, loop[0]))
    )
    found: list[Digit] = []
    for factor, _, loop in used:
        new = Digit([loop], factor, factor * (loop[1] - 1))
        while found and new.unit < 1 + sum(digit.reach for digit in found):
            lower = found.pop()
            new = Digit([*lower.loops, *new.loops], math.gcd(lower.unit, new.unit), lower.reach + new.reach)
        found.append(new)
    return found


def _by_stride(nest: Nest, loops: Loops) -> Loops:
    """The loops by falling stride in what they read."""
    reads = [offset(load.node, load.index) for load in nest.loads]
    return tuple(sorted(loops, key=lambda loop: -sum(abs(stride(position, loop[0])) for position in reads)))


def _gathered(work: Work) -> Work:
    """The work of a sum, its overlapping digits turned around: a loop over each one's values in their place."""
    for digit in digits(work.nest.target, work.nest.loops):
        if len(digit.loops) > 1:
            work = _turned(work, digit)
    return work


def _turned(work: Work, digit: Digit) -> Work:
    """The digit's longest loop replaced by one over the digit's values, from which its iterator is found."""
    loop = max(digit.loops, key=lambda each: each[1])
    iterator, extent = loop
    factors = {each: stride(work.nest.target, each) for each, _ in digit.loops}
    least = sum(min(0, factors[each]) * (length - 1) for each, length in digit.loops)
    value = Iterator("u")
    reached = affine([(digit.unit, value)], least)
    sign, ratio = (1 if factors[iterator] > 0 else -1), abs(factors[iterator]) // digit.unit
    terms: list[tuple[int, Iterator | Symbol]] = [(sign, value)]
    terms += [(-sign * factors[each] // digit.unit, each) for each in factors if each is not iterator]
    dividend = affine(terms, sign * least // digit.unit)
    work = _storing_at(work, set(factors), reached)
    serial = tuple((value, digit.reach // digit.unit + 1) if each == loop else each for each in work.serial)
    if ratio > 1:
        nest = replace(work.nest, loops=serial)
        return replace(work, nest=nest, serial=serial, solved=(*work.solved, Solved(iterator, dividend, ratio, extent)))
    work = changed(work, substituting({iterator: dividend}), (), serial)
    return replace(work, guards=(*work.guards, (fixed(-1), dividend), (dividend, fixed(extent))))


def _storing_at(work: Work, iterators: Collection[Iterator], reached: Affine) -> Work:
    """The accumulation with what those iterators give of its position replaced by ``reached``, on the last axis."""
    store, accumulator, term = work.nest.store, work.nest.accumulator, work.nest.term
    assert accumulator is not None
    kept = [affine([each for each in entry.terms if each[1] not in iterators], entry.offset) for entry in store.index]
    last = affine([*kept[-1].terms, *reached.terms], kept[-1].offset + reached.offset)
    index = (*kept[:-1], last)
    changed_one = Store(store.node, index, Apply(accumulator, (Load(store.node, index), term)))
    return replace(work, nest=replace(work.nest, store=changed_one))
