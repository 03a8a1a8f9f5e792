"""The machine itself: repeatable, silent on a twin, and finding what is broken."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.check import check
from counterfoil_oracles.machines.arrays import random_program
from counterfoil_oracles.machines.choices import RandomChooser
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.plans import memory
from counterfoil_oracles.machines.program import Program
from counterfoil_oracles.replay import Verdict, replay
from counterfoil_oracles.subjects import second_copy
from counterfoil_spec.answers import Answer


@pytest.fixture
def twin() -> ModuleType:
    """The reference imported once more, with state of its own."""
    return second_copy("counterfoil_reference")


def test_a_twin_is_never_found_out(twin: ModuleType) -> None:
    """The reference agrees with its twin on any program."""
    for seed in range(20):
        random_program(reference, twin, seed, 120, Histogram())


def test_a_seed_draws_one_program(twin: ModuleType) -> None:
    """The same seed gives the same commands and outcomes."""
    traces = []
    for _ in range(2):
        with Program(reference, twin, RandomChooser(7), Histogram()) as program:
            program.run(memory.begin(program.world))
            program.run(memory.new_buffer(program.world))
            traces.append(program.trace)
    assert traces[0] == traces[1]


def test_the_rarest_situations_are_told() -> None:
    """A run that met nothing falls short of every answer and situation."""
    assert len(Histogram().shortfalls()) == 6 + 1 + len(Answer)


def forgets_overlap(half: Any) -> None:
    """A subject whose door does not see that operands share bytes."""
    right = half.door

    def wrong(written: Any, read: Any, f: Any, *args: Any) -> Any:
        answer = right(written, read, f, *args)
        return Answer.DONE if answer is Answer.OVERLAPPING else answer

    half.door = wrong


def leaks_on_exception(half: Any) -> None:
    """A subject whose door keeps its claims when the work raises."""
    right = half.door
    half.kept = []

    def wrong(written: Any, read: Any, f: Any, *args: Any) -> Any:
        try:
            return right(written, read, f, *args)
        except RuntimeError:
            half.kept.append(half.claims(read=[array.buffer for array in written]))
            half.kept[-1].__enter__()
            raise

    half.door = wrong


def forgets_the_reason(half: Any) -> None:
    """A subject that says of every death that the memory was freed."""
    right = half.Buffer.free

    def wrong(buffer: Any, why: str) -> None:
        right(buffer, "freed")

    half.Buffer.free = wrong


@pytest.mark.parametrize("defect", [forgets_overlap, leaks_on_exception, forgets_the_reason])
def test_a_defect_is_found_shrunk_and_kept(defect: Callable[[Any], None], twin: ModuleType, tmp_path: Any) -> None:
    """The check finds a defect, keeps a short program that shows it, and replaying that fails until it is mended."""
    defect(twin)
    report = check(reference, twin, seconds=60, directory=tmp_path, machines=("arrays",))
    (failure,) = report.failures
    assert len(failure.trace.steps) <= 12
    assert replay(failure.path, reference, twin).verdict is Verdict.FAILED
    assert replay(failure.path, reference, second_copy("counterfoil_reference")).verdict is Verdict.FIXED
