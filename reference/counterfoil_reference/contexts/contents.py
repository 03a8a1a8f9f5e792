"""Values in a node's buffer: literals, margins and uploads become codes, codes become values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from counterfoil_reference import elements, numbers
from counterfoil_reference.arrays import Array
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.programs.nodes import Node

Shape = tuple[int, ...]


def code_of_number(dtype: Dtype, value: float) -> int:
    """The code of a literal's or a margin's number by the store rule: an integer dtype saturates."""
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        whole = numbers.of_float(dtype, value) if isinstance(value, float) else value
        assert isinstance(whole, int)
        return numbers.saturated_code(dtype, int(whole))
    return numbers.code_of_value(dtype, float(value) if isinstance(value, bool) else value)


def interior(node: Node) -> Iterator[Shape]:
    """The indices of the padded array that are not in a margin, in C order of the unpadded shape."""
    for index in elements.indices(node.shape):
        yield tuple(i + left for i, (left, _) in zip(index, node.padding, strict=True))


def in_margin(node: Node, index: Shape) -> bool:
    """Whether an index of the padded array lies in a margin."""
    sides = zip(index, node.shape, node.padding, strict=True)
    return any(not left <= i < left + extent for i, extent, (left, _) in sides)


def fill_margins(array: Array, node: Node) -> None:
    """Store the margin's value everywhere outside the unpadded shape."""
    if not node.is_padded:
        return
    code = code_of_number(node.dtype, node.margin)
    for index in elements.indices(node.dims):
        if in_margin(node, index):
            elements.store_code(array, index, code)


def store_interior(array: Array, node: Node, codes: Sequence[int]) -> None:
    """Store one code per element of the unpadded shape, in C order."""
    for index, code in zip(interior(node), codes, strict=True):
        elements.store_code(array, index, code)


def interior_codes(array: Array, node: Node) -> list[int]:
    """The codes of the unpadded shape, in C order."""
    return [elements.load_code(array, index) for index in interior(node)]


def store_literal(array: Array, node: Node) -> None:
    """Store the node's host initialization data; the margins are there."""
    assert node.literal is not None
    store_interior(array, node, [code_of_number(node.dtype, value) for value in node.literal])


def values(array: Array) -> list[Any]:
    """All elements of the padded array, as they are, with no wait and no claim."""
    return [numbers.value_of_code(array.dtype, code) for code in elements.codes(array)]


def store_values(array: Array, stored: Sequence[Any]) -> None:
    """Replace the elements that differ from those there: a NaN nobody wrote keeps its bits."""
    for index, value in zip(elements.indices(array.shape), stored, strict=True):
        code = numbers.code_of_value(array.dtype, value)
        there = numbers.value_of_code(array.dtype, elements.load_code(array, index))
        if code != numbers.code_of_value(array.dtype, there):
            elements.store_code(array, index, code)
