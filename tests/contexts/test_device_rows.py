"""What backends, devices and the host tell of themselves; which backend is taken."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from tests.contexts.scenario import chain, node, program, put, refusal, stored

BACKENDS = ("cc", "multidev_cc", "cuda", "hip", "metal")


def test_the_host_in_a_fixed_order(cf: Any) -> None:
    """Key and value pairs, the same at every asking, and no device among them (context:9, context:11)."""
    first, second = cf.host_capabilities(), cf.host_capabilities()
    assert list(first.items()) == list(second.items())
    assert all(type(key) is str and type(value) is str for key, value in first.items())
    assert {"processor", "system", "compiler"} <= set(first)


def test_the_compiler_is_the_one_used(cf: Any) -> None:
    """A command that runs, or None where nothing is compiled (context:5)."""
    command = cf.compiler_command()
    if command is None:
        assert cf.host_capabilities()["compiler"] == "none"
    else:
        assert subprocess.run([command, "--version"], capture_output=True, check=True).stdout


def test_static_rows_are_of_all_devices(cf: Any) -> None:
    """One row for each device of the backend in order, those no root was made on among them (context:85)."""
    root = cf.Context.cpu(threads=5, ordinal=1)
    rows = [(row["ordinal"], row["name"]) for row in root.static_properties()]
    assert rows == [(ordinal, f"multidev_cc:{ordinal}") for ordinal in range(len(rows))] and len(rows) >= 5
    cf.Context.cpu(threads=2)
    assert len(root.static_properties()) == len(rows)


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_a_device(cf: Any, threads: int) -> None:
    """Data, one static row a device, and the same at every asking (context:83 to :93, context:170)."""
    contexts = [cf.Context.cpu(threads=threads, ordinal=ordinal) for ordinal in range(threads)]
    context = contexts[0]
    rows = {row["ordinal"]: row["name"] for row in context.static_properties()}
    assert {each.ordinal: each.name for each in contexts}.items() <= rows.items()
    asked = [
        context.static_properties,
        context.device_identity,
        context.hardware_limits,
        context.codegen_capabilities,
        context.backend_facts,
        context.debug_info,
    ]
    for ask in asked:
        assert json.loads(json.dumps(ask())) == json.loads(json.dumps(ask()))


def test_limits_are_numbers_or_none(cf: Any, root: Any) -> None:
    """A backend that binds no hardware axes has no limit on them (context:89)."""
    assert set(root.hardware_limits().values()) == {None}


def test_generated_code_has_the_dtypes_of_programs(root: Any) -> None:
    """Capabilities of code generation name what nodes may be (context:7, context:91)."""
    assert root.codegen_capabilities()["dtypes"] == ["float32", "float64", "int32", "int64"]


def test_names_and_ordinals(cf: Any) -> None:
    """The ordinal is the backend's: two backends both have 0 (context:148, context:150)."""
    one, two = cf.Context.cpu(), cf.Context.cpu(threads=2, ordinal=1)
    assert (one.backend_name, one.ordinal, one.name) == ("cc", 0, "cc:0")
    assert (two.backend_name, two.ordinal, two.name) == ("multidev_cc", 1, "multidev_cc:1")
    assert refusal(lambda: cf.Context.cpu(threads=2, ordinal=2)).subjects == {
        "backend": "multidev_cc",
        "ordinal": 2,
        "devices": 2,
    }


def test_facts_by_name(cf: Any) -> None:
    """A name is parsed: five are known, what merely contains one is not (context:95)."""
    for name in BACKENDS:
        assert cf.backend_facts_of_name(name)["name"] == name
    for name in ("", "CC", "ccc", "cc ", "cuda:0", "mycuda"):
        caught = refusal(lambda: cf.backend_facts_of_name(name))  # noqa: B023
        assert (caught.rule, caught.subjects) == ("contexts/unknown-backend", {"name": name})


def test_same_backend_is_identity(cf: Any) -> None:
    """Not equality of facts (context:97)."""
    one, other, several = cf.Context.cpu(), cf.Context.cpu(), cf.Context.cpu(threads=2)
    assert cf.same_backend(one, other)
    assert not cf.same_backend(one, several)
    child = one.decide_inline([])
    assert cf.same_backend(child, other)


@pytest.mark.parametrize("name", ["cuda", "hip", "metal"])
def test_what_the_machine_lacks(cf: Any, name: str) -> None:
    """A backend that is not there is told to be unavailable (context:19 to context:23)."""
    if cf.backend_facts_of_name(name)["available"]:
        assert getattr(cf.Context, name)().backend_name == name
    else:
        with pytest.raises(cf.BackendUnavailable):
            getattr(cf.Context, name)()


def test_bug_33_only_unavailability_moves_on(cf: Any) -> None:
    """A broken driver, an interrupt and a wrong assertion are no reason to take another backend (536; context:29)."""
    with pytest.raises(cf.BackendUnavailable) as caught:
        cf.Context.hip()
    assert cf.advances_to_next_backend(caught.value)
    for failure in (RuntimeError("driver"), KeyboardInterrupt(), AssertionError(), MemoryError()):
        assert not cf.advances_to_next_backend(failure)


def test_auto_takes_the_one_asked_for(cf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By argument, then by the setting, and not another in its place (context:27)."""
    monkeypatch.delenv("COUNTERFOIL_BACKEND", raising=False)
    assert cf.Context.auto("multidev_cc").backend_name == "multidev_cc"
    monkeypatch.setenv("COUNTERFOIL_BACKEND", "multidev_cc")
    assert cf.Context.auto().backend_name == "multidev_cc"
    assert cf.Context.auto("cc").backend_name == "cc"
    monkeypatch.setenv("COUNTERFOIL_BACKEND", "metal")
    with pytest.raises(cf.BackendUnavailable):
        cf.Context.auto()
    monkeypatch.setenv("COUNTERFOIL_BACKEND", "metallic")
    assert refusal(cf.Context.auto).rule == "contexts/unknown-backend"


def test_auto_takes_the_first_that_is_there(cf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """metal, cuda, hip, cc, in this order (context:27)."""
    monkeypatch.delenv("COUNTERFOIL_BACKEND", raising=False)
    there = [name for name in ("metal", "cuda", "hip", "cc") if cf.backend_facts_of_name(name)["available"]]
    assert cf.Context.auto().backend_name == there[0]


def test_failures_are_classified(cf: Any, root: Any) -> None:
    """The backend's own failures have a name; others are none of its business (context:75)."""
    with pytest.raises(cf.BackendUnavailable) as caught:
        cf.Context.metal()
    assert root.failure_classifier(caught.value) == "backend-unavailable"
    assert root.failure_classifier(ValueError("mine")) is None


def test_memory_is_what_we_requested(cf: Any, root: Any) -> None:
    """Used memory is the bytes of live pools on the device, whichever context has them (context:152, context:156)."""
    before = root.used_memory
    x, y = node("x", (100,)), stored("y", (100,))
    other = cf.Context.cpu().set_values(x, [0] * 100)
    assert root.used_memory == before + 400
    context, _ = chain(other, program("use", put(y, "add", x, x), embedded=[y]))
    assert root.used_memory == other.used_memory == before + 800
    context.release()
    other.release()
    assert root.used_memory == before
    assert root.free_and_total_memory is None
