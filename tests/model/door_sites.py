"""Operands with chosen faults, for the tests of both doors: memories, and the arrays of a call's operands over them.

A *site* is one memory with the arrays of one or more operands of a call in it. All its faults are facts of the memory
(exclusive, read-only, off host, lost) or of an operand (dead, dtype, repeated, shape). Every site whose device runs
work has a submission pending on the memory, so that a door that waits too early is seen.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SHAPE: Final = (2,)
ROOM: Final = 32
"""Bytes kept for each operand's position in a memory."""

MEMORY_FAULTS: Final = ("exclusive", "read_only", "off_host", "lost")
"""Faults of a memory; those of an operand are dead, dtype, repeated and shape."""

APART, OVERLAPPING, IDENTICAL = "apart", "overlapping", "identical"

UNCONSTRUCTIBLE: Final = {
    "read_only and exclusive": "Read memory is never held exclusive (A8).",
    "read_only, off_host and lost": "Read memory off the host is a file's, and the disk is never lost (A15).",
    "empty with off_host, repeated or overlapping": "no address, no index, no byte: no fault (A1, A2, A3).",
    "identical with repeated": "the first would be too, and a written one is refused before overlap.",
    "identical with another shape": "operands of two shapes are not identical (A4): they overlap.",
    "repeated or read_only, read": "a source may repeat elements and lie in Read memory: no fault (A3).",
    "wrong shape, alone": "one operand cannot disagree with itself; iota's axis stands for it.",
    "dtype, off_host or shape, function door": "it runs no kernel, and does not ask (A3).",
}
"""What no site has, and why."""


@dataclass(frozen=True)
class Facts:
    """What is true of one operand."""

    position: int
    memory: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    relation: str = APART
    empty: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Each position has a wrong shape of its own, so that two faults never cancel out."""
        if "shape" in self.own:
            return (SHAPE[0] + 1 + self.position,)
        return (0,) if self.empty else SHAPE


@dataclass
class Site:
    """One memory: the facts of the operands in it, their arrays, and what must still be so after a refusal."""

    facts: tuple[Facts, ...]
    arrays: tuple[Any, ...]
    root: Any
    device: Any
    before: tuple[bytes, tuple[int, bool, bool], int] = field(init=False)


def memory_sets(allowed: Sequence[str] = MEMORY_FAULTS) -> list[frozenset[str]]:
    """The sets of faults a memory can have."""
    never = ({"read_only", "exclusive"}, {"read_only", "off_host", "lost"})
    return [found for found in subsets(allowed) if not any(both <= found for both in never)]


def subsets(of: Sequence[str]) -> list[frozenset[str]]:
    """All sets of some of the faults."""
    return [frozenset(chosen) for size in range(len(of) + 1) for chosen in itertools.combinations(of, size)]


class Builder:
    """Makes the sites of one half, and keeps open what holds their memories."""

    def __init__(self, half: Any) -> None:
        self.half = half
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._files = itertools.count()

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def site(self, facts: tuple[Facts, ...], wrong: Any) -> Site:
        """A fresh memory with those operands' arrays in it; ``wrong`` is the dtype no row of the kernel takes."""
        faults = facts[0].memory
        root, device = self._memory(faults, ROOM * 4)
        living = [each for each in facts if "dead" not in each.own]
        arrays = {each: self._array(each, facts, root, wrong) for each in facts if each not in living}
        current = self._held(root, "exclusive" in faults, bool(arrays))
        arrays.update({each: self._array(each, facts, current, wrong) for each in living})
        if "lost" in faults:
            device.lose("unplugged")
        site = Site(facts, tuple(arrays[each] for each in facts), current, device)
        site.before = self.state(site)
        return site

    def state(self, site: Site) -> tuple[bytes, tuple[int, bool, bool], int]:
        """What no refusal may change: the bytes, the claims, and how far the device's work is."""
        return self.half.inspection.memory_bytes(site.root), site.root.claims, site.device.reached

    def probe(self, site: Site) -> bool:
        """Whether a donation still gets the memory for itself, where nothing but a leaked claim would deny it."""
        if site.facts[0].memory & {"exclusive", "read_only", "lost"}:
            return True
        with self.half.claims(donate=[site.root]) as held:
            return bool(held.exclusive(site.root))

    def _memory(self, faults: frozenset[str], nbytes: int) -> tuple[Any, Any]:
        """A buffer over all of a memory with those faults (exclusive and lost come later), and its device."""
        half = self.half
        device = half.simulated("device", addressable="off_host" not in faults)
        if "read_only" in faults:
            return self._read_memory(faults, nbytes, device)
        root = device.buffer(nbytes)
        half.submit_fill(root, 0x5A)
        return root, device

    def _read_memory(self, faults: frozenset[str], nbytes: int, device: Any) -> tuple[Any, Any]:
        half = self.half
        if "off_host" in faults:
            path = self._folder / str(next(self._files))
            path.write_bytes(bytes(nbytes))
            return half.disk().open(str(path)), half.disk()
        root = half.from_buffer(half.uint8, bytes(nbytes)).buffer
        return root.borrow(device), device

    def _held(self, root: Any, exclusive: bool, consumed: bool) -> Any:
        """The buffer that is alive: after a donation that is held or has ended, and a consumption in it."""
        if exclusive:
            held = self._stack.enter_context(self.half.claims(donate=[root]))
            return held.consume(root, "donated to mul") if consumed else root
        if consumed:
            with self.half.claims(read=[root]) as held:
                return held.consume(root, "donated to mul")
        return root

    def _array(self, each: Facts, facts: tuple[Facts, ...], buffer: Any, wrong: Any) -> Any:
        half = self.half
        dtype = wrong if "dtype" in each.own else half.float32
        strides = [0] if "repeated" in each.own else [1]
        return half.Array(dtype, half.Layout(each.shape, strides, _first(each, facts)), buffer)


def _first(each: Facts, facts: tuple[Facts, ...]) -> int:
    """Where the operand's elements begin, counted in elements of 4 bytes.

    Apart: in the position's own room. Otherwise beside the site's first operand: identical where it lies, overlapping
    one element on, or where it lies if that one is repeated (their strides differ).
    """
    if each.relation == APART:
        return each.position * ROOM // 4
    shifted = each.relation == OVERLAPPING and "repeated" not in facts[0].own
    return facts[0].position * ROOM // 4 + shifted


def single_sites(
    position: int, written: bool, kernel: bool, empty: bool = False, harmless: bool = False
) -> Iterator[tuple[Facts, ...]]:
    """The facts of every site of one operand alone in its memory.

    ``harmless``: also with what is a fault of written operands only, where this one is read.
    """
    full = written or harmless
    memory = memory_sets(MEMORY_FAULTS if full else ("exclusive", "off_host", "lost"))
    own = ["dead", *(["dtype"] if kernel else []), *(["shape"] if kernel and not empty else [])]
    own += ["repeated"] if full and not empty else []
    for faults, ours in itertools.product(memory, subsets(own)):
        yield (Facts(position, faults, ours, empty=empty),)


def shared_sites(positions: Sequence[int], written: int, kernel: bool) -> Iterator[tuple[Facts, ...]]:
    """The facts of every site of several operands in one memory.

    Each later operand is apart from the first, overlaps it or is identical to it. At most one operand has a wrong
    dtype or shape; any may be dead.
    """
    others = len(positions) - 1
    memories, dead = memory_sets(), list(itertools.product((False, True), repeat=len(positions)))
    relations = list(itertools.product((APART, OVERLAPPING, IDENTICAL), repeat=others))
    extras: list[tuple[int, str]] = [(0, "")]
    if kernel:
        extras += [(place, fault) for place in range(len(positions)) for fault in ("dtype", "shape")]
    extras += [(place, "repeated") for place, position in enumerate(positions) if position < written]
    for memory, dying, related, (place, fault) in itertools.product(memories, dead, relations, extras):
        if IDENTICAL in related and fault in ("shape", "repeated"):
            continue
        yield tuple(
            Facts(
                position, memory,
                frozenset({*(["dead"] if dying[k] else []), *([fault] if fault and k == place else [])}),
                APART if k == 0 else related[k - 1],
            )
            for k, position in enumerate(positions)
        )  # fmt: skip
