"""Roots by ordinal, and what a device tells of itself."""

from __future__ import annotations

import json

import pytest
from tests.contexts.scenario import node, refusal
from tests.contexts_cuda.emulated import EMULATED, told
from tests.contexts_cuda.half import devices

import counterfoil as cf


@pytest.fixture(autouse=True)
def every_mode(mode: str) -> None:
    """Each test in each mode of the driver."""


def test_names_and_ordinals() -> None:
    """As on every backend; the ordinals are the driver's."""
    context = cf.Context.cuda()
    assert (context.backend_name, context.ordinal, context.name) == ("cuda", 0, "cuda:0")
    for ordinal in (-1, devices()):
        caught = refusal(lambda: cf.Context.cuda(ordinal))  # noqa: B023
        assert (caught.rule, caught.subjects) == (
            "contexts/ordinal",
            {"backend": "cuda", "ordinal": ordinal, "devices": devices()},
        )


def test_auto_and_the_setting_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, by COUNTERFOIL_BACKEND, and before the CPU where nothing is asked for (context:27)."""
    monkeypatch.delenv("COUNTERFOIL_BACKEND", raising=False)
    assert cf.Context.auto().backend_name == "cuda"
    assert cf.Context.auto("cuda").name == "cuda:0"
    monkeypatch.setenv("COUNTERFOIL_BACKEND", "cuda")
    assert cf.Context.auto().backend_name == "cuda"
    assert cf.Context.auto("cc").backend_name == "cc"


def test_rows_of_a_device() -> None:
    """Data, one static row a device of the driver, and the same at every asking (context:83 to :93, context:170)."""
    contexts = [cf.Context.cuda(ordinal) for ordinal in range(devices())]
    context = contexts[0]
    rows = {row["ordinal"]: row["name"] for row in context.static_properties()}
    assert rows == {each.ordinal: each.name for each in contexts}
    for ask in (
        context.static_properties, context.device_identity, context.hardware_limits, context.codegen_capabilities,
        context.backend_facts, context.debug_info,
    ):  # fmt: skip
        assert json.loads(json.dumps(ask())) == json.loads(json.dumps(ask()))
    assert all(isinstance(limit, int) and limit > 0 for limit in context.hardware_limits().values())
    assert context.codegen_capabilities()["dtypes"] == ["float32", "float64", "int32", "int64"]
    assert cf.backend_facts_of_name("cuda")["available"] is True
    assert cf.host_capabilities()["cuda"] != "none"


@pytest.mark.skipif(not EMULATED, reason="counts what the driver made")
def test_live_streams_are_those_that_the_driver_made() -> None:
    """As many as were made and not destroyed, after a capture too, which has one of its own meanwhile."""
    program = """
import ctypes
from tests.contexts_cuda.test_running import several
calls = ctypes.CDLL("libcuda.so.1").emucuda_calls
code, x, y = several()
context, routine = cf.Context.cuda().set_values(x, [1.0] * 200).compile(code)
for _ in range(3):
    context = context.run(routine)
context.sync()
made = calls(b"cuStreamCreate") - calls(b"cuStreamDestroy")
tell([context.debug_info()["live_streams"] - made, context.debug_info()["live_graphs"], calls(b"cuStreamDestroy") > 0])
"""
    assert told(program) == [0, 1, True]


def test_memory_is_what_was_requested() -> None:
    """Used memory is the bytes of live pools on the device; free and total memory are the driver's (context:156)."""
    root = cf.Context.cuda()
    before = root.used_memory
    context = root.set_values(node("x", (100,)), [0.0] * 100)
    assert root.used_memory == before + 400
    reading = root.free_and_total_memory
    assert reading is not None and 0 < reading[0] <= reading[1]
    context.release()
    assert root.used_memory == before


def test_what_does_not_fit_is_refused() -> None:
    """Nothing is allocated, and the failure has a name (context:75)."""
    device, root = cf.cuda(0), cf.Context.cuda()
    before = cf.inspection.census()
    device.budget = device.live_bytes() + 4000
    try:
        with pytest.raises(cf.DeviceMemoryExhausted) as caught:
            root.set_values(node("x", (2000,)), [0.0] * 2000)
        assert root.failure_classifier(caught.value) == "device-memory-exhausted"
        assert root.set_values(x := node("x", (10,)), [1.0] * 10).get_values(x) == [1.0] * 10
    finally:
        device.budget = None
    after = cf.inspection.census()
    assert after["pools_allocated"] == before["pools_allocated"] + 1
