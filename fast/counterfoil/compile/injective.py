"""How an index maps the points of loops to elements: one to one, or onto a whole node (docs/contexts.md section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Extent, Index, greatest_extent
from counterfoil_spec.programs.symbols import Iterator

Product = Sequence[tuple[Iterator, Extent]]


def is_injective(index: Index, product: Product) -> bool:
    """Whether no two points of the product reach one element, by the mixed-radix test; symbols are constants."""
    open_loops = {iterator: extent for iterator, extent in _extents(product) if extent > 1}
    progress = True
    while open_loops and progress:
        progress = False
        for entry in index:
            found = [(abs(factor), loop) for factor, loop in entry.terms
                     if isinstance(loop, Iterator) and loop in open_loops]  # fmt: skip
            if found and _radices_separate(found, open_loops):
                for _, loop in found:
                    del open_loops[loop]
                progress = True
    return not open_loops


def is_onto(node: Node, index: Index, product: Product) -> bool:
    """Whether each axis is a plain iterator, all different, of the axis's extent, or 0 on an axis of extent 1."""
    extents = dict(_extents(product))
    used: set[object] = set()
    for entry, extent in zip(index, node.shape, strict=True):
        loop = plain_iterator(entry)
        if loop is None:
            if entry.terms or entry.offset or extent != 1:
                return False
        elif loop in used or extents.get(loop) != extent:
            return False
        used.add(loop if loop is not None else entry)
    return True


def plain_iterator(entry: Affine) -> Iterator | None:
    """The iterator that the index is, None for any other index."""
    if len(entry.terms) != 1 or entry.offset or entry.terms[0][0] != 1:
        return None
    variable = entry.terms[0][1]
    return variable if isinstance(variable, Iterator) else None


def _extents(product: Product) -> list[tuple[Iterator, int]]:
    return [(iterator, greatest_extent(extent)) for iterator, extent in product]


def _radices_separate(found: list[tuple[int, Iterator]], extents: dict[Iterator, int]) -> bool:
    reach = 0
    for factor, loop in sorted(found, key=lambda pair: pair[0]):
        if factor < 1 + reach:
            return False
        reach += factor * (extents[loop] - 1)
    return True
