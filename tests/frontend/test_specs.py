"""Projections from text and from broadcasting."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Index, Projections
from counterfoil_spec.programs.specs import parse, pointwise, target_shape
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import Refusal

EXTENTS = {"a": 2, "b": 3, "c": 4, "d": 5}


def shown(projections: Projections) -> tuple[list[tuple[str, object]], list[str]]:
    """Loops and indices as texts."""
    product = [(loop.label, extent) for loop, extent in projections.product]
    return product, [str(list(index)) for index in (projections.target, *projections.operands)]


def node(shape: tuple[int, ...], **more: object) -> Node:
    """A node of that shape."""
    return Node("n", shape, **more)  # type: ignore[arg-type]


def test_loops_follow_the_target_then_appearance() -> None:
    """Target's iterators in target order, reductions in order of appearance."""
    found = parse("k i, j k -> j i", node((3, 2)), [node((4, 2)), node((3, 4))])
    assert shown(found) == ([("j", 3), ("i", 2), ("k", 4)], ["[j, i]", "[k, i]", "[j, k]"])


def test_a_word_of_letters_has_one_axis_per_letter() -> None:
    """ "ij,jk->ik" says the same as with blanks; a word with anything else in it is one axis."""
    shapes = [node((2, 4)), [node((2, 3)), node((3, 4))]]
    assert shown(parse("ij,jk->ik", *shapes)) == shown(parse("i j, j k -> i k", *shapes))  # type: ignore[arg-type]
    assert shown(parse("i0->i0", node((2,)), [node((2,))])) == ([("i0", 2)], ["[i0]", "[i0]"])


def test_affine_axes() -> None:
    """Factors, signs, offsets and static symbols add up; like terms are one."""
    s = Symbol("s", 4)
    found = parse("2*i-k+$s+1 i+i-i, k -> i", node((3,)), [node((9, 3)), node((2,))], {"s": s})
    assert shown(found)[1] == ["[i]", "[$s + 2*i + -1*k + 1, i]", "[k]"]
    assert shown(parse("-1+i, -> i", node((3,)), [node((3,)), node(())]))[1] == ["[i]", "[i + -1]", "[]"]


def test_extents_are_declared_where_no_axis_tells_them() -> None:
    """An iterator that nowhere stands alone; a symbolic extent, at most the axis it stands on."""
    assert shown(parse("i+k -> ; i=3, k=2", node(()), [node((4,))]))[0] == [("i", 3), ("k", 2)]
    n = Symbol("n", 3, extent=True)
    found = parse("i -> i; i=$n", node((3,)), [node((4,))], {"n": n})
    assert found.product[0][1] is n


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("i", "it has no one ->"),
        ("i->i->i", "it has no one ->"),
        ("i,i->i", "2 operands for 1"),
        ("i+k->i", "k has no extent"),
        ("i -> j+j", "j has no extent"),
        ("i.j -> i", "'i.j' is no sum of iterators, $symbols and integers"),
        ("2i -> i", "'2i' is no sum of iterators, $symbols and integers"),
        ("i*2 -> i", "'i*2' is no sum of iterators, $symbols and integers"),
        ("i+$s -> i", "$s is no symbol given"),
        ("i -> i; i", "'i' declares no extent"),
        ("i -> i; i=2 i=3", "'i=3' declares no extent"),
        ("i -> i; j=2", "j is no iterator of it"),
        ("i -> i; i=4", "i runs over 4 and 3"),
        ("i -> i; i=$t", "$t is no extent"),
        ("i -> i; i=$n", "i runs over $n and 3"),
    ],
)
def test_refused_texts(spec: str, why: str) -> None:
    """programs/spec says what is wrong."""
    symbols = {"t": Symbol("t", 3), "n": Symbol("n", 4, extent=True)}
    with pytest.raises(Refusal) as caught:
        parse(spec, node((3,)), [node((3,))], symbols)
    assert (caught.value.rule, caught.value.subjects["why"]) == ("programs/spec", why)


@pytest.mark.parametrize(("spec", "indices"), [("i j -> i", 2), ("-> i", 0)])
def test_one_index_per_axis(spec: str, indices: int) -> None:
    """compile/shape-mismatch names the node and the numbers."""
    with pytest.raises(Refusal) as caught:
        parse(spec, node((3,)), [node((3,))])
    assert caught.value.rule == "compile/shape-mismatch"
    assert caught.value.subjects == {"node": "n", "rank": 1, "indices": indices}


def test_target_shapes() -> None:
    """A result's axes: alone on an operand, declared, or as far as the one open axis reaches, margins included."""
    assert target_shape("ij,jk->ik", [node((2, 3)), node((3, 4))]) == (2, 4)
    assert target_shape("2*i+k, k -> i 0", [node((7,)), node((3,))]) == (3, 1)
    assert target_shape("i+k-1, k -> i", [node((4,), padding=[(1, 1)]), node((3,))]) == (4,)
    assert target_shape("i+k -> i; k=2", [node((5,))]) == (4,)
    assert target_shape("i+k -> i; k=9", [node((5,))]) == (0,)
    for spec in ("i+j -> i", "i -> 2*i", "i -> j"):
        with pytest.raises(Refusal) as caught:
            target_shape(spec, [node((4,))])
        assert caught.value.rule == "programs/spec"


letters = st.lists(st.sampled_from(sorted(EXTENTS)), max_size=3)


@given(st.lists(letters, min_size=1, max_size=3), letters)
def test_every_index_is_inside_its_axis(operands: list[list[str]], target: list[str]) -> None:
    """Whatever the letters: each point of the product reaches an element of every node, and each index is its letter's
    loop; the text with blanks and that with letters say the same."""
    sides = [target, *operands]
    nodes = [node(tuple(EXTENTS[letter] for letter in side)) for side in sides]
    text = ",".join(" ".join(side) for side in operands) + "->" + " ".join(target)
    tight = ",".join("".join(side) for side in operands) + "->" + "".join(target)
    found = parse(text, nodes[0], nodes[1:])
    assert shown(parse(tight, nodes[0], nodes[1:])) == shown(found)
    assert {loop.label for loop, _ in found.product} == {letter for side in sides for letter in side}
    for point in itertools.product(*(range(EXTENTS[loop.label]) for loop, _ in found.product)):
        at = dict(zip((loop for loop, _ in found.product), point, strict=True))
        letter_at = {loop.label: value for loop, value in at.items()}
        for side, index in zip(sides, (found.target, *found.operands), strict=True):
            assert position(index, at) == tuple(letter_at[letter] for letter in side)


shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@given(shapes, st.data())
def test_pointwise_broadcasts_as_numpy(shape: tuple[int, ...], data: st.DataObject) -> None:
    """Operands made by dropping leading axes and setting others to 1 are read where numpy reads them."""
    operands = []
    for _ in range(data.draw(st.integers(0, 3))):
        tail = shape[data.draw(st.integers(0, len(shape))) :]
        operands.append(node(tuple(1 if data.draw(st.booleans()) else extent for extent in tail)))
    found = pointwise(node(shape), operands)
    assert [extent for _, extent in found.product] == [extent for extent in shape if extent != 1]
    for point in itertools.product(*map(range, shape)):
        moving = (place for place, extent in zip(point, shape, strict=True) if extent != 1)
        at = {loop: place for (loop, _), place in zip(found.product, moving, strict=True)}
        assert position(found.target, at) == point
        for operand, index in zip(operands, found.operands, strict=True):
            tail_point = point[len(shape) - operand.rank :]
            expected = tuple(
                0 if extent == 1 else place for place, extent in zip(tail_point, operand.shape, strict=True)
            )
            assert position(index, at) == expected


@given(shapes, shapes)
def test_pointwise_refuses_what_does_not_broadcast(target: tuple[int, ...], operand: tuple[int, ...]) -> None:
    """frontend/shapes, exactly where an operand axis is neither 1 nor the target's."""
    fits = len(operand) <= len(target) and all(
        extent in (1, long) for extent, long in zip(reversed(operand), reversed(target), strict=False)
    )
    if fits:
        pointwise(node(target), [node(operand)])
        return
    with pytest.raises(Refusal) as caught:
        pointwise(node(target), [node(operand)])
    assert caught.value.rule == "frontend/shapes"
    assert caught.value.subjects == {"operation": "pointwise", "shapes": [list(target), list(operand)]}


def position(index: Index, at: dict[Iterator, int]) -> tuple[int, ...]:
    """Where an index points at a point of the loops."""
    return tuple(sum(factor * at[variable] for factor, variable in axis.terms) + axis.offset for axis in index)  # type: ignore[index]
