"""Where the reference itself fails, no rule says what is right: the harness is broken, and no target is blamed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from counterfoil_oracles import cli
from counterfoil_oracles.compare import PLANNED_FAULTS
from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.mapper import Mapper, Pattern
from counterfoil_oracles.targets.target import HarnessBroken
from counterfoil_oracles.targets.verdicts import Kind, judged
from counterfoil_spec.commands import Command, Fault, Header, Refused, Returned, Step, Trace, encode_trace
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


READ = Command(do="array.to_values", args={"array": {"ref": "x"}})
ONE = Command(do="array.get", args={"array": {"ref": "x"}, "index": [0]})
BYTES = Command(do="buffer.bytes", args={"buffer": {"ref": "x"}})


@pytest.mark.parametrize(
    ("command", "value"),
    [(READ, [1.0]), (READ, [{"float": "3ff0000000000000"}]), (READ, 1), (ONE, 0.5), (BYTES, [1, 2]),
     (Command(do="to_host", args={}), [[1]]), (Command(do="get_value", args={}), 1.5)],
    ids=repr,
)  # fmt: skip
def test_numbers_in_place_of_bits_break_the_harness(command: Command, value: object) -> None:
    """They are guesses of what memory holds; the field is named."""
    with pytest.raises(HarnessBroken, match=f"the field value of its answer to {command.do} is"):
        wire.check_bits(command.do, Value(value))


@pytest.mark.parametrize(
    ("command", "value"),
    [(READ, {"dtype": "int8", "bits": ["01"]}), (READ, None), (ONE, 1), (ONE, {"float": "3ff0000000000000"}),
     (BYTES, "0102"), (Command(do="buffer.state", args={}), {"nbytes": 1})],
    ids=repr,
)  # fmt: skip
def test_bits_and_exact_elements_do_not(command: Command, value: object) -> None:
    """Elements, bytes, nothing, and an element asked for alone; other commands answer numbers."""
    wire.check_bits(command.do, Value(value))


def test_elements_of_another_dtype_are_none_of_the_array() -> None:
    """Their bits could be right by chance."""
    shown = Value({"dtype": "uint32", "bits": ["3f800000"]})
    assert wire.codes_shown("array.to_values", shown, "uint32") == [0x3F800000]
    assert wire.codes_shown("array.to_values", shown, "float32") is None


OWN = [Refusal(rule="mine/own"), Refusal(rule="mine/own", message="no"), Refusal()]
REFUSED = Refused("door/overlapping", {})


@pytest.mark.parametrize("answer", OWN, ids=repr)
def test_a_rule_that_nobody_has_is_unmapped(answer: Refusal) -> None:
    """It counts as the target's own words; a mapper may know them, and where nothing is refused no rule is named."""
    mapper = Mapper([Pattern(re.compile("^mine/own"), "door/overlapping")])
    found = judged(READ, REFUSED, answer, Profile(), Mapper())
    assert found is not None and (found.kind, found.rule) == (Kind.UNMAPPED, "door/overlapping")
    assert (judged(READ, REFUSED, answer, Profile(), mapper) is None) is (answer.rule is not None)
    found = judged(READ, Returned(None), answer, Profile(), Mapper())
    assert found is not None and (found.kind, found.rule) == (Kind.REFUSED, None)


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
