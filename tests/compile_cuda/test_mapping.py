"""Loops shared out among threads: no two threads at one element, no point lost, by brute force over small nests."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator as Walk

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.compile.cuda.mapping import digits, mapped
from counterfoil.compile.cuda.strategy import parted
from counterfoil.compile.cuda.work import Work
from counterfoil.compile.nests import Loops, Nest
from counterfoil_spec.programs.loops import Apply, Load, Store
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, affine, at
from counterfoil_spec.programs.symbols import Iterator

Point = dict[Iterator, int]


def value(entry: Affine, point: Point) -> int:
    """An affine form at a point."""
    return entry.offset + sum(factor * point[it] for factor, it in entry.terms if isinstance(it, Iterator))


def points(loops: Loops) -> Walk[Point]:
    """All points of the loops, in order."""
    names = [iterator for iterator, _ in loops]
    for values in itertools.product(*(range(extent) for _, extent in loops)):
        yield dict(zip(names, values, strict=True))


def carried_out(work: Work, thread: Point) -> Walk[Point]:
    """The points a thread carries out, its solved iterators found."""
    for inner in points(work.serial):
        point = {**thread, **inner}
        for each in work.solved:
            whole, rest = divmod(value(each.dividend, point), each.divisor)
            if rest or not 0 <= whole < each.extent:
                break
            point[each.iterator] = whole
        else:
            if all(value(left, point) < value(right, point) for left, right in work.guards):
                yield point


@st.composite
def accumulations(draw: st.DrawFn) -> Nest:
    """A sum over up to four loops into a vector, at positions that may overlap in any way; the terms' load tells the
    loops' values apart."""
    extents = draw(st.lists(st.integers(2, 5), min_size=1, max_size=4))
    loops = tuple((Iterator(f"i{place}"), extent) for place, extent in enumerate(extents))
    factors = [draw(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 12, -1, -2, -4])) for _ in loops]
    least = sum(min(0, factor) * (extent - 1) for factor, extent in zip(factors, extents, strict=True))
    most = sum(max(0, factor) * (extent - 1) for factor, extent in zip(factors, extents, strict=True))
    target, source = Node("target", (most - least + 1,)), Node("source", extents)
    index = (affine([(factor, it) for factor, (it, _) in zip(factors, loops, strict=True)], -least),)
    load = Load(source, tuple(at(iterator) for iterator, _ in loops))
    accumulator = draw(st.sampled_from(["add", "max", "or"]))
    return Nest(loops, Store(target, index, Apply(accumulator, (Load(target, index), load))))


def reached(work: Work, point: Point) -> tuple[int, tuple[int, ...]]:
    """Where a point stores, and what it loads."""
    (load,) = work.nest.loads
    return value(work.nest.target, point), tuple(value(entry, point) for entry in load.index)


@given(accumulations())
def test_threads_have_elements_of_their_own_and_lose_no_point(nest: Nest) -> None:
    """Each element belongs to one thread, and what is combined into it is what the nest combined."""
    work = mapped(nest, ())
    plain = Work(nest, (), nest.loops)
    wanted = Counter(reached(plain, point) for point in points(nest.loops))
    owners: dict[int, int] = {}
    found: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for number, thread in enumerate(points(work.parallel)):
        for point in carried_out(work, thread):
            position, loaded = reached(work, point)
            assert owners.setdefault(position, number) == number
            found[position, loaded] += 1
    assert found == wanted


@given(accumulations())
def test_what_has_no_point_is_inside_the_node_and_has_one_thread(nest: Nest) -> None:
    """A thread that holds an element in a register writes it once, inside the buffer, whether or not a point reaches
    it."""
    work = mapped(nest, ())
    if not work.accumulates:
        return
    positions = [value(work.nest.target, thread) for thread in points(work.parallel)]
    assert len(set(positions)) == len(positions)
    assert all(0 <= position < nest.node.size for position in positions)


@given(accumulations())
def test_loops_that_differ_in_a_digit_differ_in_position(nest: Nest) -> None:
    """Digits read positions as mixed radices: other values of them are another position."""
    found = digits(nest.target, nest.loops)
    seen: dict[int, tuple[int, ...]] = {}
    for point in points(nest.loops):
        parts = tuple(
            sum(factor * point[it] for factor, it in nest.target.terms if any(it is loop for loop, _ in digit.loops)
                and isinstance(it, Iterator))
            for digit in found
        )  # fmt: skip
        assert seen.setdefault(value(nest.target, point), parts) == parts


def test_a_long_sum_is_cut_into_parts_that_lose_no_term() -> None:
    """Every term of a sum of odd length is in one part, and every part is added up."""
    loops = ((Iterator("i"), 3), (Iterator("j"), 40009))
    target, source = Node("target", (3,)), Node("source", (3, 40009))
    index = (at(loops[0][0]),)
    load = Load(source, tuple(at(iterator) for iterator, _ in loops))
    first, second = parted(mapped(Nest(loops, Store(target, index, Apply("add", (Load(target, index), load)))), ()))
    terms = Counter(
        reached(first, point)[1] for thread in points(first.parallel) for point in carried_out(first, thread)
    )
    assert len(terms) == 3 * 40009 and set(terms.values()) == {1}
    assert first.nest.node.size == second.nest.points == first.threads
