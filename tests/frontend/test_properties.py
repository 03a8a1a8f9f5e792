"""Whatever graph is built: who owns, zeroes and requires what, and the order of it within one comp (C2, C10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from counterfoil_spec import tensors as cf
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Fetch, leaves
from counterfoil_spec.programs.comps import Comp, Fragment, sequence
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import Refusal

steps = st.lists(
    st.tuples(st.sampled_from(["add", "mul", "relu", "stop"]), st.integers(0, 30), st.integers(0, 30)), max_size=12
)


def built(graph: Sequence[tuple[str, int, int]]) -> list[cf.Tensor]:
    """Tensors over two parameters, a Require_grad leaf and data; a step whose fragments form a cycle is left out."""
    made = [cf.param("v", ()), cf.param("w", ()), cf.leaf("a", ()), cf.data("x", ())]
    for operator, left, right in graph:
        a, b = made[-1 - left % len(made)], made[right % len(made)]
        try:
            made.append(combined(operator, a, b))
        except Refusal as refusal:
            assert refusal.rule == "frontend/fragment-cycle"
    return made


def combined(operator: str, a: cf.Tensor, b: cf.Tensor) -> cf.Tensor:
    """One step."""
    if operator == "stop":
        return cf.stop_gradient(a)
    return cf.relu(a) if operator == "relu" else cf.apply(operator, a, b)


def updates(session: cf.Session) -> list[Comp]:
    """Forward, zeroing, backprop of each root that has a gradient: what grad_update puts together."""
    comps = []
    for root in session.backprop_roots.values():
        assert root.diff is not None
        if not root.is_param:
            comps.append(sequence(root.forward, root.diff.zero_grads, root.diff.backprop))
    return comps


def is_backprop(fragment: Fragment) -> bool:
    """Whether it propagates from a gradient."""
    return fragment.kind == "backprop"


@given(steps)
def test_code_is_owned_once_and_gradients_are_zeroed_once(graph: list[tuple[str, int, int]]) -> None:
    """Over all roots together, no fragment is owned twice and no gradient zeroed twice."""
    with cf.Session() as session:
        built(graph)
        comps = updates(session)
        owned = Counter(f for comp in comps for f in comp.owned if is_backprop(f))
        zeroed = Counter(node for comp in comps for node in comp.zeroes)
        assert all(count == 1 for count in [*owned.values(), *zeroed.values()])


@given(steps)
def test_requires_are_what_accumulated_gradients_need_and_is_not_owned(graph: list[tuple[str, int, int]]) -> None:
    """Each gradient accumulated is propagated by a fragment owned or required here, unless it is a leaf's."""
    with cf.Session() as session:
        made = built(graph)
        of_leaves = {tensor.grad for tensor in made[:4]}
        for comp in updates(session):
            required = [fragment.gradient for fragment in comp.requires]
            own = [fragment.gradient for fragment in comp.owned if is_backprop(fragment)]
            needed = {node for node in comp.accumulates if node not in of_leaves}
            flows = {fragment.gradient for fragment in comp.requires}
            assert flows == {node for node in needed if node not in own and propagates(made, node)}
            assert not set(required) & set(own)


def propagates(made: Sequence[cf.Tensor], grad: Node) -> bool:
    """Whether the tensor of that gradient has anything to propagate."""
    return any(tensor.diff is not None and tensor.grad is grad and not tensor.diff.fragment.empty for tensor in made)


@given(steps)
def test_within_one_comp_gradients_are_zeroed_then_contributed_then_propagated(
    graph: list[tuple[str, int, int]],
) -> None:
    """A gradient's reset precedes every addition into it, and those precede every read of it (C10)."""
    with cf.Session() as session:
        built(graph)
        for comp in updates(session):
            code = list(leaves(comp.code))
            for grad in comp.accumulates:
                resets = [at for at, leaf in enumerate(code) if isinstance(leaf, Fetch) and leaf.target is grad]
                added = [at for at, leaf in enumerate(code) if isinstance(leaf, Accumulate) and leaf.target is grad]
                reads = [at for at, leaf in enumerate(code) if reads_node(leaf, grad)]
                assert all(reset < add for reset in resets for add in added)
                assert all(add < read for add in added for read in reads)


def reads_node(leaf: Assignment, node: Node) -> bool:
    """Whether an assignment reads a node."""
    return isinstance(leaf, Accumulate) and any(operand.node is node for operand in leaf.operands)


@given(steps)
def test_definitions_precede_reads(graph: list[tuple[str, int, int]]) -> None:
    """In the forward code of any root, what it defines is defined before it is read."""
    with cf.Session() as session:
        built(graph)
        for root in session.forward_roots.values():
            code = list(leaves(root.forward.code))
            for at, leaf in enumerate(code):
                assert not any(reads_node(earlier, leaf.target) for earlier in code[:at])


@given(steps)
def test_what_is_written_may_be_allocated(graph: list[tuple[str, int, int]]) -> None:
    """A comp embeds every value it computes and every gradient it resets; the others it only adds into."""
    with cf.Session() as session:
        built(graph)
        for comp in updates(session):
            written = {leaf.target for leaf in leaves(comp.code)}
            assert written - set(comp.embedded) <= set(comp.unreset)
            assert set(comp.zeroes) <= set(comp.embedded)
