"""Where the reference itself fails, no rule says what is right: the harness is broken, and no target is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterfoil_oracles import cli
from counterfoil_oracles.compare import PLANNED_FAULTS
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.target import HarnessBroken
from counterfoil_oracles.targets.verdicts import Kind, judged
from counterfoil_spec.commands import Command, Fault, Header, Step, Trace, encode_trace
from counterfoil_spec.protocol import Errored, Profile, Refusal, TargetOutcome, Value

TOO_MANY = Command(do="kernel", args={"name": "neg", "dst": {"ref": "x"}, "sources": [{"ref": "x"}, {"ref": "x"}]})
FAULT = Fault("TypeError: neg takes 1 source but 2 were given")
ANSWERS = [
    Refusal(rule="door/shape-mismatch"), Refusal(message="one source, please"), Value("DONE"), Value("SHAPE_MISMATCH"),
    Errored("TypeError: one source"),
]  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_a_fault_of_the_reference_is_no_divergence_of_the_target(answer: TargetOutcome) -> None:
    """However the target answers: by a rule, in words, with a value, by failing."""
    with pytest.raises(HarnessBroken, match="the reference itself fails at kernel: TypeError: neg takes 1"):
        judged(TOO_MANY, FAULT, answer, Profile(), Mapper())


@pytest.mark.parametrize("planned", sorted(PLANNED_FAULTS))
def test_a_programs_own_exception_has_a_verdict(planned: str) -> None:
    """It is to come through; a target that answers or refuses instead parts from the rules."""
    step = Command(do="compile", args={"raise": True})
    verdicts = [judged(step, Fault(planned), answer, Profile(), Mapper()) for answer in ANSWERS]
    kinds = [None if found is None else found.kind for found in verdicts]
    assert kinds == [Kind.REFUSED, Kind.REFUSED, Kind.ACCEPTED, Kind.ACCEPTED, None]


@pytest.mark.parametrize("target", ["fakes:reach_forgiven", "libraries.numpy_:target"])
@pytest.mark.parametrize("command", ["replay", "minimize"])
def test_a_trace_the_reference_cannot_run_breaks_the_harness(
    command: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, and the words say that it is not the target's."""
    made = Command(do="from_values", args={"dtype": "int32", "shape": [1], "values": [1]}, bind="x")
    without_index = Command(do="array.get", args={"array": {"ref": "x"}})
    path = tmp_path / "t.jsonl"
    path.write_bytes(encode_trace(Trace(Header(), [Step(command=made), Step(command=without_index)])))
    code = cli.main([command, str(path), "--target", f"counterfoil_oracles.targets.{target}", "--in-process"])
    assert code == 3
    assert "the reference itself fails at array.get: KeyError: 'index'" in capsys.readouterr().err
