"""The command line: what it says, and its exit codes."""

from pathlib import Path

import pytest

import counterfoil_reference as reference
from counterfoil_oracles import cli
from counterfoil_oracles.explain import explain_rule, explain_trace
from counterfoil_spec import __version__
from counterfoil_spec.commands import Command, Header, Refused, Step, Trace, encode_trace
from counterfoil_spec.rules import registry

REFUSED = Trace(
    Header(title="an index outside its shape"),
    [
        Step(command=Command(do="from_values", args={"dtype": "int8", "shape": [1], "values": [1]}, bind="a")),
        Step(
            command=Command(do="array.get", args={"array": {"ref": "a"}, "index": [3]}),
            outcome=Refused("arrays/index-range", {"index": [3], "shape": [1]}),
        ),
    ],
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace file whose last step is refused."""
    path = tmp_path / "refused.jsonl"
    path.write_bytes(encode_trace(REFUSED))
    return path


def test_a_subject_that_agrees_conforms(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Replaying a trace on which the halves agree says FIXED and exits with 0."""
    assert cli.main(["replay", str(trace), "--subject", "counterfoil_reference"]) == cli.CONFORMS
    assert capsys.readouterr().out.startswith("FIXED")


def test_a_trace_that_is_not_as_recorded_fails(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recorded outcome that neither half gives any more says FAILED, what differs, and exits with 1."""
    trace.write_bytes(trace.read_bytes().replace(b"arrays/index-range", b"arrays/index-rank"))
    assert cli.main(["replay", str(trace), "--subject", "counterfoil_reference"]) == cli.DIVERGES
    out = capsys.readouterr().out
    assert out.startswith("FAILED") and "step 2, array.get: recorded refusal arrays/index-rank" in out


@pytest.mark.parametrize("arguments", [["replay", "no-such-file"], ["explain", "no/such-rule"], ["replay", __file__]])
def test_what_cannot_be_read_is_a_usage_error(arguments: list[str]) -> None:
    """A file that is not there, is no trace, or a rule that is none exits with 2."""
    subject = ["--subject", "counterfoil_reference"]
    assert cli.main([*arguments, *subject]) == cli.USAGE


def test_a_subject_that_does_not_import_breaks_the_harness(capsys: pytest.CaptureFixture[str]) -> None:
    """A subject that does not import, or lacks the surface, exits with 3 and says so."""
    assert cli.main(["check", "--subject", "no_such_module", "--seconds", "1"]) == cli.BROKEN
    assert cli.main(["check", "--subject", "json", "--seconds", "1"]) == cli.BROKEN
    assert "no_such_module does not import" in capsys.readouterr().err


def test_a_check_that_ran_nothing_is_vacuous() -> None:
    """No time, no steps: exit code 4, not 0."""
    assert cli.main(["check", "--subject", "counterfoil_reference", "--seconds", "0"]) == cli.NOTHING_RAN


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints the distribution's version."""
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"counterfoil {__version__}\n"


@pytest.mark.parametrize("rule", registry().values(), ids=str)
def test_every_rule_is_explained(rule: object) -> None:
    """A rule's page has its statement, its reason and its sources; a refusal's also what it says and the way out."""
    found = registry()[rule.id]  # type: ignore[attr-defined]
    text = "\n".join(explain_rule(found))
    assert found.statement in text and found.why in text and found.seed[0] in text
    assert found.kind == "law" or (found.message in text and found.fix in text)


def test_a_trace_is_explained_step_by_step() -> None:
    """The steps in words, then at the refused one the facts, the holders and the rule."""
    text = "\n".join(explain_trace(REFUSED, reference))
    for said in (
        "1. a = make a int8 array of shape [1] of the values [1] -> made",
        "2. get a at [3] -> refusal arrays/index-range naming {'index': [3], 'shape': [1]}",
        "a is int8 [1], strides [0], offset 0, on host",
        "1 bytes, read_write, live, 0 claims",
        registry()["arrays/index-range"].statement,
    ):
        assert said in text
