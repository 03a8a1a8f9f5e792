"""Comps: code with what it owns, contributes, resets and requires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from counterfoil_spec.programs.assignments import NOTHING, Code, block, in_sequence
from counterfoil_spec.programs.nodes import Node


@dataclass(frozen=True, slots=True)
class Fragment:
    """The code a tensor contributes once to a computation: its forward code, or the backprop from its gradient.

    Identified by tensor and kind. ``gradient`` is the node a backprop fragment propagates from. An ``empty`` one (of a
    leaf) propagates nothing and is never required.
    """

    tensor: int
    kind: Literal["forward", "backprop"]
    label: str = field(compare=False)
    gradient: Node | None = field(default=None, compare=False)
    empty: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.kind} of {self.label}"


@dataclass(frozen=True)
class Comp:
    """A computation that can be compiled.

    ``embedded``: the nodes it may allocate. ``owned``: the fragments whose code it holds, a multiset. ``accumulates``:
    gradients its tensor-generated backprop adds into. ``zeroes``: gradients its tensor-generated zeroing resets.
    ``allowances``: runs per reset for a gradient (1 where none is given). ``requires``: backprop fragments its gradient
    writes flow into and that it does not own. Nodes are kept without repetition, in the order of their uids.
    """

    code: Code = NOTHING
    embedded: tuple[Node, ...] = ()
    owned: tuple[Fragment, ...] = ()
    accumulates: tuple[Node, ...] = ()
    zeroes: tuple[Node, ...] = ()
    allowances: Mapping[Node, int] = field(default_factory=lambda: MappingProxyType({}))
    requires: tuple[Fragment, ...] = ()

    @property
    def unreset(self) -> tuple[Node, ...]:
        """The gradients it accumulates and does not zero."""
        return tuple(node for node in self.accumulates if node not in self.zeroes)

    @property
    def accumulation_runs(self) -> int:
        """Runs per reset: the least allowance over the gradients it does not zero itself, 1 if none (C4)."""
        return min((self.allowance(node) for node in self.unreset), default=1)

    def allowance(self, gradient: Node) -> int:
        """Runs per reset allowed for one gradient."""
        return self.allowances.get(gradient, 1)

    def named(self, label: str) -> Comp:
        """The same comp with its code under a label."""
        return Comp(block(label, self.code), self.embedded, self.owned, self.accumulates, self.zeroes, self.allowances,
                    self.requires)  # fmt: skip


def comp(
    code: Code = NOTHING,
    embedded: Iterable[Node] = (),
    owned: Iterable[Fragment] = (),
    accumulates: Iterable[Node] = (),
    zeroes: Iterable[Node] = (),
    allowances: Mapping[Node, int] | None = None,
    requires: Iterable[Fragment] = (),
) -> Comp:
    """A comp with its sets in canonical order; what it owns is left out of what it requires, as is the empty (C2)."""
    owned = tuple(owned)
    needed = dict.fromkeys(fragment for fragment in requires if fragment not in owned and not fragment.empty)
    return Comp(code, by_uid(embedded), owned, by_uid(accumulates), by_uid(zeroes),
                MappingProxyType(dict(allowances or {})), tuple(needed))  # fmt: skip


def sequence(*comps: Comp) -> Comp:
    """The comps one after the other: unions, what is owned as a multiset, the least allowance per gradient (C4)."""
    allowances: dict[Node, int] = {}
    for each in comps:
        for gradient in each.accumulates:
            allowances[gradient] = min(each.allowance(gradient), allowances.get(gradient, each.allowance(gradient)))
    return comp(
        in_sequence(*(each.code for each in comps)),
        [node for each in comps for node in each.embedded],
        [fragment for each in comps for fragment in each.owned],
        [node for each in comps for node in each.accumulates],
        [node for each in comps for node in each.zeroes],
        allowances,
        [fragment for each in comps for fragment in each.requires],
    )


def by_uid(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Nodes without repetition, in the order of their uids: the order of a routine's arguments."""
    return tuple(sorted(set(nodes), key=lambda node: node.uid))
