"""compile looks for faults in one order: every pair of faults one comp can have, and all of them taken away in turn."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from tests.contexts.scenario import (
    Fragment,
    Intent,
    add,
    adding,
    backprop,
    gradient,
    live_pools,
    merged,
    node,
    number,
    program,
    put,
    rule,
    stored,
)

from counterfoil_spec.programs.assignments import Code, Fetch, Fill, in_sequence, leaves
from counterfoil_spec.programs.comps import Comp, comp
from counterfoil_spec.programs.loops import Lowered

ORDER = {
    "released": "release/dead-handle",
    "arguments": "compile/exclusive-arguments",
    "owned": "compile/owned-twice",
    "accumulated": "gradients/accumulated-elsewhere",
    "propagated": "gradients/propagated-earlier",
    "unnamed": "compile/unnamed",
    "fill": "compile/fill-limit",
    "index": "compile/index-range",
    "merges": "compile/merge-nodes",
    "local": "placement/local-read",
    "virtual": "placement/virtual-illegal",
    "transform": "compile/empty-transform",
    "lacks": "compile/lacks-nodes",
    "mismatch": "compile/merge-mismatch",
    "cap": "compile/pool-cap",
}
"""Faults in the order of docs/contexts.md, with their rules."""

COMBINATIONS = [
    (),
    *((fault,) for fault in ORDER),
    *itertools.combinations(ORDER, 2),
    *(tuple(ORDER)[place:] for place in range(len(ORDER) - 1)),
]


class Bench:
    """A context whose lineage has what each fault needs, and comps with any of the faults."""

    def __init__(self, cf: Any) -> None:
        self.cf = cf
        self.x, self.y, self.scratch, self.g, self.h = node("x"), stored("y"), node("l"), gradient("g"), gradient("h")
        self.fragment, self.of_h = Fragment(-1, "forward", "t"), backprop("h", self.h, -2)
        code = [put(self.scratch, "identity", self.x), put(self.y, "mul", self.scratch, self.scratch)]
        context = cf.Context.cpu().set_values(self.x, [1, 2])
        first = program("first", *code, embedded=[self.y], owned=[self.fragment, self.of_h])
        context, _ = context.compile(first)
        context, _ = context.compile(adding(self.g, self.x))
        self.context = context.decide_inline([])

    def pieces(self) -> dict[str, Callable[[], Code]]:
        """The code that brings a fault in."""
        wide, far, big, state = stored("w", (17,)), stored("f"), stored("big", (2**30 + 1,)), node("v")
        state.require(Intent.VIRTUAL)
        one, two, merged_into, read_into = stored("m"), stored("k"), stored("q"), stored("o")
        return {
            "fill": lambda: Fetch(wide, Fill(tuple(range(17)))),
            "index": lambda: put(far, "identity", self.x, by="i+1 -> i"),
            "merges": lambda: in_sequence(merged(merged_into, one), merged(merged_into, two, "add")),
            "mismatch": lambda: merged(merged_into, one),
            "local": lambda: put(read_into, "identity", self.scratch),
            "virtual": lambda: add(state, "identity", self.x),
            "lacks": lambda: put(read_into, "identity", node("absent")),
            "cap": lambda: number(big, 1),
        }

    def comp(self, faults: tuple[str, ...]) -> Comp:
        """y = x, and the faults' pieces."""
        pieces = self.pieces()
        code = [put(self.y, "identity", self.x), *(pieces[fault]() for fault in faults if fault in pieces)]
        embedded = {leaf.target for part in code for leaf in leaves(part)}
        fields: dict[str, Any] = {
            "embedded": embedded,
            "owned": [self.fragment] if "owned" in faults else [],
            "accumulates": [g for name, g in (("accumulated", self.g), ("propagated", self.h)) if name in faults],
        }
        return comp(in_sequence(*code), **fields) if "unnamed" in faults else program("use", *code, **fields)

    def compile(self, faults: tuple[str, ...]) -> Any:
        """The compile with those faults."""
        options: dict[str, Any] = {}
        if "arguments" in faults:
            options |= {"prelowered": Lowered(), "reuse": self.cf.Reuse()}
        if "transform" in faults:
            options["transform"] = lambda lowered: []
        if "released" in faults:
            self.context.release()
        return self.context.compile(self.comp(faults), **options)


@pytest.mark.parametrize("faults", COMBINATIONS, ids=lambda faults: "+".join(faults) or "none")
def test_the_first_fault_is_told(cf: Any, faults: tuple[str, ...]) -> None:
    """compile tells the first of its faults and leaves pools, records and counts as they were."""
    bench = Bench(cf)
    expected = next((ORDER[fault] for fault in ORDER if fault in faults), None)
    before = (bench.context.ledger_records, live_pools(cf), cf.inspection.compile_count())
    assert rule(lambda: bench.compile(faults)) == expected
    if expected is None:
        assert cf.inspection.compile_count() == before[2] + 1
    else:
        after = (bench.context.ledger_records, live_pools(cf))
        assert after == before[:2]
