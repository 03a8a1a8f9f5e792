"""Which index maps are one-to-one: for counting visits, for definite writes, and for inlining."""

from __future__ import annotations

from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Extent, Index, fixed, greatest_extent
from counterfoil_spec.programs.symbols import Iterator, Symbol

Product = tuple[tuple[Iterator, Extent], ...]


def is_injective(index: Index, product: Product) -> bool:
    """Whether the mixed-radix test shows that no two points of the product reach one element.

    Loops of extent at most 1 are left out. An axis resolves its unresolved iterators if, from the smallest coefficient
    on, each exceeds all that the smaller ones can add up to; that is repeated until nothing changes.
    """
    extents = {iterator: greatest_extent(extent) for iterator, extent in product if greatest_extent(extent) > 1}
    unresolved = set(extents)
    changed = True
    while changed:
        changed = False
        for axis in index:
            mine = [(factor, v) for factor, v in axis.terms if isinstance(v, Iterator) and v in unresolved]
            terms = [(abs(factor), extents[v]) for factor, v in mine]
            if terms and _is_mixed_radix(terms):
                unresolved.difference_update(axis.iterators)
                changed = True
    return not unresolved


def _is_mixed_radix(terms: list[tuple[int, int]]) -> bool:
    reach = 0
    for factor, extent in sorted(terms):
        if factor < 1 + reach:
            return False
        reach += factor * (extent - 1)
    return True


def is_onto(node: Node, index: Index, product: Product) -> bool:
    """Whether an index is a one-to-one map onto the node's elements, by its form.

    Each axis is a plain iterator, all different, over the axis's extent, or the fixed 0 on an axis of extent 1.
    """
    extents = dict(product)
    used: set[Iterator] = set()
    for axis, extent in zip(index, node.shape, strict=True):
        if extent == 1 and axis == fixed(0):
            continue
        iterator = plain_iterator(axis)
        if iterator is None or iterator in used or greatest_extent(extents[iterator]) != extent:
            return False
        used.add(iterator)
    return True


def plain_iterator(axis: Affine) -> Iterator | None:
    """The iterator that an axis index is, or None."""
    if len(axis.terms) == 1 and axis.offset == 0 and axis.terms[0][0] == 1:
        variable = axis.terms[0][1]
        return variable if isinstance(variable, Iterator) else None
    return None


def further_loops(index: Index, product: Product) -> Product:
    """The loops an index does not use."""
    used = {iterator for axis in index for iterator in axis.iterators}
    return tuple((iterator, extent) for iterator, extent in product if iterator not in used)


def has_symbolic_extent(product: Product) -> bool:
    """Whether some loop goes as far as a symbol says."""
    return any(isinstance(extent, Symbol) for _, extent in product)
