"""Token bags beside a recorded history: what the theorems forbid is reported, what they allow is not."""

from __future__ import annotations

import pytest

from counterfoil_oracles.histories import model
from counterfoil_oracles.histories.bags import Bags, Compiled, Ran, Restored, RolledBack, Written
from counterfoil_oracles.histories.model import H, Routine, W, routines
from counterfoil_spec.programs import specs
from counterfoil_spec.programs.assignments import Accumulate, Code, Constant, Fetch, Read, in_sequence
from counterfoil_spec.programs.comps import Comp, comp
from counterfoil_spec.programs.nodes import Node

BUFFERS = {H: "h", W: "w"}
SOURCE = Node("x", (1,), literal=[1.0])


def add(target: Node, source: Node) -> Accumulate:
    return Accumulate(target, "add", "identity", (Read(source),), specs.pointwise(target, [source]))


WORDS: dict[str, Code] = {
    "zH": Fetch(H, Constant(0.0)), "zW": Fetch(W, Constant(0.0)),
    "aH": add(H, SOURCE), "P": add(W, H), "aW": add(W, SOURCE),
}  # fmt: skip


def comp_of(routine: Routine) -> Comp:
    """The routine's comp with code."""
    made = model.comp_of(routine)
    code = in_sequence(*(WORDS[word] for word in model.BODY if getattr(routine, word)))
    return Comp(code, (), made.owned, made.accumulates, made.zeroes, made.allowances, made.requires)


def beside(lineage: str, parents: tuple[int | None, ...] = ()) -> Bags:
    """Bags that follow a root with that lineage compiled."""
    bags = Bags()
    paths: list[tuple[int, ...]] = []
    for number, routine in enumerate(routines(lineage)):
        parent = parents[number] if parents else (number - 1 if number else None)
        paths.append((*(() if parent is None else paths[parent]), number))
        assert bags.follow(Compiled(number, paths[number], comp_of(routine))) == []
    return bags


def follow(bags: Bags, *numbers: int, timing: bool = False) -> list[str]:
    """Runs, each through the value compiled last of those that have the routine in their lineage."""
    paths = {number: max(path for path in bags.paths if number in path) for number in numbers}
    return [text for number in numbers for text in bags.follow(Ran(number, BUFFERS, timing, paths[number]))]


def test_a_right_training_loop_is_silent() -> None:
    """Zero, contribute, propagate, cycle after cycle: nothing to report, and each buffer holds what it should."""
    bags = beside("[zH zW] [aH] [aH aW] [P]")
    assert follow(bags, *[0, 1, 2, 3] * 3) == []
    assert len(bags.buffers["h"].tokens) == 2 and len(bags.buffers["w"].carriers) == 2


@pytest.mark.parametrize(
    ("lineage", "order"), [("[zW] [aW]", (0, 1, 1)), ("[zH zW] [aH] [P]", (0, 1, 2, 2)), ("[aH P]", (0, 0))]
)
def test_a_run_beyond_the_allowance_is_reported(lineage: str, order: tuple[int, ...]) -> None:
    """A machine whose half forgot to refuse it is told so."""
    assert follow(beside(lineage), *order)


def test_two_owners_on_one_path_are_reported() -> None:
    """A fragment compiled twice carries the same contribution twice, each within its own allowance."""
    bags = beside("[zH zW] [aH] [P] [P]")
    assert follow(bags, 0, 1, 2) == []
    assert follow(bags, 3) == ["routine 3 carries H into W again"]


def test_siblings_are_alternatives() -> None:
    """What two siblings carry twice is the caller's choice: the buffer is void, until it is reset."""
    bags = beside("[zH zW] [aH] [P] [P]", (None, 0, 1, 1))
    assert follow(bags, 0, 1, 2, 3) == []
    assert bags.buffers["w"].void
    assert follow(bags, 0, 1, 2) == [] and not bags.buffers["w"].void


def test_timing_runs_void() -> None:
    """A timing run is never reported, nor what follows it before the next reset; what is propagated from it neither."""
    bags = beside("[zH zW] [aH] [P]")
    assert follow(bags, 0, 1) == [] and follow(bags, 1, 1, timing=True) == [] and follow(bags, 2) == []
    assert bags.buffers["h"].void and bags.buffers["w"].void
    assert follow(bags, 0, 1, 2) == [] and follow(bags, 2) != []


def test_a_write_from_outside_is_a_reset() -> None:
    """After it the routine may add again, and what was there is gone."""
    bags = beside("[aW]")
    assert follow(bags, 0) == [] and bags.follow(Written("w")) == [] and follow(bags, 0) == []
    assert follow(bags, 0) == [
        "routine 0 added to W 2 times since its reset", "W still holds what was added before the cycle"
    ]  # fmt: skip


def test_a_rollback_and_a_restored_history_void() -> None:
    """Of buffers whose counts and bytes may differ nothing is claimed."""
    for event in (RolledBack(0), Restored()):
        bags = beside("[aW] [zW]")
        assert follow(bags, 0) == [] and bags.follow(event) == [] and follow(bags, 0) == []
        assert follow(bags, 1, 0) == [] and follow(bags, 0) != []


def test_an_allowance_is_an_allowance() -> None:
    """Micro-steps that zero the trunk are silent up to the allowance; over a kept trunk the buffer is void."""
    assert follow(beside("[zH zW] [zH aH P k=2]"), 0, 1, 1) == []
    assert follow(beside("[zH zW] [zH aH P k=2]"), 0, 1, 1, 1) != []
    kept = beside("[zH zW] [aH P k=2]")
    assert follow(kept, 0, 1, 1) == [] and kept.buffers["w"].void


def test_hand_written_writes_void() -> None:
    """A write to a gradient that the comp does not declare voids it."""
    bags = beside("[zW] [aW]")
    bags.follow(Compiled(2, (0, 1, 2), comp(add(W, W))))
    assert follow(bags, 0, 1, 2) == [] and bags.buffers["w"].void


def test_a_trunk_without_a_buffer_lives_for_one_run() -> None:
    """A Local gradient inside one routine is new each time."""
    bags = beside("[zH zW aH P]")
    assert [text for _ in range(3) for text in bags.follow(Ran(0, {W: "w"}))] == []
    assert len(bags.buffers["w"].carriers) == 1


# --- delivery --------------------------------------------------------------------------------------------------------

EARLIER, LOST = "{} still holds what was added before the cycle", "{} lost an addition of the cycle"


def cycles(bags: Bags) -> tuple[int, int]:
    """Cycles that were judged, and gradients claimed of."""
    return bags.cycles.ended, bags.cycles.claims


def test_each_cycle_is_judged() -> None:
    """Three cycles in compile order, both gradients: six claims, nothing wrong; runs in between start none."""
    bags = beside("[zH zW] [aH] [aH aW] [P]")
    assert follow(bags, *[0, 1, 2, 3] * 3) == [] and cycles(bags) == (3, 6)
    assert follow(bags, 0, 2, 1, 3) == [] and cycles(bags) == (3, 6)


@pytest.mark.parametrize(
    ("lineage", "wrong"),
    [
        ("[zW] [aW] [zW P]", [LOST.format("W")]),
        ("[aW] [zW] [aW]", [LOST.format("W")]),
        ("[zH zW] [P] [aH]", ["H was not carried into W whole"]),
        ("[zH zW] [aH]", ["backprop of H is required, and nothing on the path owns it"]),
    ],
)  # fmt: skip
def test_what_compile_order_would_lose_is_reported(lineage: str, wrong: list[str]) -> None:
    """Lineages and runs that a rule refuses, each run once in order: within every allowance, and not delivered."""
    bags = beside(lineage)
    assert follow(bags, *range(len(routines(lineage)))) == wrong


def test_what_is_left_of_an_earlier_cycle_is_reported() -> None:
    """A reset that did not happen: the last cycle's contribution is there, and is carried on."""
    bags = beside("[aH] [zW] [P]")
    assert follow(bags, 0, 1, 2) == []
    bags.buffers["h"].additions.clear()
    assert set(follow(bags, 0, 1, 2)) == {EARLIER.format("H"), EARLIER.format("W")}


@pytest.mark.parametrize(
    ("lineage", "order"),
    [
        ("[aW] [zW]", (0, 1)), ("[aH] [zH zW P]", (0, 1)), ("[zW aW k=2]", (0,)), ("[aW k=2]", (0, 0)),
        ("[zH zW] [aH] [P]", (0, 1)), ("[zH zW] [aH] [P]", (0, 1, 2, 0, 2, 1)),
    ],
)  # fmt: skip
def test_nothing_is_claimed_without_the_hypotheses(lineage: str, order: tuple[int, ...]) -> None:
    """Accepted and wrong, or not a cycle in compile order: no report."""
    assert follow(beside(lineage), *order) == []


def test_a_sibling_contribution_is_no_earlier_cycles() -> None:
    """What a routine of another path added is not the cycle's business."""
    bags = beside("[aW] [aW] [aW]", (None, 0, 0))
    assert follow(bags, 0, 1) == [] and follow(bags, 2) == []


def test_a_cycle_ends_at_the_value_it_ran_through() -> None:
    """Runs through a longer lineage do not end the cycle of a shorter one."""
    bags = beside("[zH zW] [aH] [P]")
    assert follow(bags, 0, 1) == [] and cycles(bags) == (0, 0)
    assert follow(bags, 2) == [] and cycles(bags) == (1, 2)


def test_a_write_within_a_cycle_is_no_cycles() -> None:
    """A gradient written from outside between two runs holds more than the runs contributed: nothing is claimed."""
    bags = beside("[zW] [aW]")
    assert follow(bags, 0) == [] and bags.follow(Written("w")) == [] and follow(bags, 1) == []
    assert cycles(bags) == (1, 0)
