"""Coverage: when a rule counts as triggered and as passed."""

from pathlib import Path
from typing import Any

from counterfoil_oracles.coverage import OUT_OF_REACH, Coverage, law_holes
from counterfoil_spec.commands import Command, Refused, Returned
from counterfoil_spec.rules import registry

RANGE = Refused("arrays/index-range", {})


def get(index: Any, array: str = "a") -> Command:
    """A read of an element."""
    return Command(do="array.get", args={"array": {"ref": array}, "index": index})


def passed(*steps: tuple[Command, Any]) -> bool:
    """Whether a program passes the rule of indices out of range."""
    coverage = Coverage()
    for command, outcome in steps:
        coverage.observe(command, outcome)
    assert coverage.triggered["arrays/index-range"] == 1
    return coverage.passed["arrays/index-range"] > 0


def test_a_call_that_differs_in_one_operand_passes() -> None:
    """The accepted call may differ in one argument or in one entry of one, before or after the refused one."""
    assert passed((get([0, 9]), RANGE), (get([0, 1]), Returned(0)))
    assert passed((get([0, 1]), Returned(0)), (get([0, 9]), RANGE))
    assert passed((get([0, 9], "b"), RANGE), (get([0, 9], "a"), Returned(0)))


def test_a_call_that_differs_in_two_operands_does_not_pass() -> None:
    """An accepted call of another array at another index says nothing about the refused one."""
    assert not passed((get([9]), RANGE), (get([0], "b"), Returned(0)))


def test_names_mean_nothing_in_another_program() -> None:
    """A call accepted in another program does not pass a rule."""
    coverage = Coverage()
    coverage.observe(get([9]), RANGE)
    coverage.begin()
    coverage.observe(get([0]), Returned(0))
    assert not coverage.passed["arrays/index-range"]


def test_an_answer_is_a_refusal_of_its_rule() -> None:
    """A kernel that answers Off_host triggers door/off-host; Done on another operand passes it."""
    coverage = Coverage()
    for source, answer in (("far", "OFF_HOST"), ("near", "DONE")):
        args = {"name": "neg", "dst": {"ref": "z"}, "sources": [{"ref": source}]}
        coverage.observe(Command(do="kernel", args=args), Returned(answer))
    assert coverage.triggered["door/off-host"] and coverage.passed["door/off-host"]


def test_nothing_run_covers_nothing() -> None:
    """Every active refusal within reach is a hole of an empty run."""
    refusals = [rule for rule in registry().values() if rule.kind == "refusal" and rule.status == "active"]
    assert len(Coverage().holes()) == len([rule for rule in refusals if rule.id not in OUT_OF_REACH])


def test_a_law_needs_a_test_that_exists(tmp_path: Path) -> None:
    """A law without a test, a test that is not there, and a law that is none are holes."""
    (tmp_path / "test_x.py").write_text("def test_it(): pass\n")
    (tmp_path / "laws.toml").write_text(
        '"layouts/span" = ["test_x.py::test_it"]\n"layouts/canonical" = ["test_x.py::test_gone"]\n"no/law" = []\n'
    )
    holes = law_holes(tmp_path / "laws.toml", tmp_path)
    assert "layouts/canonical: test_x.py::test_gone does not exist" in holes
    assert "no/law: no such law" in holes and "layouts/contiguous: no test is named" in holes
    assert not [hole for hole in holes if hole.startswith("layouts/span")]
