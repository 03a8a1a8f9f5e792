"""Uploads, reads and copies (notes 5.8; docs/contexts.md, section 6)."""

from __future__ import annotations

from tests.contexts_model.building import fetch, node, plain, program, refused, rule, store

from counterfoil_reference import Context, from_values
from counterfoil_spec.dtypes import float64, int32
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.symbols import Symbol


def test_uploads_say_what_differs(root: Context) -> None:
    """Counts, types, ranges, dtypes and extents are refused by name, changing nothing."""
    n, k = node("n"), Node("k", (2,), int32)
    wrong = from_values(float64, [2], [1, 2])
    assert refused(lambda: root.set_values(n, [1])) == ("arrays/values-count", {"values": 1, "shape": [2]})
    assert rule(lambda: root.set_values(k, [0.5, 1])) == "dtypes/value-type"
    assert rule(lambda: root.set_values(k, [2**31, 1])) == "dtypes/value-range"
    expected = {"node": "n", "expected": ["float32", [2]], "given": ["float64", [2]]}
    assert refused(lambda: root.from_host(n, wrong)) == ("transfers/array-differs", expected)
    assert rule(lambda: root.set_value(n, [2], 1)) == "arrays/index-range"
    absent = {"operation": "set_value", "node": "n", "backend": "cc"}
    assert refused(lambda: root.set_value(n, [1], 1)) == ("transfers/absent", absent)
    assert not root.mem(n)


def test_one_element_needs_its_neighbours(root: Context) -> None:
    """An element is set among written ones, or zero-valid ones (C11)."""
    x = node("x")
    child, _ = root.compile(program("make", fetch(x, 1), embedded=[x]))
    assert refused(lambda: child.set_value(x, [0], 5)) == ("transfers/unwritten-value", {"node": "x"})
    x.mark_zero_valid()
    assert child.set_value(x, [0], 5).get_values(x) == [5.0, 0.0]


def test_slice_views_are_read_through_their_parents(root: Context) -> None:
    """A view has no buffer (context:126)."""
    p = Node("p", (3, 2))
    row = Node("row", (2,), slice_of=(p, Symbol("i", 3)))
    for operation, call in {
        "to_host": lambda: root.to_host(row), "set_values": lambda: root.set_values(row, [1, 2]),
        "copy_from": lambda: root.copy_from(root, row), "observability": lambda: root.observability(row),
    }.items():  # fmt: skip
        assert refused(call) == ("transfers/slice-view", {"operation": operation, "node": "row", "parent": "p"})


def test_points(root: Context) -> None:
    """A vector's elements, a matrix's column, pairs of columns (context:142, context:144)."""
    v, m, s = plain("v"), Node("m", (2, 3)), Node("s", ())
    fed = root.set_values(v, [1, 2]).set_values(m, range(6)).set_values(s, [1])
    assert fed.points_1d(v) == [1.0, 2.0] and fed.points_1d(m, 2) == [2.0, 5.0]
    assert fed.points_2d(m, 2, 0) == [(2.0, 0.0), (5.0, 3.0)]
    assert refused(lambda: fed.points_1d(m, 3)) == ("arrays/index-range", {"index": [3], "shape": [2, 3]})
    assert refused(lambda: fed.points_2d(v)) == ("arrays/index-rank", {"index": [0, 1], "rank": 1})
    assert rule(lambda: fed.points_1d(s)) == "arrays/index-rank"


def test_copies(root: Context) -> None:
    """Into a context that lacks the node, over a buffer it has, of a literal, and across backends (notes 6)."""
    n, c = node("n"), Node("c", (2,), literal=[5, 6])
    fed, other, away = root.set_values(n, [1.5, 2.25]), Context.cpu(), Context.cpu(threads=2)
    copied = other.copy_from(fed, n)
    assert copied.get_values(n) == [1.5, 2.25] and copied.buffer_written(n) and copied.is_initialized(n)
    assert copied.lifecycle_depth == 0 and copied.copy_from(fed.set_values(n, [3, 4]), n).get_values(n) == [3.0, 4.0]
    assert other.copy_from(root, c).get_values(c) == [5.0, 6.0]
    assert away.copy_from(fed, n).get_values(n) == [3.0, 4.0]
    assert refused(lambda: other.copy_from(root, node("k"))) == (
        "observability/needs-context", {"node": "k", "path": ["k"]},
    )  # fmt: skip


def test_a_value_nobody_wrote_is_copied_as_it_is(root: Context) -> None:
    """And is no written record in the destination."""
    x = node("x")
    child, _ = root.compile(program("make", fetch(x, 1), embedded=[x]))
    copied = Context.cpu().copy_from(child, x)
    assert copied.get_values(x) == [0.0, 0.0] and not copied.buffer_written(x) and not copied.is_initialized(x)


def test_an_array_in_place(root: Context) -> None:
    """Writes through it show; where nothing is stored it is absent."""
    x, c = node("x"), Node("c", (2,), literal=[5, 6])
    fed = root.set_values(x, [1, 2])
    fed.array(x).set([0], 9)
    assert fed.get_values(x) == [9.0, 2.0] and fed.to_host(c).to_values() == [5.0, 6.0]
    assert rule(lambda: fed.array(c)) == "transfers/absent"


def test_scratch_is_not_written(root: Context) -> None:
    """A node placed Local, or declared so, takes no upload and no copy (context:132)."""
    h, x, y = plain("h"), node("x"), node("y")
    h.require(Intent.LOCAL)
    fed = root.set_values(x, [1, 2])
    assert refused(lambda: root.set_values(h, [1, 2])) == (
        "transfers/local", {"operation": "set_values", "node": "h", "provenance": 22},
    )  # fmt: skip
    child, routine = fed.compile(program("use", store(h, x), store(y, h), embedded=[h, y]))
    assert child.run(routine).get_values(y) == [1.0, 2.0]
    assert rule(lambda: child.set_values(h, [1, 2])) == rule(lambda: child.copy_from(fed, h)) == "transfers/local"
    assert refused(lambda: child.get_values(h)) == (
        "observability/local", {"node": "h", "path": ["h"], "provenance": 22},
    )  # fmt: skip
    assert child.placeholder(h) == "<unobservable: placed Local>"
