"""Decisions, roots and what a context says of its device."""

from __future__ import annotations

import pytest
from tests.contexts_model.building import live_pools, node, plain, program, refused, rule, store

from counterfoil_reference import (
    BackendUnavailable,
    Context,
    DeviceMemoryExhausted,
    advances_to_next_backend,
    backend_facts_of_name,
    compiler_command,
    host_capabilities,
    inspection,
    same_backend,
)
from counterfoil_reference.contexts import roots
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.refusals import refuse


def test_a_decided_child_materializes(root: Context) -> None:
    """Later compiles of the child give the node a buffer; the parent and its other children do not (context:196)."""
    x, h, y = node("x"), plain("h"), node("y")
    fed = root.set_values(x, [1, 2])
    made = program("use", store(h, x), store(y, h), embedded=[h, y])
    decided = fed.decide_materialized([h])
    assert decided.placements == {h: Placement(Mode.ON_DEVICE, 24)} and fed.placements == {}
    assert decided.lifecycle_depth == 1 and not decided.same_release_unit(fed)
    with_buffer, without = decided.compile(made)[0], fed.compile(made)[0]
    assert with_buffer.mem(h) and not without.mem(h) and without.has_stored_computation(h)


def test_what_is_constrained_is_skipped(root: Context) -> None:
    """Nodes declared Virtual, Local or constant, or already decided, are left as they are (context:196)."""
    nodes = [plain(intent.value) for intent in (Intent.VIRTUAL, Intent.LOCAL, Intent.CONSTANT)]
    for each, intent in zip(nodes, (Intent.VIRTUAL, Intent.LOCAL, Intent.CONSTANT), strict=True):
        each.require(intent)
    assert root.decide_materialized(nodes).placements == {}


def test_decisions_are_final(root: Context) -> None:
    """What an earlier routine of the lineage decided stays; a sibling decides for itself (context:188, context:198)."""
    x, h, y = node("x"), plain("h"), node("y")
    fed = root.set_values(x, [1, 2])
    made = program("use", store(h, x), store(y, h), embedded=[h, y])
    child, _ = fed.compile(made)
    assert child.decide_materialized([h]).placements[h] == child.placements[h] == Placement(Mode.VIRTUAL, 152)
    sibling, _ = fed.decide_materialized([h]).compile(made)
    assert sibling.placements[h] == Placement(Mode.ON_DEVICE, 24)


def test_preferences_withdraw_each_other(root: Context) -> None:
    """Inline and footprint exclude each other per node: the later request wins (context:200)."""
    a, b = plain("a"), plain("b")
    child = root.decide_inline([a, b]).decide_footprint([a]).decide_reading("inline", [a])
    assert child.decisions.inline == {a, b} and child.decisions.footprint == frozenset()


def test_a_vector_of_decisions(root: Context) -> None:
    """One child per reading; empty ones only where asked for (context:204)."""
    a = plain("a")
    assert root.decide_readings([a], [], []).lifecycle_depth == 1
    assert root.decide_readings([a], [], [], skip_empty=False).lifecycle_depth == 3
    assert root.decide_readings([], [], []) is root
    assert rule(lambda: root.decide_reading("other", [])) == "arguments/wrong-type"


def test_roots_and_backends() -> None:
    """Names are parsed, ordinals exist, absent backends say so (context:19 to context:29, context:95)."""
    assert Context.cpu(threads=3, ordinal=2).name == "multidev_cc:2"
    assert refused(lambda: Context.cpu(ordinal=1)) == (
        "contexts/ordinal", {"backend": "cc", "ordinal": 1, "devices": 1},
    )  # fmt: skip
    assert rule(lambda: Context.cpu(threads=0)) == "arguments/integer-range"
    for make in (Context.cuda, Context.hip, Context.metal):
        with pytest.raises(BackendUnavailable):
            make()
    assert refused(lambda: Context.auto("gpu")) == ("contexts/unknown-backend", {"name": "gpu"})
    assert rule(lambda: backend_facts_of_name("CC")) == "contexts/unknown-backend"
    assert rule(lambda: Context.auto("cuda")) == "memory/backend-unavailable"


def test_auto_moves_on_past_absent_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, then the environment's, then the first available one (context:27)."""
    monkeypatch.delenv("COUNTERFOIL_BACKEND", raising=False)
    assert Context.auto().backend_name == "cc"
    monkeypatch.setenv("COUNTERFOIL_BACKEND", "multidev_cc")
    assert Context.auto().backend_name == "multidev_cc" and Context.auto("cc").backend_name == "cc"
    monkeypatch.setenv("COUNTERFOIL_BACKEND", "metal")
    assert rule(Context.auto) == "memory/backend-unavailable"
    missing = refuse("memory/backend-unavailable", backend="hip", why="no driver")
    assert advances_to_next_backend(missing) and not advances_to_next_backend(RuntimeError("driver"))


def test_auto_names_what_it_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no backend is left the refusal lists them; another failure propagates at once (context:27)."""
    monkeypatch.delenv("COUNTERFOIL_BACKEND", raising=False)
    monkeypatch.setattr(roots, "AUTO", ("metal", "hip"))
    assert refused(Context.auto) == ("contexts/none-available", {"tried": ["metal", "hip"]})

    def broken(backend: str, ordinal: int) -> Exception:
        return OSError("the driver does not start")

    monkeypatch.setattr(roots, "unavailable", broken)
    with pytest.raises(OSError, match="driver"):
        Context.auto()


def test_failures_are_classified(root: Context) -> None:
    """What the backend explains, and what it does not (context:75)."""
    full = refuse("memory/exhausted", device="host", nbytes=1, used=1, budget=1)
    assert isinstance(full, DeviceMemoryExhausted) and root.failure_classifier(full) == "device-memory-exhausted"
    assert root.failure_classifier(refuse("memory/backend-unavailable", backend="hip", why="none")) is not None
    assert root.failure_classifier(RuntimeError("boom")) is None


def test_rows(root: Context) -> None:
    """What a context says of its device is static and names it (context:83 to context:97)."""
    assert same_backend(root, Context.cpu()) and not same_backend(root, Context.cpu(threads=2))
    assert root.backend_facts() == backend_facts_of_name("cc") and root.backend_facts()["name"] == "cc"
    assert [row["ordinal"] for row in root.static_properties()] == [0] and root.device_identity() is not None
    assert set(root.hardware_limits().values()) == {None} and root.free_and_total_memory is None
    assert compiler_command() is None and host_capabilities()["processor"] and root.codegen_capabilities()["dtypes"]
    assert root.debug_info()["backend"] == "cc"


def test_used_memory_is_the_devices(root: Context) -> None:
    """Live pools of all contexts of the device (context:152)."""
    before, x = root.used_memory, node("x")
    fed = Context.cpu().set_values(x, [1, 2])
    assert root.used_memory == before + x.nbytes
    fed.release()
    assert root.used_memory == before


def test_the_peak_is_a_height(root: Context) -> None:
    """It is at least what is live, and only a reset lowers it (context:154)."""
    x = node("x")
    fed = root.set_values(x, [1, 2])
    peak = inspection.census()["peak_pool_bytes"]
    fed.release()
    assert inspection.census()["peak_pool_bytes"] == peak
    inspection.reset_peak()
    counts = inspection.census()
    assert counts["peak_pool_bytes"] == counts["working_bytes"] + counts["constant_bytes"] < peak


def test_pools_are_packed_by_bump(root: Context) -> None:
    """Offsets are aligned to 32 and the size ends with the last node, in the order of uids (notes 3.6)."""
    small, large = Node("small", (1,)), Node("large", (16,))
    for each in (small, large):
        each.require(Intent.ON_DEVICE)
    before, pools = inspection.census()["working_bytes"], live_pools()
    child, _ = root.compile(program("use", store(large, small), store(small, small), embedded=[small, large]))
    assert inspection.census()["working_bytes"] == before + 96 and live_pools() == pools + 1
    child.release()


def test_lacking_nodes_are_named_together(root: Context) -> None:
    """All that the context neither binds nor may allocate, by uid (context:31)."""
    x, y, z = node("x"), node("y"), node("z")
    made = program("use", store(z, y, x, operation="add"))
    assert refused(lambda: root.compile(made)) == ("compile/lacks-nodes", {"routine": "use", "nodes": ["x", "y", "z"]})
