"""The two ways to carry a routine out agree, and placements do not change what it computes."""

from dataclasses import replace

from hypothesis import given
from tests.programs.building import Buffers, Drawn, padded, planned, programs

from counterfoil_reference.intervals import Record, watching
from counterfoil_reference.programs import NOTHING_DECIDED, Decisions, Plan, execute, lower
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import Refusal


def plans(drawn: Drawn, decisions: Decisions) -> list[Plan]:
    """The plans of a drawn program's routines along one lineage, as far as they are accepted."""
    found = []
    for assignments in drawn.routines:
        try:
            found.append(planned(*assignments, decisions=decisions))
        except Refusal:
            break
        decisions = found[-1].decisions
    return found


def carried_out(
    drawn: Drawn, routine: Plan | list[Lowered], values: dict[Node, list[float]], arguments: tuple[Node, ...]
) -> tuple[dict[Node, list[float]], list[Record]]:
    """The buffers after a routine, and what is recorded of it."""
    store = Buffers(arguments, drawn.merged, {node: list(values[node]) for node in arguments})
    with watching() as log:
        execute(routine, store, drawn.bindings)
    return store.values, log


def same(x: object, y: object) -> bool:
    """Equal, with NaN equal to itself and zeros told apart."""
    return repr(x) == repr(y)


@given(programs(routines=3, merges=True))
def test_a_plan_and_its_lowering_compute_the_same(drawn: Drawn) -> None:
    """Carrying out a plan's steps and running its lowered kernel give equal elements with equal room."""
    values = {node: padded(node, drawn.given[node]) for node in drawn.nodes}
    for each in plans(drawn, drawn.decisions):
        direct = carried_out(drawn, each, values, each.arguments)
        lowered = carried_out(drawn, [lower(each)], values, each.arguments)
        assert same(direct, lowered)
        values |= direct[0]


@given(programs())
def test_placements_do_not_change_values(drawn: Drawn) -> None:
    """A routine computes the same in the buffers it has by default and in those it has with every node materialized."""
    values = {node: padded(node, drawn.given[node]) for node in drawn.nodes}
    everywhere = replace(NOTHING_DECIDED, materialized=frozenset(drawn.nodes))
    for free, forced in zip(plans(drawn, drawn.decisions), plans(drawn, everywhere), strict=True):
        small, _ = carried_out(drawn, free, values, free.arguments)
        large, _ = carried_out(drawn, forced, values, forced.arguments)
        assert same({node: large[node] for node in small}, small)
