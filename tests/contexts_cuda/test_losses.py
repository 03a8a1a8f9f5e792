"""A driver that fails in the middle: what is lost, what is poisoned, and what goes on. In processes of their own."""

from __future__ import annotations

import pytest
from tests.contexts_cuda.emulated import MODES, told

PROGRAM = """
from tests.contexts_cuda.test_running import several

comp, x, y = several()
ONES = [1.0] * 200
other = cf.Context.cuda(1).set_values(x, ONES)
idle = cf.Context.cuda().set_values(y, ONES)
idle.sync()
host = cf.Context.cpu().set_values(x, ONES)
context, routine = cf.Context.cuda().set_values(x, ONES).compile(comp)
context.sync()

def after():
    failed = context.poisoned_failure
    return {
        "poisoned": failed is not None and type(failed).__name__,
        "sync": rule(context.sync), "run": rule(lambda: context.run(routine)), "read": rule(lambda: context.to_host(y)),
        "write": rule(lambda: context.set_values(x, ONES)),
        "idle": rule(idle.sync), "idle read": rule(lambda: idle.to_host(y)),
        "idle poisoned": idle.poisoned_failure is not None,
        "other": other.get_values(x) == ONES, "host": host.get_values(x) == ONES,
    }
"""

POISONED = {
    "poisoned": "Lost", "sync": "run/poisoned", "run": "run/poisoned", "read": "run/poisoned", "write": "run/poisoned",
    "idle": "memory/lost", "idle read": "memory/lost", "idle poisoned": False,
    "other": True, "host": True,
}  # fmt: skip
"""What is left of a root whose run was under way, of one beside it, of another device, and of the host."""


@pytest.mark.parametrize(("mode", "nth"), [("eager", 1), ("lazy", 2), ("shuffled", 2)])
def test_a_launch_that_is_refused_loses_the_device(mode: str, nth: int) -> None:
    """The first or the second kernel of a run: the run raises Lost and poisons its root, not the one beside it."""
    body = "found = rule(lambda: context.run(routine))\ntell([found, after()])\n"
    assert told(PROGRAM + body, mode=mode, fail=f"cuLaunchKernel:{nth}=700") == ["memory/lost", POISONED]


@pytest.mark.parametrize("mode", MODES)
def test_a_kernel_that_stops_half_way(mode: str) -> None:
    """Whoever is told of it first, the run itself or who waits for it, is told Lost; the root is poisoned by then."""
    body = "found = rule(lambda: context.run(routine).sync())\ntell([found, after()])\n"
    assert told(PROGRAM + body, mode=mode, fail="cuLaunchKernel:2@700") == ["memory/lost", POISONED]


@pytest.mark.parametrize("mode", MODES)
def test_a_lost_context_is_released(mode: str) -> None:
    """Its pools are given up: the census is as it was before it."""
    body = """
before = cf.inspection.census()
rules = [rule(lambda: context.run(routine).sync()), rule(context.release), rule(context.release)]
left = cf.inspection.census()
tell([rules, before["working_pools"] - left["working_pools"], rule(context.sync)])
"""
    rules, freed, synced = told(PROGRAM + body, mode=mode, fail="cuLaunchKernel:1@700")
    assert (rules, synced) == (["memory/lost", None, None], "release/dead-handle")
    assert freed == 1


def test_a_lost_device_makes_no_context() -> None:
    """Roots can be made; what allocates is refused, and the failure is the device's."""
    body = """
cf.cuda(0).lose("unplugged")
caught = refusal(lambda: cf.Context.cuda().set_values(x, ONES))
rules = [rule(context.sync), rule(lambda: context.run(routine))]
tell([caught.rule, caught.subjects, context.poisoned_failure is None, *rules])
"""
    assert told(PROGRAM + body) == [
        "memory/lost", {"device": "cuda:0", "why": "unplugged"}, True, "memory/lost", "memory/lost",
    ]  # fmt: skip


def test_losing_a_device_poisons_what_was_under_way() -> None:
    """A run that is pending when the device is given up may be half done."""
    body = """
context = context.run(routine)
cf.cuda(0).lose("unplugged")
tell([type(context.poisoned_failure).__name__, rule(context.sync), rule(lambda: context.run(routine))])
"""
    assert told(PROGRAM + body, mode="lazy") == ["Lost", "run/poisoned", "run/poisoned"]


@pytest.mark.parametrize(
    ("mode", "fail", "pools"),
    [
        ("eager", "cuMemcpyHtoDAsync:4=700", 0),
        ("lazy", "cuMemcpyHtoDAsync:4@700", 1),
        ("lazy", "cuMemsetD8Async:5=700", 0),
    ],
)
def test_a_failing_upload_gives_its_pool_back(mode: str, fail: str, pools: int) -> None:
    """The fill or the copy of an upload that allocates fails at the driver: Lost, and nobody is poisoned.

    A copy that the driver takes and fails later leaves a value with a pool, which its release gives up.
    """
    body = """
before = cf.inspection.census()["working_pools"]
found = rule(lambda: idle.set_values(stored("fresh", (100,)), [1.0] * 100).sync())
tell([found, cf.inspection.census()["working_pools"] - before, idle.poisoned_failure is None, rule(idle.release)])
"""
    assert told(PROGRAM + body, mode=mode, fail=fail) == ["memory/lost", pools, True, None]


def test_a_compile_that_fails_to_load_gives_its_pools_back() -> None:
    """The driver does not load the code of a routine: Lost, and no pool, no id and no name of it."""
    body = """
before = cf.inspection.census()["working_pools"], idle.ledger_records
fresh = stored("fresh", (200,))
found = rule(lambda: idle.compile(program("more", put(fresh, "mul", y, y), embedded=[fresh])))
tell([found, (cf.inspection.census()["working_pools"], idle.ledger_records) == before])
"""
    assert told(PROGRAM + body, fail="cuModuleLoadDataEx:2=700") == ["memory/lost", True]


def test_where_the_driver_has_no_room() -> None:
    """DeviceMemoryExhausted, which changes nothing: less still fits."""
    body = """
caught = refusal(lambda: idle.set_values(stored("big", (1 << 24,)), [0.0] * (1 << 24)))
small = stored("small", (10,))
tell([caught.rule, idle.failure_classifier(caught), idle.set_values(small, [1.0] * 10).get_values(small)])
"""
    expected = ["memory/exhausted", "device-memory-exhausted", [1.0] * 10]
    assert told(PROGRAM + body, memory="32M") == expected


def test_a_broken_driver_is_no_reason_to_take_another_backend() -> None:
    """DriverFailed comes out of ``auto`` too; where no device is found the next backend is taken."""
    body = """
import counterfoil.cuda
found = []
for make in (cf.Context.auto, cf.Context.cuda):
    try:
        found.append(make().backend_name)
    except Exception as failure:
        found.append(type(failure).__name__)
tell(found)
"""
    assert told(body, fail="cuInit:1+=999") == ["DriverFailed", "DriverFailed"]
    assert told(body, devices="0") == ["cc", "BackendUnavailable"]


def test_a_loss_is_noticed_before_somebody_else_poisons() -> None:
    """A run was under way when the device was lost: that failure stays, although nobody asked in between."""
    body = """
context = context.run(routine)
cf.cuda(0).lose("unplugged")
context.poison_lineage(routine.routine_id, RuntimeError("the kernel died"))
tell(type(context.poisoned_failure).__name__)
"""
    assert told(PROGRAM + body, mode="lazy") == "Lost"
