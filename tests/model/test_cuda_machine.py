"""The machines over CUDA devices, on twins of the reference: one as far, one ahead, one that waits too little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.compare import first_divergence
from counterfoil_oracles.cuda import setting
from counterfoil_oracles.cuda.emulation import MODES, environment
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.machines.arrays import random_program
from counterfoil_oracles.machines.contexts.machine import context_program
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.program import Diverged
from counterfoil_oracles.subjects import second_copy
from counterfoil_spec.commands import Command


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    """Programs use CUDA devices, and none afterwards."""
    setting.use()
    yield
    setting.use(0)
    reference.inspection.model_cuda(None)


@pytest.fixture
def twin() -> ModuleType:
    """The reference imported once more, with devices of its own."""
    return second_copy("counterfoil_reference")


def doing_at_once(twin: Any, may: Callable[[Any], bool]) -> None:
    """Let the twin's CUDA devices perform what they are given at once, where ``may`` lets them."""
    timeline = twin.Device.__mro__[1]
    reach, append = timeline.append.__globals__["reach"], timeline.append

    def ahead(self: Any, *work: Any) -> int:
        number: int = append(self, *work)
        if self.name.startswith("cuda:") and may(self):
            reach((self, number))
        return number

    timeline.append = ahead


def test_a_twin_is_never_found_out(twin: ModuleType) -> None:
    """The reference agrees with its twin on any program, CUDA devices among the others."""
    for seed in range(8):
        random_program(reference, twin, seed, 120, Histogram())
    for seed in range(3):
        context_program(reference, twin, seed, 100, Tally())


@pytest.mark.parametrize("every", [1, 3])
def test_how_far_a_device_is_is_its_own_affair(twin: ModuleType, every: int) -> None:
    """A twin that does its work at once, or every third time all of it, is followed and never found out."""
    doing_at_once(twin, lambda device: device.submitted % every == 0)
    for seed in range(8):
        random_program(reference, twin, seed, 120, Histogram())


def found(twin: ModuleType, programs: int = 60) -> str | None:
    """Where programs part from the twin first, in words."""
    for seed in range(programs):
        try:
            random_program(reference, twin, seed, 120, Histogram())
        except Diverged as parted:
            return str(parted)
    return None


def test_a_missing_wait_is_found(twin: Any) -> None:
    """A twin whose host does not wait for CUDA devices is found, although its devices come late."""
    checks = twin.submit.__globals__["checks"]
    wait = checks.wait

    def hasty(buffer: Any, access: Any) -> None:
        if not buffer.memory.device.name.startswith("cuda:"):
            wait(buffer, access)

    checks.wait = hasty
    assert "has reached" in (found(twin) or "")


def test_work_waited_for_before_a_refusal_is_its_own_affair(twin: Any) -> None:
    """Whether memory fits in a budget depends on how far the work is that holds some: the reference follows."""
    twin.inspection.model_cuda(setting.DEVICES)
    device = type(twin.cuda(0))
    room = device.room

    def after_its_work(self: Any, nbytes: int) -> None:
        self.advance(self.submitted - self.reached)
        room(self, nbytes)

    device.room = after_its_work
    held = {"device": {"ref": "d"}, "nbytes": 8}
    commands = [
        Command(do="cuda", args={"ordinal": 0}, bind="d"),
        Command(do="buffer", args=held, bind="b"),
        Command(do="submit_fill", args={"buffer": {"ref": "b"}, "byte": 1}),
        Command(do="drop", args={"names": [{"ref": "b"}]}),
        Command(do="device.set_budget", args={"device": {"ref": "d"}, "nbytes": 7}),
        Command(do="buffer", args=held, bind="c"),
    ]
    assert first_divergence(reference, twin, commands) is None


def test_work_out_of_order_is_found(twin: Any) -> None:
    """A twin whose work does not follow other devices' work is found."""
    timeline = twin.Device.__mro__[1]
    append = timeline.append
    timeline.append = lambda self, work, follows: append(self, work, [])
    assert found(twin) is not None


def found_in_contexts(twin: ModuleType, programs: int = 40) -> str | None:
    """Where programs of contexts part from the twin first, in words."""
    for seed in range(programs):
        try:
            context_program(reference, twin, seed, 100, Tally())
        except Diverged as parted:
            return str(parted)
    return None


def test_a_sync_that_does_not_wait_is_found(twin: Any) -> None:
    """A twin whose contexts only look whether their device is lost."""
    running = twin.Context.sync.__globals__["running"]

    def hasty(context: Any) -> None:
        if context.device.place.lost is not None:
            raise context.device.place.loss()

    running.sync = hasty
    assert found_in_contexts(twin) is not None


def test_a_lost_run_that_poisons_nobody_is_found(twin: Any) -> None:
    """A twin that does not notice that a run was under way when its device was lost is found."""
    running = twin.Context.sync.__globals__["running"]
    submit = running._submit

    def heedless(routine: Any, *rest: Any) -> None:
        submit(routine, *rest)
        routine.device.place.pending[-1].dropped = None

    running._submit = heedless
    assert "run/poisoned" in (found_in_contexts(twin) or "")


@pytest.mark.parametrize("forgotten", ["reads", "writes"])
def test_a_run_that_is_not_known_to_use_its_pools_is_found(twin: Any, forgotten: str) -> None:
    """A twin whose runs nothing waits for, as they are not known to read what they read, or to write anything."""
    running = twin.Context.sync.__globals__["running"]
    queue = running.queue

    def forgetful(place: Any, work: Any, reads: tuple[Any, ...], writes: tuple[Any, ...]) -> None:
        queue(place, work, *(((), writes) if forgotten == "reads" else ((*reads, *writes), ())))

    running.queue = forgetful
    assert found_in_contexts(twin) is not None


@pytest.mark.parametrize("mode", MODES)
def test_a_process_over_the_emulated_driver_is_told_its_mode(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the driver is emulated already only the mode changes."""
    monkeypatch.setenv("COUNTERFOIL_EMULATED", "1")
    assert environment(mode)["EMUCUDA_MODE"] == mode


def test_an_emulated_driver_that_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """HarnessError says which file is missing."""
    monkeypatch.delenv("COUNTERFOIL_EMULATED", raising=False)
    monkeypatch.setattr("counterfoil_oracles.cuda.emulation._BUILT", tmp_path)
    with pytest.raises(HarnessError, match=r"libcuda\.so\.1"):
        environment("lazy")
