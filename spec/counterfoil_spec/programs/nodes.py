"""Tensor nodes: the identity of an array in programs. A node owns no data."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Sequence
from typing import Final, cast

from counterfoil_spec.arguments import instance, integers, number, read, text
from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64
from counterfoil_spec.limits import MAX_ELEMENTS, MAX_RANK
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse, shown

PROGRAM_DTYPES: Final = (float32, float64, int32, int64)
"""The dtypes that nodes of programs take."""

_uids: Final = itertools.count()

_IDENTITY: Final = frozenset({"label", "dtype", "shape", "padding", "margin", "literal", "slice_of", "uid"})
"""What a node is, from its beginning on."""


class Intent(enum.Enum):
    """What a node's declarations ask of its memory mode (monotone); a lineage's placement is decided under it."""

    UNSPECIFIED = "unspecified"
    CONSTANT = "constant"
    VIRTUAL = "virtual"
    NEVER_VIRTUAL = "never_virtual"
    LOCAL = "local"
    ON_DEVICE = "on_device"


class Node:
    """One array of programs: identity, shape, dtype and declarations. Compared by identity.

    ``uid``: process-unique, never reused; orders nodes everywhere. ``shape`` excludes the padding; ``padding`` gives
    (left, right) margins per axis, which always hold ``margin``. ``literal``: host initialization data in C order of
    the unpadded shape. ``zero_valid``: allocation-time zeros are its right start. ``slice_of``: (parent, symbol) of a
    view of the parent at that index of its leading axis. ``discarded``: the frontend rewound past it.
    """

    __slots__ = (
        "__weakref__", "context_owned", "discarded", "dtype", "intent", "label", "literal", "margin", "observable",
        "padding", "provenance", "shape", "slice_of", "uid", "zero_valid",
    )  # fmt: skip

    def __init__(
        self,
        label: str,
        shape: Sequence[int],
        dtype: Dtype = float32,
        *,
        literal: Sequence[float] | None = None,
        padding: Sequence[tuple[int, int]] | None = None,
        margin: float = 0.0,
        slice_of: tuple[Node, Symbol] | None = None,
    ) -> None:
        """Refuses programs/dtype, layouts/rank, layouts/negative-extent, layouts/too-many-elements (the padding
        counted), programs/padding, arrays/values-count (literal), programs/slice-shape."""
        self.label = text("label", label)
        self.dtype = _program_dtype(dtype)
        self.shape = _shape(integers("shape", shape))
        self.padding = _padding(self, padding)
        self.margin = _margin(margin)
        self.literal = None if literal is None else _literal(self, literal)
        self.slice_of = None if slice_of is None else _slice_of(self, slice_of)
        self.zero_valid = False
        self.observable = False
        self.context_owned = False
        self.discarded = False
        self.intent = Intent.UNSPECIFIED
        self.provenance = 0
        self.uid = next(_uids)

    def __setattr__(self, name: str, value: object) -> None:
        """Only declarations change: routines are compiled for what a node is."""
        if name in _IDENTITY and hasattr(self, name):
            raise AttributeError(f"{name} of a node does not change")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> str:
        raise TypeError("nodes are not copied or pickled: they are compared by identity")

    @property
    def rank(self) -> int:
        """Its number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Its number of elements, the padding excluded."""
        return math.prod(self.shape)

    @property
    def dims(self) -> tuple[int, ...]:
        """The extents of its buffer, the padding included."""
        return tuple(left + extent + right for extent, (left, right) in zip(self.shape, self.padding, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes of its buffer."""
        return math.prod(self.dims) * self.dtype.bits // 8

    @property
    def is_padded(self) -> bool:
        """Whether any axis has a margin."""
        return any(left or right for left, right in self.padding)

    def mark_zero_valid(self) -> None:
        """Declare allocation-time zeros to be the right start (every gradient is)."""
        self.zero_valid = True

    def set_observable(self) -> None:
        """Ask that host reads of the node be served: it gets a buffer where nothing else decides. Never undone."""
        self.observable = True

    def set_context_owned(self) -> None:
        """Keep the node out of the constant pools (C6). Never undone."""
        self.context_owned = True

    def require(self, intent: Intent, provenance: int = 0) -> None:
        """Strengthen the intent. Refuses arguments/wrong-type, placement/virtual-conflict, placement/intent-change."""
        joined = joined_intent(self.intent, instance("intent", intent, Intent))
        if joined is None:
            raise _intent_refusal(self, intent)
        if joined is not self.intent:
            self.intent = joined
            self.provenance = provenance

    def __repr__(self) -> str:
        return self.label


def joined_intent(old: Intent, new: Intent) -> Intent | None:
    """The intent after both declarations, None where they contradict each other (the lattice of intents)."""
    if old is new or new is Intent.UNSPECIFIED:
        return old
    if old is Intent.UNSPECIFIED:
        return new
    return _JOINS.get((old, new))


def _joins() -> dict[tuple[Intent, Intent], Intent]:
    constant, virtual, never = Intent.CONSTANT, Intent.VIRTUAL, Intent.NEVER_VIRTUAL
    local, on_device = Intent.LOCAL, Intent.ON_DEVICE
    joins = {(virtual, constant): virtual, (constant, virtual): virtual}
    joins |= dict.fromkeys(((constant, never), (never, constant), (constant, on_device)), on_device)
    joins[on_device, constant] = on_device
    joins |= dict.fromkeys(((never, local), (local, never)), local)
    joins |= dict.fromkeys(((never, on_device), (on_device, never)), on_device)
    return joins


_JOINS: Final = _joins()


def _intent_refusal(node: Node, intent: Intent) -> Exception:
    kinds = {node.intent, intent}
    clash = kinds == {Intent.VIRTUAL, Intent.NEVER_VIRTUAL}
    rule = "placement/virtual-conflict" if clash else "placement/intent-change"
    return refuse(rule, node=node.label, old=node.intent.value, new=intent.value)


def _program_dtype(dtype: Dtype) -> Dtype:
    if instance("dtype", dtype, Dtype) not in PROGRAM_DTYPES:
        raise refuse("programs/dtype", dtype=dtype.name)
    return dtype


def _shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) > MAX_RANK:
        raise refuse("layouts/rank", rank=len(shape), limit=MAX_RANK)
    for axis, extent in enumerate(shape):
        if extent < 0:
            raise refuse("layouts/negative-extent", axis=axis, extent=extent, shape=shape)
    if math.prod(extent for extent in shape if extent) > MAX_ELEMENTS:
        raise refuse("layouts/too-many-elements", shape=shape)
    return shape


def _padding(node: Node, padding: Sequence[tuple[int, int]] | None) -> tuple[tuple[int, int], ...]:
    given = ((0, 0),) * len(node.shape) if padding is None else read(padding, MAX_RANK + 1)
    if given is None:
        expected = "a pair of margins per axis"
        raise refuse("arguments/wrong-type", argument="padding", expected=expected, value=shown(padding))
    pairs = tuple(integers("padding", pair) for pair in given)
    if len(pairs) != len(node.shape) or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise refuse("programs/padding", node=node.label, padding=[list(pair) for pair in pairs])
    _shape(tuple(sum(pair) + extent for pair, extent in zip(pairs, node.shape, strict=True)))
    return tuple((pair[0], pair[1]) for pair in pairs)


def _literal(node: Node, literal: Sequence[float]) -> tuple[float, ...]:
    values = read(literal, None if hasattr(type(literal), "__len__") else node.size + 1)
    if values is None:
        raise refuse("arguments/wrong-type", argument="literal", expected="a sequence of numbers", value=shown(literal))
    if len(values) != node.size:
        raise refuse("arrays/values-count", values=len(values), shape=node.shape)
    if not all(type(value) in (int, float, bool) for value in values):
        raise refuse("programs/literal", node=node.label)
    return cast(tuple[float, ...], values)


def _margin(margin: float) -> float:
    value = number("margin", margin)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _slice_of(node: Node, given: tuple[Node, Symbol]) -> tuple[Node, Symbol]:
    if not isinstance(given, tuple) or len(given) != 2:
        expected = "a parent and a symbol"
        raise refuse("arguments/wrong-type", argument="slice_of", expected=expected, value=shown(given))
    parent, symbol = instance("parent", given[0], Node), instance("symbol", given[1], Symbol)
    fits = parent.rank > 0 and parent.shape[1:] == node.shape and parent.dtype is node.dtype and parent.slice_of is None
    if not fits or parent.is_padded or node.is_padded:
        raise refuse("programs/slice-shape", node=node.label, parent=parent.label)
    return parent, symbol


def integer_node_index(node: Node, index: Sequence[int]) -> tuple[int, ...]:
    """A host index into the node's unpadded shape; refuses arrays/index-rank and arrays/index-range."""
    entries = integers("index", index)
    if len(entries) != node.rank:
        raise refuse("arrays/index-rank", index=entries, rank=node.rank)
    if not all(0 <= entry < extent for entry, extent in zip(entries, node.shape, strict=True)):
        raise refuse("arrays/index-range", index=entries, shape=node.shape)
    return entries
