"""Where nodes are kept: each reason with the smallest program that gives it, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.programs.building import add_to, copy, declared, observed, planned, refusal, spec, store

from counterfoil_reference.programs import NOTHING_DECIDED, Decisions
from counterfoil_spec.limits import LOCAL_BYTES, MAX_INLINE_FANIN, MAX_INLINE_REDUCTION
from counterfoil_spec.programs.assignments import Assignment, Constant, Fetch, Fill, Merge
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.placements import REASONS, Mode, Placement
from counterfoil_spec.programs.symbols import Symbol

VIRTUAL, LOCAL, ON_DEVICE = Mode.VIRTUAL, Mode.LOCAL, Mode.ON_DEVICE

Case = tuple[Node, Sequence[Assignment]]


def pair(label: str = "x") -> Node:
    """A node of two float32."""
    return Node(label, (2,))


def placed(node: Node, *assignments: Assignment, decisions: Decisions = NOTHING_DECIDED) -> Placement:
    """Where the node is kept after one routine."""
    return planned(*assignments, decisions=decisions).decisions.placements[node]


def after(*assignments: Assignment, decisions: Decisions = NOTHING_DECIDED) -> Decisions:
    """What a lineage has decided after a routine."""
    return planned(*assignments, decisions=decisions).decisions


def refused(*assignments: Assignment, decisions: Decisions = NOTHING_DECIDED) -> tuple[str, dict[str, object]]:
    """The rule that refuses the routine, and its subjects."""
    return refusal(lambda: planned(*assignments, decisions=decisions))


# --- every reason ----------------------------------------------------------------------------------------------------


def read_twice() -> Case:
    n = pair("n")
    return n, [copy(n, pair()), store(observed("a", (2,)), "add", n, n)]


def read_at_one_place_twice() -> Case:
    n = Node("n", (1,))
    return n, [copy(n, Node("x", (1,))), spec("0 -> i", observed("a", (2,)), n)]


def written_in_part() -> Case:
    n = pair("n")
    return n, [spec("-> 0", n, Node("c", ()), accumulator="arg2", initialize=False)]


def over_a_symbolic_extent() -> Case:
    n, extent = Node("n", ()), Symbol("e", 3, extent=True)
    return n, [spec("k -> ; k=$e", n, Node("x", (3,)), symbols={"e": extent}), copy(observed("a"), n)]


def built_from_its_neighbour() -> Case:
    n = pair("n")
    return n, [copy(n, pair()), spec("1-i -> i", n, n, accumulator="arg2", initialize=False)]


def read_before_its_last_setter() -> Case:
    n = pair("n")
    return n, [copy(n, pair()), copy(observed("a", (2,)), n), copy(n, pair("y"))]


def over_a_leaf_written_later() -> Case:
    n, x = pair("n"), pair()
    return n, [copy(n, x), copy(x, pair("y")), copy(observed("a", (2,)), n)]


def observable() -> Case:
    n = observed("n", (2,))
    return n, [copy(n, pair())]


def of_intent(intent: Intent) -> Callable[[], Case]:
    def case() -> Case:
        n = declared("n", intent)
        return n, [copy(n, pair())]

    return case


def accumulated_into() -> Case:
    n = pair("n")
    return n, [add_to(n, pair())]


def only_read() -> Case:
    n = pair("n")
    return n, [copy(pair("a"), n)]


def reduction_of(points: int) -> Case:
    n = Node("n", ())
    return n, [spec("k -> ", n, Node("x", (points,))), copy(observed("a"), n)]


def constant_scalar() -> Case:
    n = Node("n", (1, 1))
    return n, [Fetch(n, Constant(3.0)), store(observed("a", (2, 2)), "add", n, n)]


def reading_so_many(count: int) -> Case:
    n, leaves = pair("n"), [pair(f"x{place}") for place in range(count)]
    setters = [copy(n, leaves[0])]
    setters += [store(n, "add", n, leaf) for leaf in leaves[1:]]
    return n, [*setters, copy(observed("a", (2,)), n)]


def read_once() -> Case:
    n = pair("n")
    return n, [copy(n, pair()), copy(observed("a", (2,)), n)]


CASES: list[tuple[Callable[[], Case], Mode, int]] = [
    (read_twice, LOCAL, 1),
    (read_at_one_place_twice, LOCAL, 1),
    (written_in_part, LOCAL, 5),
    (over_a_symbolic_extent, LOCAL, 6),
    (built_from_its_neighbour, LOCAL, 8),
    (read_before_its_last_setter, LOCAL, 9),
    (over_a_leaf_written_later, LOCAL, 10),
    (observable, ON_DEVICE, 19),
    (of_intent(Intent.VIRTUAL), VIRTUAL, 20),
    (of_intent(Intent.NEVER_VIRTUAL), LOCAL, 21),
    (of_intent(Intent.LOCAL), LOCAL, 22),
    (of_intent(Intent.ON_DEVICE), ON_DEVICE, 23),
    (accumulated_into, ON_DEVICE, 36),
    (only_read, ON_DEVICE, 37),
    (lambda: reduction_of(MAX_INLINE_REDUCTION + 1), LOCAL, 39),
    (lambda: reduction_of(MAX_INLINE_REDUCTION), VIRTUAL, 152),
    (constant_scalar, VIRTUAL, 40),
    (lambda: reading_so_many(MAX_INLINE_FANIN + 1), LOCAL, 41),
    (lambda: reading_so_many(MAX_INLINE_FANIN), VIRTUAL, 152),
    (of_intent(Intent.CONSTANT), VIRTUAL, 152),
    (read_once, VIRTUAL, 152),
]


@pytest.mark.parametrize(("case", "mode", "code"), CASES)
def test_each_reason_has_a_smallest_program(case: Callable[[], Case], mode: Mode, code: int) -> None:
    """The node is placed as the rule says, with the rule's code."""
    node, assignments = case()
    assert placed(node, *assignments) == Placement(mode, code)


def test_the_cases_give_every_reason_but_what_a_decision_gives() -> None:
    """The programs above cover the table of reasons, except the code of decide_materialized (24)."""
    assert {code for _, _, code in CASES} == set(REASONS) - {24}


def test_a_materialized_node_is_on_device_before_any_policy() -> None:
    """What decide_materialized recorded gives a buffer (24), but a declaration On_device gives its own code (23)."""
    node, assignments = read_once()
    assert placed(node, *assignments, decisions=Decisions(materialized=frozenset({node}))) == Placement(ON_DEVICE, 24)
    node.require(Intent.ON_DEVICE)
    assert placed(node, *assignments, decisions=Decisions(materialized=frozenset({node}))) == Placement(ON_DEVICE, 23)


def test_what_is_kept_has_a_buffer_where_it_is_large_or_observable() -> None:
    """A node that is not inlined is scratch up to LOCAL_BYTES, and gets a buffer above, or where it is observable."""
    extent = LOCAL_BYTES // 4
    for more, mode in ((0, LOCAL), (1, ON_DEVICE)):
        node = declared("n", Intent.NEVER_VIRTUAL, (extent + more,))
        assert placed(node, copy(node, Node("x", (extent + more,)))) == Placement(mode, 21)
    node = declared("n", Intent.NEVER_VIRTUAL)
    node.set_observable()
    assert placed(node, copy(node, pair())) == Placement(ON_DEVICE, 21)


@pytest.mark.parametrize("field", ["inline", "footprint"])
def test_a_preference_exempts_from_caps_and_not_from_legality(field: str) -> None:
    """A node preferred inline is inlined past every cap, and kept where inlining would be wrong."""
    for case in (read_twice, lambda: reduction_of(17), lambda: reading_so_many(9)):
        node, assignments = case()
        preferred = replace(NOTHING_DECIDED, **{field: frozenset({node})})
        assert placed(node, *assignments, decisions=preferred) == Placement(VIRTUAL, 152)
    node, assignments = over_a_leaf_written_later()
    preferred = replace(NOTHING_DECIDED, **{field: frozenset({node})})
    assert placed(node, *assignments, decisions=preferred) == Placement(LOCAL, 10)


def test_the_first_reason_is_the_one_told() -> None:
    """Of several reasons the earlier rule's is given: declared Local before observable, visits before legality."""
    node = declared("n", Intent.LOCAL)
    node.set_observable()
    assert placed(node, copy(node, pair())) == Placement(LOCAL, 22)
    n, x = pair("n"), pair()
    both = [copy(n, x), copy(x, pair("y")), store(observed("a", (2,)), "add", n, n)]
    assert placed(n, *both) == Placement(LOCAL, 1)


def test_what_a_step_reads_of_its_own_element_is_no_visit() -> None:
    """``n = n * n`` at its own index counts no read: the node is still inlined at its one reader."""
    n = pair("n")
    program = [copy(n, pair()), store(n, "mul", n, n), copy(observed("a", (2,)), n)]
    assert placed(n, *program) == Placement(VIRTUAL, 152)


# --- a lineage -------------------------------------------------------------------------------------------------------


def test_decisions_are_final_and_leave_the_parent_alone() -> None:
    """A later routine that would decide otherwise keeps what was decided; the parent's decisions do not change."""
    n, x = pair("n"), pair()
    first = after(copy(n, x))
    assert first.placements[n] == Placement(VIRTUAL, 152)
    second = after(store(observed("a", (2,)), "add", n, n), decisions=first)
    assert second.placements[n] == Placement(VIRTUAL, 152)
    assert NOTHING_DECIDED.placements == {} and set(first.placements) == {n, x}


def test_a_definition_begins_with_the_last_definite_setter() -> None:
    """Setters of later routines are stored behind the inherited ones; a definite one drops those before it."""
    n, x = pair("n"), pair()
    first = after(copy(n, x), add_to(n, x))
    assert len(first.stored[n]) == 2
    second = after(add_to(n, pair("y")), decisions=first)
    assert len(second.stored[n]) == 3
    third = after(copy(n, x), decisions=second)
    assert len(third.stored[n]) == 1


def test_a_definite_write_that_reads_its_target_drops_nothing() -> None:
    """``n = n * 2`` in a later routine needs what n was: both setters are stored."""
    n, two = pair("n"), Node("two", ())
    first = after(copy(n, pair()))
    assert len(after(store(n, "mul", n, two), decisions=first).stored[n]) == 2


def test_scratch_is_not_read_by_another_routine() -> None:
    """A Local node read before this routine writes it is refused, through a definition too; written first it is not."""
    h, v = declared("h", Intent.LOCAL), declared("v", Intent.VIRTUAL)
    first = after(copy(h, pair()), copy(v, h))
    assert refused(copy(pair("a"), h), decisions=first) == ("placement/local-read", {"routine": "r", "nodes": ["h"]})
    assert refused(copy(pair("a"), v), decisions=first) == ("placement/local-read", {"routine": "r", "nodes": ["h"]})
    again = after(copy(h, pair("y")), copy(observed("a", (2,)), v), decisions=first)
    assert again.placements[h] == Placement(LOCAL, 22)


def test_a_definition_over_a_merge_buffer_stays_in_its_routine() -> None:
    """It is replayed in the routine that stored it; another that reads it, directly or not, is refused."""
    g, n, w = pair("g"), pair("n"), pair("w")
    here = planned(copy(n, Merge(g)), copy(w, n), copy(observed("a", (2,)), w))
    assert here.merge is g
    for read in (n, w):
        rule, subjects = refused(copy(observed("b", (2,)), read), decisions=here.decisions)
        assert (rule, subjects["nodes"]) == ("placement/merge-template", ["n"])


def test_a_virtual_node_without_a_definition_is_not_read() -> None:
    """Reading a node declared Virtual that nothing defined is refused."""
    found = refused(copy(pair("a"), declared("v", Intent.VIRTUAL)))
    assert found == ("placement/nothing-stored", {"routine": "r", "nodes": ["v"]})


@pytest.mark.parametrize(
    "case",
    [written_in_part, over_a_symbolic_extent, built_from_its_neighbour, read_before_its_last_setter,
     over_a_leaf_written_later, accumulated_into],
)  # fmt: skip
def test_a_node_declared_virtual_that_cannot_be_is_refused_with_the_code(case: Callable[[], Case]) -> None:
    """What would keep an undeclared node out of line refuses one declared Virtual, with the same code."""
    node, assignments = case()
    code = placed(node, *assignments).provenance
    node.require(Intent.VIRTUAL)
    assert refused(*assignments) == ("placement/virtual-illegal", {"routine": "r", "node": "n", "reason": code})


def test_a_virtual_node_is_written_again_only_where_it_can_stay_virtual() -> None:
    """A lineage's Virtual node that is read, then overwritten in one routine is refused with code 9."""
    n, m = pair("n"), pair("m")
    first = after(copy(n, pair()), copy(m, n))
    found = refused(copy(observed("a", (2,)), n), copy(n, pair("y")), decisions=first)
    assert found == ("placement/virtual-illegal", {"routine": "r", "node": "n", "reason": 9})
    through = refused(copy(observed("a", (2,)), m), copy(n, pair("y")), decisions=first)
    assert through == ("placement/virtual-illegal", {"routine": "r", "node": "n", "reason": 9})


def test_a_definition_never_reaches_itself() -> None:
    """Redefining a Virtual node through another's definition that reads it is refused with code 8."""
    n, m = pair("n"), pair("m")
    first = after(copy(n, pair()), copy(m, n))
    found = refused(store(n, "neg", m), decisions=first)
    assert found == ("placement/virtual-illegal", {"routine": "r", "node": "n", "reason": 8})


def test_a_definition_whose_leaf_a_later_routine_writes_is_replayed_over_it() -> None:
    """A later routine may write a leaf of a stored definition before it reads the node."""
    n, x = pair("n"), pair()
    first = after(copy(n, x), copy(pair("b"), x))
    plan = planned(copy(x, pair("y")), copy(observed("a", (2,)), n), decisions=first)
    assert plan.writes[0] is x and x not in plan.read_before_write


def test_a_fill_of_one_value_is_a_constant_scalar() -> None:
    """A one-element Fill is inlined whatever reads it; a second write of it is not covered by that rule."""
    n = Node("n", ())
    assert placed(n, Fetch(n, Fill((2.0,))), store(observed("a"), "add", n, n)) == Placement(VIRTUAL, 40)
    again = [Fetch(n, Fill((2.0,))), Fetch(n, Constant(1.0)), store(observed("a"), "add", n, n)]
    assert placed(n, *again) == Placement(LOCAL, 1)
