"""Random histories of release units: what lives is what somebody holds, and no live value binds freed memory."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contexts_model.building import add, failing, fetch, merged, node, program, refused, rule, store

from counterfoil_reference import Context, Routine, host, inspection
from counterfoil_reference.contexts.census import live_pools
from counterfoil_reference.contexts.units import Unit
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.refusals import Refusal

SEAMS = ("finalize-before-await", "finalize-before-free", "delta-pool-allocated", "from-host-before-await")
AT_THE_DISPATCH = ("gradients/without-reset", "run/merge-slab", "door/dead-buffer")


class History:
    """Two roots, a few nodes, and every value made from them."""

    def __init__(self) -> None:
        self.values = [Context.cpu(), Context.cpu()]
        self.nodes = [node("x"), node("y")]
        self.literal = Node("c", (2,), literal=[1, 2])
        self.literal.require(Intent.ON_DEVICE)
        self.routines: list[Routine] = []

    def upload(self, context: Context, which: int) -> None:
        """Allocates from a value that lacks the node: the tip's unit grows, or there is a fork."""
        self.values.append(context.set_values(self.nodes[which], [1, 2]))

    def compile(self, context: Context, which: int) -> None:
        """A routine that reads the literal and embeds a node of its own."""
        fresh = node("fresh")
        code = (store(fresh, self.literal), add(fresh, self.literal)) if which else (fetch(fresh, 1),)
        child, routine = context.compile(program("made", *code, embedded=[fresh]))
        self.values.append(child)
        self.routines.append(routine)

    def decide(self, context: Context, which: int) -> None:
        """A child that holds nothing of its own."""
        self.values.append(context.decide_inline([]))

    def run(self, context: Context, which: int) -> None:
        """One of the routines, through any value; what refuses it is what check_runnable told (context:65)."""
        if not self.routines:
            return
        routine = self.routines[which % len(self.routines)]
        told = refused(lambda: context.check_runnable(routine))
        try:
            self.values.append(context.run(routine))
        except Refusal as refusal:
            assert told == (refusal.rule, refusal.subjects) or (told is None and refusal.rule in AT_THE_DISPATCH)
            raise
        assert told is None

    def merge(self, context: Context, which: int) -> None:
        """A fill of the merge buffer."""
        self.values.append(context.copy_from(context, self.nodes[which], into_merge_buffer=True))

    def consume(self, context: Context, which: int) -> None:
        """A routine that reads the merge buffer."""
        fresh = node("fresh")
        made = program("merge", fetch(fresh, 0), merged(fresh, self.nodes[which]), embedded=[fresh])
        child, routine = context.compile(made)
        self.values.append(child)
        self.routines.append(routine)

    def adopt(self, context: Context, which: int) -> None:
        """An ancestor's unit, if there is one among the values."""
        for other in self.values:
            if other.unit in context.unit.ancestors and which:
                context.adopt_ancestor(other)

    def release(self, context: Context, which: int) -> None:
        """Any value."""
        context.release()


ACTIONS: tuple[Callable[[History, Context, int], None], ...] = (
    History.upload, History.upload, History.compile, History.decide, History.run, History.merge, History.consume,
    History.adopt, History.release,
)  # fmt: skip


def attempted(history: History, action: int, value: int, which: int, seam: str | None) -> None:
    """One action, refused or failing as it may; a refusal changes nothing (R3)."""
    context = history.values[value % len(history.values)]
    before = state(history)
    try:
        if seam is None:
            ACTIONS[action](history, context, which)
        else:
            with failing(seam, at=1 + which):
                ACTIONS[action](history, context, which)
    except Refusal:
        assert state(history) == before
    except RuntimeError as error:
        assert str(error) == "injected"
        if ACTIONS[action] is not History.release:
            assert state(history) == before


def state(history: History) -> object:
    """All that the values, their units and their ledgers say, and every live byte."""
    ledgers = {id(value.ledger): value.ledger for value in history.values}
    units = {id(value.unit): value.unit for value in history.values}
    records = [
        (dict(each.names), set(each.executed), dict(each.writers), set(each.written), dict(each.known),
         {fill: {key: set(owners) for key, owners in found.items()} for fill, found in each.consumers.items()},
         each.fill, dict(each.counts), {key: set(held) for key, held in each.living.items()}, set(each.runs),
         list(each.leftovers))
        for each in ledgers.values()
    ]  # fmt: skip
    held = [
        (list(each.pools), set(each.given_up), list(each.constants), each.allocations, each.released,
         list(each.adopted), set(each.adopters))
        for each in units.values()
    ]  # fmt: skip
    memory = [(pool, set(pool.holders), inspection.memory_bytes(pool.buffer)) for pool in live_pools()]
    tokens = [[(where.token, where.event) for where in pool.locations.values()] for pool in live_pools()]
    return records, held, memory, tokens, list(history.values), inspection.live_bytes(host())


def check(history: History) -> None:
    """The invariants of release."""
    units = {value.unit for value in history.values}
    for pool in live_pools():
        if any(unit in pool.holders for unit in units):
            assert pool.buffer.dead is None and not any(unit.released for unit in pool.holders)
    for value in history.values:
        if rule(value.sync) is None and not _interrupted(value.unit):
            assert all(location.buffer.dead is None for location in value.buffers.values())
        ledger = value.ledger
        for location in (*ledger.written, *ledger.writers, *ledger.known, *(where for _, where in ledger.counts)):
            assert not location.pool.freed  # type: ignore[union-attr]
        assert set(ledger.names) - {ledger.fill} == set(ledger.living) == set(ledger.entries)
        assert all(not unit.released for holders in ledger.living.values() for unit in holders)


def _interrupted(unit: Unit) -> bool:
    """Whether a release of the unit or of an ancestor failed half way."""
    return any(each.given_up for each in (unit, *unit.ancestors))


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(ACTIONS) - 1), st.integers(0, 30), st.integers(0, 1),
            st.sampled_from((None, None, None, *SEAMS)),
        ),
        max_size=25,
    )
)  # fmt: skip
def test_release_units_hold_exactly_what_lives(actions: list[tuple[int, int, int, str | None]]) -> None:
    """After every step of any history: pools live while an unreleased unit holds them, records are of live pools,
    and a value that passes the door binds live buffers; in the end all is given back, once."""
    before = inspection.census()
    history = History()
    for action, value, which, seam in actions:
        attempted(history, action, value, which, seam)
        check(history)
    for value in sorted(history.values, key=lambda value: -value.lifecycle_depth):
        value.release()
    after = inspection.census()
    for name in ("working_pools", "working_bytes", "constant_pools", "constant_bytes"):
        assert after[name] == before[name]
    for root in history.values[:2]:
        assert root.ledger_records == (0 if root.ledger.fill is None else 2)
    assert after["units_created"] - before["units_created"] == after["units_released"] - before["units_released"]
