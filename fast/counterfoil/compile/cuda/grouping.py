"""Works that one kernel carries out: a first one, and what follows it at the same points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil.compile.cuda.items import Item, are_independent
from counterfoil.compile.cuda.rows import SHORT, in_rows
from counterfoil.compile.cuda.work import Work, joined
from counterfoil.compile.nests import touched
from counterfoil_spec.programs.loops import Statement
from counterfoil_spec.programs.nodes import Node

ALONE: Final = 64
"""A single thread takes no longer work besides."""

MOST_NODES: Final = 96
"""Nodes of one kernel: its parameters are few."""

FAR: Final = 32
"""How many kernels back one is looked for."""

Group = list[Work] | list[Statement]
"""Works over the same parallel loops, the first of any kind; or statements that one thread carries out."""


@dataclass
class _Draft:
    """A kernel so far: its items, the nodes they touch, and those they may store to."""

    items: list[Item]
    touched: set[Node]
    stored: set[Node]

    @property
    def works(self) -> list[Work]:
        return [item for item in self.items if isinstance(item, Work)]

    def become(self, items: list[Item]) -> None:
        """The items it has now, the last one new."""
        self.items = items
        self.touched = self.touched | _touched(items[-1])
        self.stored = self.stored | _stored(items[-1])


def groups(items: Iterable[Item]) -> list[Group]:
    """The items in kernels: each in the latest one it may follow in, unless something between them is in its way."""
    found: list[_Draft] = []
    for item in items:
        mine, stored = _touched(item), _stored(item)
        for place, draft in enumerate(reversed(found[-FAR:])):
            grown = _grown(draft, item, place == 0)
            if grown is not None:
                draft.become(grown)
                break
            if mine & draft.stored or stored & draft.touched:
                found.append(_Draft([item], mine, stored))
                break
        else:
            found.append(_Draft([item], mine, stored))
    return [_joined(draft) for draft in found]


def _joined(draft: _Draft) -> Group:
    works = draft.works
    return joined(works) if works else [item for item in draft.items if not isinstance(item, Work)]


def _grown(draft: _Draft, item: Item, is_last: bool) -> list[Item] | None:
    """The kernel's items with one more, None where it may not follow there."""
    works = draft.works
    if not isinstance(item, Work):
        return [*draft.items, item] if is_last and not works else None
    if not works or len(draft.touched | _touched(item)) > MOST_NODES:
        return None
    followed = _followed(works, item)
    if followed is not None:
        return [*works, followed]
    rows = in_rows(works, item)
    return None if rows is None else [*rows]


def _touched(item: Item) -> set[Node]:
    return touched(item.nest if isinstance(item, Work) else item)


def _stored(item: Item) -> set[Node]:
    return {item.nest.node} if isinstance(item, Work) else touched(item)


def _followed(group: Sequence[Work], work: Work) -> Work | None:
    """The work over the loops of the group, None where that would change what is computed."""
    first = group[0]
    if not _may_follow(work) or first.outside:
        return None
    if [extent for _, extent in work.parallel] != [extent for _, extent in first.parallel]:
        return None
    bindings = {mine: theirs for (mine, _), (theirs, _) in zip(work.parallel, first.parallel, strict=True)}
    renamed = work.renamed(dict(bindings), first.parallel, work.serial)
    if first.threads > 1 and not all(are_independent(earlier, renamed) for earlier in group):
        return None
    return renamed


def _may_follow(work: Work) -> bool:
    if work.is_map:
        return True
    return work.terms <= (ALONE if work.threads == 1 else SHORT)
