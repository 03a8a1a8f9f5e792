"""run looks for faults in one order: every pair of faults one routine can have, and all of them taken away in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.contexts.scenario import (
    Symbol,
    backprop,
    embedded,
    gradient,
    merged,
    node,
    number,
    program,
    put,
    rule,
    stored,
)

ORDER = {
    "fragment": "run/fragment-not-owned",
    "released": "release/dead-handle",
    "poisoned": "run/poisoned",
    "unwritten": "run/unwritten-inputs",
    "foreign": "run/foreign-write",
    "dependencies": "run/dependencies",
    "binding": "run/launch-binding",
    "reset": "gradients/without-reset",
    "slab": "run/merge-slab",
    "door": "door/held-exclusive",
}
"""Faults in the order of C1, with their rules."""

AT_THE_DISPATCH = ("reset", "slab", "door")
COMBINATIONS = [
    (),
    *((fault,) for fault in ORDER),
    *itertools.combinations(ORDER, 2),
    *(tuple(ORDER)[place:] for place in range(len(ORDER) - 1)),
]


class Bench:
    """A routine over everything a run looks at, run once; then faults are put into its way."""

    def __init__(self, cf: Any) -> None:
        self.cf = cf
        self.other = cf.Context.cpu()
        self.symbol, self.constant = Symbol("i", 4), node("c", literal=[1, 1])
        self.merge, self.total, self.out = stored("n"), gradient("g"), stored("y")
        self.input, self.slab_of_other = stored("x"), stored("p")
        fed = cf.Context.cpu().set_values(self.merge, [1, 2])
        filled = fed.copy_from(fed, self.merge, into_merge_buffer=True)
        self._compile(filled)
        for routine in (self.init, self.write):
            self.home.run(routine)
        self.symbol.set(1)
        self.value = self.final.run(self.use)
        self.array = self.home.array(self.input)

    def _compile(self, context: Any) -> None:
        start, x, e = gradient("s"), self.input, node("e")
        fragment = backprop("h", gradient("h"))
        code = [
            embedded(e, self.symbol),
            put(self.out, "add", x, self.constant),
            put(self.out, "add", self.out, start),
            put(self.out, "add", self.out, e),
            merged(self.total, self.merge, "add"),
        ]
        context, self.init = context.compile(program("init", number(start, 1), embedded=[start]))
        written = program("write", put(x, "identity", node("v", literal=[3, 4])), embedded=[x])
        context, self.write = context.compile(written)
        use = program("use", *code, embedded=[self.out, self.total], accumulates=[self.total], requires=[fragment])
        self.home, self.use = context.compile(use)
        self.final, _ = self.home.compile(program("own", owned=[fragment]))

    @contextmanager
    def with_faults(self, faults: tuple[str, ...]) -> Iterator[Any]:
        """The value to run through, with those faults; the others are not there."""
        if "reset" not in faults:
            self.home.set_values(self.total, [0, 0])
        for fault, routine in (("unwritten", self.write), ("dependencies", self.init)):
            if fault in faults:
                self.home.rollback_execution(routine.routine_id)
        if "foreign" in faults:
            z = stored("z")
            reader, _ = self.other.compile(program("read", put(z, "identity", self.constant), embedded=[z]))
            reader.set_values(self.constant, [7, 7])
        if "slab" in faults:
            fed = self.other.set_values(self.slab_of_other, [9, 9])
            fed.copy_from(fed, self.slab_of_other, into_merge_buffer=True)
        if "binding" in faults:
            self.symbol.set(9)
        if "poisoned" in faults:
            self.home.poison_lineage(self.use.routine_id, RuntimeError("boom"))
        value = (self.home if "fragment" in faults else self.value).decide_inline([])  # a unit without pools
        if "door" in faults:
            with self.cf.claims(donate=[self.array.buffer]):
                yield _released(value) if "released" in faults else value
        else:
            yield _released(value) if "released" in faults else value


def _released(value: Any) -> Any:
    value.release()
    return value


def first(faults: tuple[str, ...], *without: str) -> str | None:
    """The rule of the first fault in the order, those left out that are not looked at."""
    return next((ORDER[fault] for fault in ORDER if fault in faults and fault not in without), None)


@pytest.mark.parametrize("faults", COMBINATIONS, ids=lambda faults: "+".join(faults) or "none")
def test_the_first_fault_is_told(cf: Any, faults: tuple[str, ...]) -> None:
    """run tells the first of its faults; the checks tell it too, short of those seen at the dispatch."""
    bench = Bench(cf)
    with bench.with_faults(faults) as value:
        records = value.ledger_records
        assert rule(lambda: value.check_runnable(bench.use)) == first(faults, *AT_THE_DISPATCH)
        assert rule(lambda: value.check_lineage_runnable(bench.use)) == first(faults, *AT_THE_DISPATCH, "binding")
        bindings = ORDER["binding"] if "binding" in faults else None
        assert rule(lambda: value.check_launch_bindings(bench.use)) == bindings
        assert rule(lambda: value.run(bench.use)) == first(faults)
        assert not faults or value.ledger_records == records
