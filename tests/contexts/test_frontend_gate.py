"""Programs and nodes the frontend took back are refused before anything of them is looked at."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import refusal, rule


def taken_back(cf: Any, root: Any) -> tuple[Any, Any, Any]:
    """A context with data x uploaded and -x compiled, both then rewound past: the context, x, the comp."""
    with cf.tensor.closure():
        pass
    x = cf.tensor.data("x", (2,))
    comp = cf.tensor.forward(-x)
    context, _ = root.set_values(x.value, [1, 2]).compile(comp)
    cf.tensor.rewind_to_last_closure()
    return context, x.value, comp


def test_a_discarded_node_is_refused_at_every_door(cf: Any, root: Any) -> None:
    """Reads, uploads, copies and compiles name it (context:128)."""
    with cf.tensor.Session():
        context, x, comp = taken_back(cf, root)
        calls = {
            "compile": lambda: root.compile(comp),
            "to_host": lambda: context.to_host(x),
            "to_host_all": lambda: context.to_host_all([x]),
            "get_values": lambda: context.get_values(x),
            "get_value": lambda: context.get_value(x, (0,)),
            "set_values": lambda: context.set_values(x, [1, 2]),
            "set_value": lambda: context.set_value(x, (0,), 1),
            "from_host": lambda: context.from_host(x, cf.from_values(cf.float32, (2,), [1, 2])),
            "copy_from": lambda: root.copy_from(context, x),
            "observability": lambda: context.observability(x),
        }
        for operation, call in calls.items():
            caught = refusal(call)
            assert caught.rule == "compile/discarded-node", operation
            assert caught.subjects["node"] == "x"


def test_what_was_compiled_before_still_runs(cf: Any, root: Any) -> None:
    """A routine compiled before the rewind is a routine."""
    with cf.tensor.Session():
        with cf.tensor.closure():
            pass
        x = cf.tensor.data("x", (2,))
        y = -x
        y.value.set_observable()
        context, routine = root.set_values(x.value, [1, 2]).compile(cf.tensor.forward(y))
        cf.tensor.rewind_to_last_closure()
        after = context.run(routine)
        assert cf.inspection.array(after, y.value).to_values() == [-1.0, -2.0]


def test_a_tainted_session_is_refused_until_rewound(cf: Any, root: Any) -> None:
    """A closure that failed taints the programs of its session, naming what failed, and no other session's."""
    with cf.tensor.Session():
        other = cf.tensor.forward(cf.tensor.literal([1.0, 2.0]) * 2)
    with cf.tensor.Session():
        with cf.tensor.closure():
            comp = cf.tensor.forward(cf.tensor.literal([1.0, 2.0]) * 2)
        with pytest.raises(KeyError), cf.tensor.closure():
            raise KeyError("half")
        caught = refusal(lambda: root.compile(comp))
        assert (caught.rule, caught.subjects["operation"]) == ("compile/tainted-session", "compile")
        root.compile(other)
        cf.tensor.rewind_to_last_closure()
        root.compile(comp)


def test_taint_comes_before_discarded_nodes(cf: Any, root: Any) -> None:
    """The session is looked at first, and both before ownership."""
    with cf.tensor.Session():
        context, _, comp = taken_back(cf, root)
        assert rule(lambda: context.compile(comp)) == "compile/discarded-node"
        with pytest.raises(KeyError), cf.tensor.closure():
            raise KeyError("half")
        assert rule(lambda: context.compile(comp)) == "compile/tainted-session"
