"""Comps: code with what it owns, contributes, resets and requires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from counterfoil_spec.arguments import instance, integer, within
from counterfoil_spec.arguments import sequence as sequence_of
from counterfoil_spec.limits import MAX_ELEMENTS
from counterfoil_spec.programs.assignments import NOTHING, Code, block, in_sequence, instance_of_code
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse, shown


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

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type, arguments/not-integer and arguments/integer-range (an allowance)."""
        instance_of_code(self.code)
        for name in ("embedded", "accumulates", "zeroes"):
            object.__setattr__(self, name, by_uid(sequence_of(name, getattr(self, name), Node)))
        for name in ("owned", "requires"):
            object.__setattr__(self, name, sequence_of(name, getattr(self, name), Fragment))
        object.__setattr__(self, "allowances", MappingProxyType(_allowances(self.allowances)))

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


def _allowances(given: Mapping[Node, int]) -> dict[Node, int]:
    if not isinstance(given, Mapping):
        raise refuse("arguments/wrong-type", argument="allowances", expected="a mapping", value=shown(given))
    return {
        instance("allowances", node, Node): within("allowances", integer("allowances", runs), 0, MAX_ELEMENTS)
        for node, runs in given.items()
    }


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
    owned, requires = sequence_of("owned", owned, Fragment), sequence_of("requires", requires, Fragment)
    needed = dict.fromkeys(fragment for fragment in requires if fragment not in owned and not fragment.empty)
    return Comp(
        code,
        sequence_of("embedded", embedded, Node),
        owned,
        sequence_of("accumulates", accumulates, Node),
        sequence_of("zeroes", zeroes, Node),
        {} if allowances is None else allowances,
        tuple(needed),
    )


def sequence(*comps: Comp) -> Comp:
    """The comps one after the other: unions, what is owned as a multiset, the least allowance per gradient (C4)."""
    allowances: dict[Node, int] = {}
    for each in sequence_of("comps", comps, Comp):
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
