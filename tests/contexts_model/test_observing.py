"""Host reads of nodes without a buffer (context:113 to context:130; notes 5.7)."""

from __future__ import annotations

from tests.contexts_model.building import fetch, merged, node, plain, program, refused, rule, store

from counterfoil_reference import Context, inspection
from counterfoil_reference.intervals import watching
from counterfoil_spec.programs.assignments import Embed, Fetch
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.placements import Observability
from counterfoil_spec.programs.symbols import Symbol


def virtual(label: str) -> Node:
    """A node that is its definition alone."""
    made = plain(label)
    made.require(Intent.VIRTUAL)
    return made


def test_a_virtual_node_is_recomputed(root: Context) -> None:
    """Over its leaves as they are now; the context and its ledger are left as they were (context:125)."""
    x, v, u = node("x"), virtual("v"), virtual("u")
    fed = root.set_values(x, [1, 2])
    child, _ = fed.compile(program("define", store(v, x, x, operation="add"), store(u, v, x, operation="mul"),
                                   embedded=[v, u]))  # fmt: skip
    census, records, count = inspection.census(), child.ledger_records, inspection.compile_count()
    assert child.observability(u) is Observability.RECOMPUTABLE and child.placeholder(u) is None
    assert child.get_values(u) == [2.0, 8.0]
    child.set_values(x, [3, 4])
    assert child.get_values(u) == [18.0, 32.0]
    after = inspection.census()
    assert child.ledger_records == records and inspection.compile_count() == count + 2
    live = ("working_pools", "working_bytes", "constant_pools", "constant_bytes")
    assert {name: after[name] for name in live} == {name: census[name] for name in live}
    first, second, again = child.to_host_all([u, v, u])
    assert first is again and second.to_values() == [6.0, 8.0] and inspection.compile_count() == count + 3
    child.release()


def test_a_leaf_nobody_wrote_is_refused_by_the_recompute(root: Context) -> None:
    """The recompute's own run refuses, and leaves nothing behind (context:125)."""
    x, v = node("x"), virtual("v")
    child, _ = root.compile(program("make", fetch(x, 1), embedded=[x]))
    child, _ = child.compile(program("define", store(v, x), embedded=[v]))
    records = child.ledger_records
    found = refused(lambda: child.get_values(v))
    assert found == ("run/unwritten-inputs", {"routine": "recompute", "nodes": ["x"]})
    assert child.ledger_records == records


def test_reasons_and_their_precedence(root: Context) -> None:
    """Local before merge before launch bound before not in the context (context:115)."""
    x, a, h, i = node("x"), node("a"), plain("h"), Symbol("i", 3)
    h.require(Intent.LOCAL)
    e, m, s, all_of = virtual("e"), virtual("m"), virtual("s"), virtual("all")
    fed = root.set_values(x, [1, 2]).set_values(a, [1, 2])
    filled = fed.copy_from(fed, a, into_merge_buffer=True)
    child, _ = filled.compile(program(
        "define", store(h, x), store(s, h), Fetch(e, Embed(i)), fetch(m, 0), merged(m, a),
        store(all_of, e, m, operation="add"), embedded=[h, e, m, s, all_of],
    ))  # fmt: skip
    expected = {
        h: ("observability/local", ["h"], "<unobservable: placed Local>"),
        s: ("observability/local", ["s", "h"], "<unobservable: reads Local h>"),
        e: ("observability/launch-bound", ["e", "i"], "<unobservable: depends on i>"),
        m: ("observability/merge", ["m", "a"], "<unobservable: reads the merge buffer of a>"),
        all_of: ("observability/merge", ["all", "m", "a"], "<unobservable: reads the merge buffer of a>"),
    }
    for n, (what, path, placeholder) in expected.items():
        found = refused(lambda n=n: child.to_host(n))
        assert found is not None and found[0] == what and found[1]["path"] == path
        assert child.placeholder(n) == placeholder and child.explain_observability(n) is not None
    gone = node("gone")
    assert child.placeholder(gone) == "<unobservable: not in the context>"
    assert child.explain_observability(x) is None and child.observability(x) is Observability.STORED


def test_asking_changes_nothing(root: Context) -> None:
    """Classification compiles nothing and moves no count (contexts/pure-analysis)."""
    x, v = node("x"), virtual("v")
    child, _ = root.set_values(x, [1, 2]).compile(program("define", store(v, x), embedded=[v]))
    before = (inspection.census(), inspection.compile_count(), child.ledger_records, dict(child.placements))
    child.observability(v), child.explain_observability(v), child.placeholder(v), child.mem(v)
    assert (inspection.census(), inspection.compile_count(), child.ledger_records, dict(child.placements)) == before


def test_a_poisoned_root_refuses_before_it_compiles(root: Context) -> None:
    """C19."""
    x, v = node("x"), virtual("v")
    child, routine = root.set_values(x, [1, 2]).compile(program("define", store(v, x), embedded=[v]))
    child.poison_lineage(routine.routine_id, ValueError("lost"))
    count = inspection.compile_count()
    assert rule(lambda: child.to_host(v)) == "run/poisoned" and inspection.compile_count() == count


def test_an_upload_to_a_virtual_node_is_not_read(root: Context) -> None:
    """It is served as stored; routines replay the definition."""
    x, v, y = node("x"), virtual("v"), node("y")
    child, _ = root.set_values(x, [1, 2]).compile(program("define", store(v, x), embedded=[v]))
    fed = child.set_values(v, [9, 9])
    after, routine = fed.compile(program("use", store(y, v), embedded=[y]))
    assert after.get_values(v) == [9.0, 9.0] and after.run(routine).get_values(y) == [1.0, 2.0]
    after.release()


def test_discarded_nodes_are_refused(root: Context) -> None:
    """Before anything of them is looked at (context:128)."""
    x = node("x")
    fed = root.set_values(x, [1, 2])
    x.discarded = True
    for operation, call in {
        "to_host": lambda: fed.to_host(x), "set_values": lambda: fed.set_values(x, [1, 2]),
        "copy_from": lambda: root.copy_from(fed, x), "compile": lambda: root.compile(program("tick", fetch(x, 1))),
        "observability": lambda: fed.observability(x),
    }.items():  # fmt: skip
        assert refused(call) == ("compile/discarded-node", {"operation": operation, "node": "x"})


def test_a_recompute_tells_a_watcher_of_the_array_it_returns(root: Context) -> None:
    """What else would be right is recorded for the array returned, and for no throwaway buffer (N5)."""
    x, v = node("x"), virtual("v")
    child, _ = root.set_values(x, [1, 2]).compile(program("define", store(v, x, operation="exp"), embedded=[v]))
    with watching() as records:
        array = child.to_host(v)
    assert [record.dst for record in records] == [array] and len(records[0].accepts) == 2
    assert child.to_host(v).to_values() == array.to_values()
