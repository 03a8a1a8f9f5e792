"""The context machine itself: repeatable, silent on a twin, and finding what is broken; the driver under it."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.check import check
from counterfoil_oracles.compare import Pair
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.holdings import SEAMS
from counterfoil_oracles.machines.choices import RandomChooser
from counterfoil_oracles.machines.contexts.machine import advance, context_program
from counterfoil_oracles.machines.contexts.plans import compiling
from counterfoil_oracles.machines.contexts.plans.stories import STORIES
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.program import Program
from counterfoil_oracles.replay import Verdict, replay
from counterfoil_oracles.subjects import second_copy
from counterfoil_spec.commands import Command, Fault, Refused, Returned


@pytest.fixture
def twin() -> ModuleType:
    """The reference imported once more, with state of its own."""
    return second_copy("counterfoil_reference")


def test_a_twin_is_never_found_out(twin: ModuleType) -> None:
    """The reference agrees with its twin on any program."""
    for seed in range(12):
        context_program(reference, twin, seed, 120, Tally())


def test_a_seed_draws_one_program(twin: ModuleType) -> None:
    """The same seed gives the same commands and outcomes."""
    traces = []
    for _ in range(2):
        with Program(reference, twin, RandomChooser(7), Tally(), None, ContextWorld) as program:
            assert isinstance(program.world, ContextWorld)
            program.run(compiling.begin(program.world))
            for _ in range(5):
                advance(program)
            traces.append(program.trace)
    assert traces[0] == traces[1]


def test_what_is_missing_is_told() -> None:
    """A run that met nothing falls short of both ratios and of every story."""
    assert len(Tally().shortfalls()) == 2 + len(STORIES) + len(SEAMS)


# --- defects ---------------------------------------------------------------------------------------------------------


def forgets_dependencies(half: Any) -> None:
    """A subject for which everything has run."""
    half.Context.can_run = lambda context, routine: True


def forgets_what_was_written(half: Any) -> None:
    """A subject that calls every buffer written."""
    half.Context.buffer_written = lambda context, node: bool(context.mem(node))


def releases_nothing(half: Any) -> None:
    """A subject that keeps what is released."""
    half.Context.release = lambda context: None


def asks_with_effect(half: Any) -> None:
    """A subject whose host reads leave a record behind, and no buffer."""
    right = half.Context.to_host

    def wrong(context: Any, node: Any) -> Any:
        context.ledger.names[-1] = None
        return right(context, node)

    half.Context.to_host = wrong


@pytest.mark.parametrize("defect", [forgets_dependencies, forgets_what_was_written, releases_nothing, asks_with_effect])
def test_a_defect_is_found_shrunk_and_kept(defect: Callable[[Any], None], twin: ModuleType, tmp_path: Any) -> None:
    """The check finds a defect, keeps a short program that shows it, and replaying that fails until it is mended."""
    defect(twin)
    report = check(reference, twin, seconds=60, directory=tmp_path, machines=("contexts",))
    (failure,) = report.failures
    assert len(failure.trace.steps) <= 25
    assert replay(failure.path, reference, twin, times=1).verdict is Verdict.FAILED
    assert replay(failure.path, reference, second_copy("counterfoil_reference"), times=1).verdict is Verdict.FIXED


# --- the driver ------------------------------------------------------------------------------------------------------


def ref(name: str) -> dict[str, str]:
    """A reference to an object by name."""
    return {"ref": name}


PROGRAM = [
    Command(do="node", args={"label": "x", "shape": [2]}, bind="x"),
    Command(do="node", args={"label": "y", "shape": [2]}, bind="y"),
    Command(
        do="comp",
        args={"label": "double", "code": [{"set": ref("y"), "of": [ref("x"), ref("x")], "op": "add"}],
              "embedded": [ref("y")]},
        bind="p",
    ),
    Command(do="context", args={"backend": "cpu"}, bind="r"),
    Command(do="set_values", args={"context": ref("r"), "node": ref("x"), "values": [1, 2]}, bind="v"),
    Command(do="compile", args={"context": ref("v"), "comp": ref("p")}, bind="c"),
]  # fmt: skip


@pytest.fixture
def driver() -> Iterator[Driver]:
    """A driver of the reference in which ``c`` and ``c.routine`` were compiled."""
    with Driver(reference) as made:
        assert made.run(PROGRAM) == [Returned(None)] * len(PROGRAM)
        yield made


def test_a_compile_binds_a_context_and_its_routine(driver: Driver) -> None:
    """The routine is there under the context's name, and both are forgotten together."""
    run = Command(do="run", args={"context": ref("c"), "routine": ref("c.routine")}, bind="after")
    read = Command(do="get_values", args={"context": ref("after"), "node": ref("y")})
    assert driver.run([run, read]) == [Returned(None), Returned([2.0, 4.0])]
    driver.execute(Command(do="drop", args={"names": [ref("c")]}))
    assert {"c", "c.routine"}.isdisjoint(driver.names)


def test_closing_a_driver_leaves_no_pool() -> None:
    """Every context that was made is released when the driver is closed, dropped ones too."""
    before = dict(reference.inspection.census())
    with Driver(reference) as made:
        made.run([*PROGRAM, Command(do="drop", args={"names": [ref("c"), ref("v")]})])
        assert reference.inspection.census()["working_pools"] > before["working_pools"]
    after = dict(reference.inspection.census())
    assert all(after[name] == before[name] for name in ("working_pools", "constant_pools"))


def test_a_failure_is_injected_at_the_passing_asked_for(driver: Driver) -> None:
    """The second passing of a seam fails, and none after it."""
    inject = Command(do="inject", args={"seam": "to-host-before-copy", "pass": 2})
    read = Command(do="to_host", args={"context": ref("v"), "node": ref("x")})
    right = Returned([1.0, 2.0])
    assert driver.run([inject, read, read, read])[1:] == [right, Fault("RuntimeError: injected"), right]


def test_failures_at_several_seams_say_where(driver: Driver) -> None:
    """Of several seams each fails once, in turn, and the text says at which; the tally counts it as that one's."""
    seams = ["from-host-before-copy", "from-host-before-await"]
    inject = Command(do="inject", args={"seam": seams, "pass": 1})
    write = Command(do="set_values", args={"context": {"ref": "r"}, "node": {"ref": "x"}, "values": [1, 2]}, bind="w")
    outcomes = driver.run([inject, write, write, write])
    assert outcomes[1:3] == [Fault(f"RuntimeError: injected at {seam}") for seam in seams]
    tally = Tally()
    for command, outcome in zip([inject, write, write, write], outcomes, strict=True):
        tally.count(command, outcome, [])
    assert tally.failed == dict.fromkeys(seams, 1) and isinstance(outcomes[3], Returned)


def test_a_refused_question_is_told_as_its_rule(driver: Driver) -> None:
    """Facts of a released context say which rule refuses a question, and the rest."""
    driver.execute(Command(do="context.release", args={"context": ref("v")}))
    facts = driver.execute(Command(do="context.facts", args={"context": ref("v"), "nodes": [ref("x")]}))
    assert isinstance(facts, Returned)
    assert facts.value["x"]["observability"] == {"refused": "release/dead-handle"}
    assert facts.value["name"] == "cc:0"


# --- what a pair of steps shows --------------------------------------------------------------------------------------


def test_a_check_that_says_less_than_the_run_is_a_divergence(monkeypatch: pytest.MonkeyPatch, twin: ModuleType) -> None:
    """Both halves alike, but check_runnable silent where run refuses: the law is broken, and told."""
    for half in (reference, twin):
        monkeypatch.setattr(half.Context, "check_runnable", lambda context, routine: None)
    args = {"context": ref("c"), "routine": ref("c.routine")}
    release = Command(do="context.release", args={"context": ref("v")})
    with Pair(reference, twin) as pair:
        for command in [*PROGRAM, release, Command(do="check_runnable", args=args)]:
            assert pair.step(command)[1] is None
        outcome, divergence = pair.step(Command(do="run", args=args))
    assert isinstance(outcome, Refused)
    assert divergence is not None and "check_runnable said None" in divergence.difference
