"""A program compiled, fed, run and read."""

from __future__ import annotations

import pytest
from tests.contexts_model.building import add, fetch, node, program, refused, rule, store

from counterfoil_reference import Context, Reuse, inspection
from counterfoil_spec.programs.assignments import Accumulate, Read, block
from counterfoil_spec.programs.comps import comp
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.specs import parse
from counterfoil_spec.programs.symbols import Symbol


def test_a_product_of_matrices(root: Context) -> None:
    """A compiled einsum computes what its spec says."""
    a, b, c = Node("a", (2, 3)), Node("b", (3, 2)), Node("c", (2, 2))
    c.require(Intent.ON_DEVICE)
    product = Accumulate(c, "add", "mul", (Read(a), Read(b)), parse("i k, k j -> i j", c, [a, b], {}), True)
    fed = root.set_values(a, [1, 2, 3, 4, 5, 6]).set_values(b, [1, 0, 0, 1, 1, 1])
    child, routine = fed.compile(comp(block("product", product), [c]))
    done = child.run(routine)
    assert done.get_values(c) == [4.0, 5.0, 10.0, 11.0]
    assert (done.is_initialized(c), child.is_initialized(c), done.buffer_written(c)) == (True, False, True)
    child.release()
    fed.release()


def test_a_compile_allocates_and_a_run_does_not(root: Context) -> None:
    """Right after a compile its nodes have buffers and literals their values; nothing ran (notes 5.8)."""
    y, c = node("y"), Node("c", (20,), literal=list(range(20)))
    c.require(Intent.ON_DEVICE)
    total = Accumulate(y, "add", "identity", (Read(c),), parse("k -> i ; i=2", y, [c], {}), True)
    child, routine = root.compile(comp(block("use", total), [y]))
    before = inspection.census()
    assert child.mem(y) and child.mem(c) and child.get_values(c) == [float(i) for i in range(20)]
    assert not child.buffer_written(y)
    child.run(routine)
    assert inspection.census() == before
    child.release()


def test_names_say_the_path(root: Context) -> None:
    """A value's name is its root's, then the routines compiled and the decisions taken."""
    x = node("x")
    child, routine = root.compile(program("init", fetch(x, 1), embedded=[x]))
    grand, _ = child.decide_inline([]).compile(program("step", add(x, x)), name="my step")
    assert (root.name, child.name, grand.name) == ("cc:0", "cc:0/init", "cc:0/init/decide/my step")
    assert (routine.name, routine.context.name) == ("init", "cc:0/init")
    assert root.lifecycle_depth == 0 and grand.lifecycle_depth == 3


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["step"], "step"),
        (["grad of w", "grad of w"], "grad_of_w"),
        (["loss grad", "loss sgd"], "loss_grad_then_sgd"),
        (["a x", "b x", "c x"], "a_x_then_b_then_c"),
        (["a", "a b"], "a_then_b"),
        (["!?", "b"], "b"),
        ([], None),
    ],
)
def test_names_are_derived_from_labels(root: Context, labels: list[str], name: str | None) -> None:
    """Labels are joined, each without the words it shares at its ends with the one before (context:31)."""
    x = node("x")
    code = [block(label, fetch(x, 1)) for label in labels] or [fetch(x, 1)]
    made = comp(code[0] if len(code) == 1 else program("outer", *code).code.body, [x])  # type: ignore[union-attr]
    if name is None:
        assert refused(lambda: root.compile(made)) == ("compile/unnamed", {})
    else:
        assert root.compile(made)[1].name == name


def test_bindings_are_read_at_the_call(root: Context) -> None:
    """A row picked by a symbol is the one it held when run was called (context:59)."""
    p, y, i = Node("p", (3, 2)), node("y"), Symbol("i", 3)
    row = Node("row", (2,), slice_of=(p, i))
    child, routine = root.set_values(p, range(6)).compile(program("row", store(y, row), embedded=[y]))
    seen = []
    for value in (2, 0):
        i.set(value)
        child.run(routine)
        i.set(1)
        seen.append(child.get_values(y))
    assert seen == [[4.0, 5.0], [0.0, 1.0]] and routine.bindings == (i,)


@pytest.mark.parametrize(
    ("value", "fault"), [(None, "unassigned"), (-1, "negative"), (3, "past range"), (2**31, "past range")]
)
def test_bindings_are_checked(root: Context, value: int | None, fault: str) -> None:
    """A binding without a value, below 0 or past its range is refused by name (context:71)."""
    p, y, i = Node("p", (3, 2)), node("y"), Symbol("i", 3)
    row = Node("row", (2,), slice_of=(p, i))
    child, routine = root.set_values(p, range(6)).compile(program("row", store(y, row), embedded=[y]))
    i.value = value
    expected = ("run/launch-binding", {"routine": "row", "bindings": [["i", value, fault]]})
    assert refused(lambda: child.run(routine)) == expected
    assert refused(lambda: child.check_launch_bindings(routine)) == expected
    assert refused(lambda: child.check_lineage_runnable(routine)) is None


def test_a_transform_returns_kernels(root: Context) -> None:
    """A transform sees the lowered routine once; an empty list is refused before anything is counted (context:31)."""
    x, y = node("x"), node("y")
    made = program("two", fetch(x, 1), store(y, x), embedded=[x, y])
    seen: list[Lowered] = []

    def each(lowered: Lowered) -> list[Lowered]:
        seen.append(lowered)
        return [Lowered((statement,)) for statement in lowered.body]

    child, routine = root.compile(made, transform=each)
    assert child.run(routine).get_values(y) == [1.0, 1.0] and len(seen) == 1
    count = inspection.compile_count()
    assert rule(lambda: root.compile(made, transform=lambda lowered: [])) == "compile/empty-transform"
    assert inspection.compile_count() == count


def test_a_reuse_cell_is_of_one_program(root: Context) -> None:
    """Compiles given one cell name the same context, comp, bindings and name, or say what differs (context:35)."""
    x = node("x")
    made, cell = program("init", fetch(x, 1), embedded=[x]), Reuse()
    child, first = root.compile(made, reuse=cell)
    _, second = root.compile(made, reuse=cell)
    assert first.routine_id != second.routine_id
    other = program("other", fetch(x, 2), embedded=[x])
    assert refused(lambda: child.compile(made, reuse=cell)) == ("compile/reuse-differs", {"field": "context"})
    assert refused(lambda: root.compile(other, reuse=cell)) == ("compile/reuse-differs", {"field": "comp"})
    assert refused(lambda: root.compile(made, name="n", reuse=cell)) == ("compile/reuse-differs", {"field": "name"})
    both = refused(lambda: root.compile(made, prelowered=Lowered(), reuse=cell))
    assert both == ("compile/exclusive-arguments", {})


def test_padding_keeps_its_value() -> None:
    """A padded node's margins hold their value through allocation, uploads and reads (context:125)."""
    n = Node("n", (2,), padding=[(1, 1)], margin=-1.0)
    fed = Context.cpu().set_values(n, [5, 6])
    assert fed.to_host(n).to_values() == [-1.0, 5.0, 6.0, -1.0]
    again = fed.from_host(n, fed.to_host(n)).set_value(n, [1], 7)
    assert again.to_host(n).to_values() == [-1.0, 5.0, 7.0, -1.0] and again.get_value(n, [1]) == 7.0
