"""Injective maps and definite writes, against all points of small products."""

import itertools
from collections.abc import Iterator as Walk

from hypothesis import given
from hypothesis import strategies as st
from tests.programs.building import Drawn, programs

from counterfoil_reference.programs.coverage import is_definite, reads_target_first
from counterfoil_reference.programs.definitions import kept
from counterfoil_reference.programs.injective import is_injective, is_onto
from counterfoil_reference.programs.interpreter import points
from counterfoil_reference.programs.memory import indexed
from counterfoil_reference.programs.views import Patch, steps_of
from counterfoil_spec.programs.assignments import Accumulate
from counterfoil_spec.programs.assignments import Sequence as Code
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, affine, at
from counterfoil_spec.programs.symbols import Iterator, Symbol

Product = tuple[tuple[Iterator, int], ...]


@st.composite
def maps(draw: st.DrawFn) -> tuple[tuple[Affine, ...], Product]:
    """An index of up to three axes over up to three loops."""
    loops = [(Iterator(f"i{place}"), draw(st.integers(0, 4))) for place in range(draw(st.integers(0, 3)))]
    index = []
    for _ in range(draw(st.integers(0, 3))):
        terms = [(draw(st.integers(-5, 5)), iterator) for iterator, _ in loops if draw(st.booleans())]
        index.append(affine(terms, draw(st.integers(-2, 2))))
    return tuple(index), tuple(loops)


def reached(index: tuple[Affine, ...], product: Product) -> list[tuple[int, ...]]:
    """The element each point of the product reaches."""
    return [indexed(index, environment) for environment in points(product, {})]


@given(maps())
def test_what_is_called_injective_is(drawn: tuple[tuple[Affine, ...], Product]) -> None:
    """No two points of the product of an injective index reach one element."""
    index, product = drawn
    found = reached(index, product)
    assert not is_injective(index, product) or len(set(found)) == len(found)


@given(maps())
def test_plain_iterators_are_injective_iff_every_long_loop_is_used(drawn: tuple[tuple[Affine, ...], Product]) -> None:
    """For axes that are single iterators the test is exact."""
    _, product = drawn
    index = tuple(at(iterator) for iterator, _ in product[:2])
    found = reached(index, product)
    if 0 not in (extent for _, extent in product):
        assert is_injective(index, product) == (len(set(found)) == len(found))


def test_mixed_radix_is_seen() -> None:
    """``2*i + j`` over j < 2 is injective, over j < 3 it is not; a resolved iterator helps the other axes."""
    i, j = Iterator("i"), Iterator("j")
    index = (affine([(2, i), (1, j)]),)
    assert is_injective(index, ((i, 5), (j, 2))) and not is_injective(index, ((i, 5), (j, 3)))
    assert is_injective((affine([(1, i), (1, j)]), at(j)), ((i, 5), (j, 3)))


@given(maps(), st.lists(st.integers(0, 4), max_size=3))
def test_a_map_onto_a_node_reaches_each_element(drawn: tuple[tuple[Affine, ...], Product], shape: list[int]) -> None:
    """A one-to-one map onto a node reaches every element and none outside, once per point of the further loops."""
    index, product = drawn
    node = Node("n", shape)
    if len(index) != node.rank or not is_onto(node, index, product):
        return
    used = {iterator for axis in index for iterator in axis.iterators}
    own = tuple(loop for loop in product if loop[0] in used)
    assert sorted(reached(index, own)) == list(itertools.product(*map(range, shape)))


@given(programs())
def test_a_definite_write_writes_every_element(drawn: Drawn) -> None:
    """Whatever the symbols' values, the points of a definite step reach all of its target."""
    for step in steps_of(Code(tuple(itertools.chain(*drawn.routines)))):
        if is_definite(step):
            for bindings in all_bindings(list(drawn.bindings)):
                assert written_elements(step, bindings) == set(itertools.product(*map(range, step.target.shape)))


def all_bindings(symbols: list[Symbol]) -> Walk[dict[Symbol, int]]:
    """Every admitted value of every symbol."""
    for values in itertools.product(*(range((symbol.greatest or 0) + 1) for symbol in symbols)):
        yield dict(zip(symbols, values, strict=True))


def written_elements(step: object, bindings: dict[Symbol, int]) -> set[tuple[int, ...]]:
    """The elements of its target that a step stores to."""
    assert not isinstance(step, Patch)
    if not isinstance(step, Accumulate) or step.initialize:
        return set(itertools.product(*map(range, step.target.shape)))  # type: ignore[attr-defined]
    return {indexed(step.projections.target, at_point) for at_point in points(step.projections.product, bindings)}


@given(programs())
def test_kept_setters_begin_where_nothing_earlier_matters(drawn: Drawn) -> None:
    """The setters kept are the last of all, from a definite one that does not read its target, if there is one."""
    for node in drawn.nodes:
        steps = steps_of(Code(tuple(itertools.chain(*drawn.routines))))
        writes = [step for step in steps if step.target is node and not isinstance(step, Patch)]
        found = kept(writes)
        assert found == tuple(writes[len(writes) - len(found) :])
        fresh = [write for write in writes if is_definite(write) and not reads_target_first(write)]
        assert not fresh or found[0] == fresh[-1]
        assert fresh or found == tuple(writes)
