"""Traces against a target: FIXED, FAILED or FLAKY; and made as small as shows the same."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import counterfoil_reference as REFERENCE
from counterfoil_oracles import cli
from counterfoil_oracles.compare import first_divergence
from counterfoil_oracles.shrink import shrink
from counterfoil_oracles.targets import fakes, options, replaying
from counterfoil_oracles.targets.campaign import Campaign, Selection
from counterfoil_oracles.targets.conformance import Conformance
from counterfoil_oracles.targets.fakes import Fake
from counterfoil_oracles.targets.inprocess import Direct
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.target import Target
from counterfoil_spec.commands import Command, Header, Step, Trace, decode_trace, encode_trace
from counterfoil_spec.protocol import Profile, Skipped, TargetOutcome, TargetStep, Value

BROKEN = "counterfoil_oracles.targets.fakes:overlap_unseen"
SOUND = "counterfoil_oracles.targets.ours:fast"


def do(do: str, bind: str | None = None, **args: object) -> Command:
    return Command(do=do, args=args, bind=bind)


def ref(name: str) -> dict[str, str]:
    return {"ref": name}


PROGRAM = [
    do("host", "h"),
    do("buffer", "unused", device=ref("h"), nbytes=64, kind="device"),
    do("from_values", "x", dtype="int32", shape=[9], values=[5, 6, 7, 8, 9, 10, 11, 12, 13]),
    do("array.move", "a", array=ref("x"), move={"slice": [[0, 8, 1]]}),
    do("array.move", "b", array=ref("x"), move={"slice": [[1, 8, 1]]}),
    do("kernel", name="neg", dst=ref("a"), sources=[ref("b")]),
    do("array.to_values", array=ref("x")),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A program whose operands overlap, in a file."""
    trace = Trace(Header(title="two shifted slices"), [Step(command=command) for command in PROGRAM])
    (tmp_path / "x.jsonl").write_bytes(encode_trace(trace))
    return tmp_path / "x.jsonl"


@pytest.mark.parametrize(("target", "verdict", "code"), [(BROKEN, "FAILED", 1), (SOUND, "FIXED", 0)])
def test_a_target_is_said_to_fail_or_to_be_fixed(
    target: str, verdict: str, code: int, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict is printed first, and is the exit code."""
    assert cli.main(["replay", str(path), "--target", target, "--in-process"]) == code
    assert capsys.readouterr().out.startswith(verdict)


def setting(target: object) -> options.Setting:
    def reopen() -> Target:
        return Direct(target)  # type: ignore[arg-type]

    return options.Setting(reopen, Profile(), Mapper(), Named(None))


def test_a_target_that_fails_now_and_then_is_flaky() -> None:
    """Runs that disagree are no verdict either way."""
    turns = itertools.count()

    def change(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        return Value("DONE") if step.do == "kernel" and next(turns) % 2 == 0 else outcome

    chosen = setting(Fake("moody", change))
    trace = Trace(Header(), [Step(command=command) for command in PROGRAM])
    found = replaying.replay(trace, chosen.reopen(), chosen)
    assert found is not None and found.verdict.name == "FLAKY"


def test_what_a_target_does_nothing_of_is_no_verdict(path: Path) -> None:
    """Skipping is not FIXED."""
    chosen = setting(fakes.lazy())
    assert replaying.replay(replaying.read(path), chosen.reopen(), chosen) is None


def begun(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    """Negates in place, and says then that it does not do that."""
    return Skipped("later") if step.do == "kernel" and step.args["name"] == "neg" else outcome


@pytest.mark.parametrize("by", ["campaign", "suite"])
def test_what_was_skipped_and_begun_is_in_the_trace(by: str, tmp_path: Path) -> None:
    """A target that leaves something behind where it skips is told apart from one that does not."""
    negate = do("kernel", name="neg", dst=ref("x"), sources=[ref("x")])
    trace = Trace(Header(), [Step(command=command) for command in (PROGRAM[0], PROGRAM[2], negate, PROGRAM[6])])
    chosen = setting(Fake("begins", begun))
    if by == "campaign":
        campaign = Campaign(REFERENCE, chosen.reopen, Selection(steps=4), Profile(), Mapper(), tmp_path)
        [found] = campaign.run([trace]).found.values()
        assert found.path is not None
    else:
        checks = Conformance(chosen.reopen, directory=tmp_path)
        assert checks._of_vector(trace)[1] is not None
    [path] = tmp_path.glob("*.jsonl")
    again = replaying.replay(replaying.read(path), chosen.reopen(), chosen)
    assert again is not None and again.verdict.name == "FAILED"


@pytest.mark.parametrize("text", ["", "nonsense", '{"schema": "another"}'])
def test_a_file_that_is_no_trace_is_a_mistake_of_usage(text: str, tmp_path: Path) -> None:
    """Exit code 2."""
    (tmp_path / "t.jsonl").write_text(text)
    assert cli.main(["replay", str(tmp_path / "t.jsonl"), "--target", SOUND]) == 2
    assert cli.main(["minimize", str(tmp_path / "t.jsonl"), "--target", SOUND]) == 2


def left(path: Path) -> list[Command]:
    return [step.command for step in decode_trace(path.with_suffix(".min.jsonl").read_bytes()).steps]


@pytest.mark.parametrize(
    "how", [["--target", BROKEN, "--in-process"], ["--rule", "door/overlapping"]], ids=["finding", "rule"]
)
def test_a_trace_is_made_small(how: list[str], path: Path) -> None:
    """Commands, extents and values that the finding, or the rule, does not need are gone."""
    assert cli.main(["minimize", str(path), *how]) == 0
    commands = left(path)
    assert [command.do for command in commands][-1] == "kernel"
    assert len(commands) <= 4
    [made] = [command for command in commands if command.do == "from_values"]
    assert made.args["shape"][0] <= 3 and set(made.args["values"]) <= {0, 1}


def test_a_check_makes_what_it_found_small(tmp_path: Path) -> None:
    """Extents and values too, before anybody asks for it."""
    trace = Trace(Header(rules=["door/overlapping"]), [Step(command=command) for command in PROGRAM])
    selection = Selection(seconds=600, differences=1)

    def opened() -> Direct:
        return Direct(fakes.overlap_unseen())

    report = Campaign(REFERENCE, opened, selection, Profile(), Mapper(), tmp_path).run([trace])
    [found] = report.found.values()
    [made] = [step.command for step in found.trace.steps if step.command.do == "from_values"]
    assert made.args["shape"][0] <= 3 and set(made.args["values"]) <= {0, 1}


def test_a_check_of_the_halves_makes_what_it_found_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same way."""
    import counterfoil

    monkeypatch.setattr(counterfoil.Layout, "is_distinct", property(lambda layout: False), raising=True)
    made = do("layout.contiguous", "l", shape=[4, 3])
    found = first_divergence(REFERENCE, counterfoil, [made])
    assert found is not None
    [short] = shrink(REFERENCE, counterfoil, [made], found, seconds=60)
    assert short == do("layout.contiguous", "l", shape=[1, 1])


def test_a_small_trace_shows_the_same(path: Path) -> None:
    """Replaying it fails as the long one does."""
    assert cli.main(["minimize", str(path), "--target", BROKEN, "--in-process"]) == 0
    assert cli.main(["replay", str(path.with_suffix(".min.jsonl")), "--target", BROKEN, "--in-process"]) == 1


@pytest.mark.long
def test_a_trace_of_a_broken_half_is_made_small(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --subject the halves are compared."""
    import counterfoil

    monkeypatch.setattr(counterfoil.Layout, "is_distinct", property(lambda layout: False), raising=True)
    trace = Trace(Header(), [Step(command=c) for c in (*PROGRAM[:3], do("layout.contiguous", "l", shape=[4, 3]))])
    facts = Step(command=do("layout.facts", layout=ref("l")))
    path.write_bytes(encode_trace(Trace(trace.header, [*trace.steps, facts])))
    assert cli.main(["minimize", str(path), "--subject", "counterfoil"]) == 0
    assert [command.do for command in left(path)][-2:] == ["layout.contiguous", "layout.facts"] or len(left(path)) <= 2


def test_a_trace_that_shows_nothing_is_left_alone(path: Path) -> None:
    """Exit code 4, and no file."""
    assert cli.main(["minimize", str(path), "--target", SOUND, "--in-process"]) == 4
    assert not path.with_suffix(".min.jsonl").exists()
