"""What a compile refuses of code before placing anything, and what just passes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programs.building import add_to, copy, observed, planned, refusal, spec, store

from counterfoil_reference.programs.checks import index_range
from counterfoil_spec.limits import MAX_FILL
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Constant, Fetch, Fill, Merge, Read, Row
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Projections, affine, at
from counterfoil_spec.programs.symbols import Iterator, Symbol


def refused(*assignments: Assignment) -> tuple[str, dict[str, object]]:
    """The refusal of a routine."""
    return refusal(lambda: planned(*assignments))


def test_a_fill_has_at_most_sixteen_values() -> None:
    """Sixteen values are written into code, seventeen are refused."""
    assert planned(Fetch(Node("n", (MAX_FILL,)), Fill((0,) * MAX_FILL)))
    more = MAX_FILL + 1
    found = refused(Fetch(Node("n", (more,)), Fill((0,) * more)))
    assert found == ("compile/fill-limit", {"node": "n", "size": more, "limit": MAX_FILL})


@pytest.mark.parametrize(
    ("text", "outside"),
    [("i -> i; i=3", None), ("i+1 -> i; i=3", (1, 3)), ("i-1 -> i; i=3", (-1, 1)), ("2*i -> i; i=3", (0, 4)),
     ("2-i -> i; i=3", None), ("3 -> i; i=3", (3, 3))],
)  # fmt: skip
def test_an_operand_is_read_within_its_extent(text: str, outside: tuple[int, int] | None) -> None:
    """An index that leaves the operand's three elements is refused with its range."""
    program = spec(text, observed("n", (3,)), Node("x", (3,)), accumulator="arg2")
    if outside is None:
        assert planned(program)
        return
    low, high = outside
    subjects = {"node": "x", "axis": 0, "low": low, "high": high, "extent": 3}
    assert refused(program) == ("compile/index-range", subjects)


def test_margins_are_read_and_not_written() -> None:
    """Padding widens what an operand's index may reach, by as much as it is; not what a target's may."""
    x = Node("x", (3,), padding=[(1, 2)])
    assert planned(spec("i-1 -> i; i=3", observed("n", (3,)), x, accumulator="arg2"))
    assert planned(spec("i+2 -> i; i=3", observed("n", (3,)), x, accumulator="arg2"))
    assert refused(spec("i-2 -> i; i=3", observed("n", (3,)), x, accumulator="arg2"))[0] == "compile/index-range"
    assert refused(spec("i -> i+1; i=3", x, Node("y", (3,)), accumulator="arg2"))[0] == "compile/index-range"


def test_symbols_reach_as_far_as_their_declared_range() -> None:
    """A bound of 3 fits three elements and 4 does not; an extent reaches its bound; without a range nothing fits."""
    x = Node("x", (3,))
    for symbol, high in ((Symbol("s", 3), None), (Symbol("s", 4), 3), (Symbol("s", 3, extent=True), 3)):
        program = spec("$s -> ", observed("n"), x, accumulator="arg2", symbols={"s": symbol})
        if high is None:
            assert planned(program)
        else:
            assert refused(program)[1]["high"] == high
    free = spec("$s -> ", observed("n"), x, accumulator="arg2", symbols={"s": Symbol("s")})
    assert refused(free)[1] == {"node": "x", "axis": 0, "low": 0, "high": 2**31 - 1, "extent": 3}


def test_loops_without_points_reach_nothing() -> None:
    """An assignment with a loop of extent 0 is not refused for the indices it never computes."""
    i = Iterator("i")
    nothing = Projections(((i, 0),), (at(i),), ((affine([(1, i)], 7),),))
    assert planned(Accumulate(observed("n", (0,)), "arg2", "identity", (Read(Node("x", (2,))),), nothing))


def test_a_view_is_its_parent_at_a_symbol() -> None:
    """A slice view's symbol indexes the parent's leading axis: within it accepted, past it refused, read or written."""
    parent = Node("p", (2, 3))
    for bound, fits in ((2, True), (3, False)):
        row = Node("row", (3,), slice_of=(parent, Symbol("s", bound)))
        programs = [copy(observed("n", (3,)), row), copy(row, Node("x", (3,))), Fetch(row, Constant(1.0))]
        programs += [Fetch(observed("n", (3,)), Row(parent, Symbol("s", bound)))]
        for program in programs:
            if fits:
                assert planned(program)
            else:
                assert refused(program)[1]["node"] == "p"


def test_a_routine_reads_one_merge_buffer() -> None:
    """Two nodes' merge buffers in one routine are refused, named by uid; one read twice is accepted."""
    g, h = Node("g", ()), Node("h", ())
    found = refused(copy(observed("a"), Merge(h)), copy(observed("b"), Merge(g)))
    assert found == ("compile/merge-nodes", {"nodes": ["g", "h"]})
    assert planned(store(observed("a"), "add", Merge(g), Merge(g))).merge is g


def test_an_operand_that_is_not_evaluated_is_no_access() -> None:
    """What arg1 and arg2 do not keep is neither checked nor read, nor is it a merge buffer read."""
    g, h, x = Node("g", (2,)), Node("h", (2,)), Node("x", (2,))
    i = Iterator("i")
    index = (at(i),)
    astray = Projections(((i, 2),), index, ((affine([(1, i)], 5),), index))
    plan = planned(
        Accumulate(observed("a", (2,)), "arg2", "arg2", (Read(h), Read(x)), astray),
        Accumulate(observed("b", (2,)), "arg2", "arg2", (Merge(h), Merge(g)), astray),
    )
    assert plan.read_only == (x,) and plan.merge is g and h not in plan.decisions.placements


def test_each_check_goes_over_the_whole_code_before_the_next() -> None:
    """A fill too long is told before an index out of range that comes first; two merge buffers come last."""
    x, y = Node("x", (2,)), Node("y", (17,))
    astray = spec("i+1 -> i; i=2", observed("n", (2,)), x, accumulator="arg2")
    merging = [copy(observed("a", (2,)), Merge(x)), copy(observed("b", (17,)), Merge(y))]
    rules = [refused(*merging, astray, Fetch(y, Fill((0,) * 17)))[0], refused(*merging, astray)[0]]
    assert rules == ["compile/fill-limit", "compile/index-range"]


def test_the_target_is_looked_at_before_the_operands() -> None:
    """Where both leave their node, the target is named."""
    both = spec("i+1 -> i+1; i=2", observed("n", (2,)), Node("x", (2,)), accumulator="arg2")
    assert refused(both)[1]["node"] == "n"


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), max_size=3),
    st.integers(-4, 4),
)
def test_an_index_range_is_that_of_its_values(terms: Sequence[tuple[int, int]], start: int) -> None:
    """The range is exactly the least and greatest value over all loops."""
    loops = {Iterator(f"i{place}"): extent for place, (_, extent) in enumerate(terms)}
    index = affine([(factor, loop) for (factor, _), loop in zip(terms, loops, strict=True)], start)
    values = {start}
    for factor, extent in terms:
        values = {value + factor * step for value in values for step in range(extent)}
    assert index_range(index, loops) == (min(values), max(values), True)


def test_an_accumulation_is_checked_like_a_store() -> None:
    """Nothing about the accumulator changes what an index may reach."""
    assert planned(add_to(observed("n", (2,)), Node("x", (2,))))
    wide = spec("i+1 -> i; i=2", observed("n", (2,)), Node("x", (2,)), initialize=False)
    assert refused(wide)[0] == "compile/index-range"
