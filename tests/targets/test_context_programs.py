"""Random programs of contexts on targets: defects are found by their rule, the halves part nowhere, bits are bits."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterfoil_reference
from counterfoil_oracles.subjects import second_copy
from counterfoil_oracles.targets import campaign, context_fakes, context_program, inprocess, machines, ours
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.opening import opener
from counterfoil_oracles.targets.pair import TargetPair
from counterfoil_oracles.targets.program import first_finding
from counterfoil_oracles.targets.target import Bounds, Target
from counterfoil_spec.commands import Command, decode_trace
from counterfoil_spec.protocol import Identity, Profile, TargetOutcome, TargetStep, Value

SPEAKING = "counterfoil_oracles.targets.ours:fast"


def checked(target: object, keep: Path, chapter: str, steps: int) -> Report:
    def opened() -> Target:
        return inprocess.Direct(target)  # type: ignore[arg-type]

    selection = Selection(frozenset({chapter}), seconds=120, steps=steps, differences=1)
    return Campaign(counterfoil_reference, opened, selection, Profile(), Mapper(), keep).run(())


QUICK = ("adds_twice", "runs_early", "reads_foreign")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in context_fakes.DEFECTS],
)
def test_a_defect_of_contexts_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By random programs alone: the finding names the rule that is broken, the trace is short and shows it again."""
    monkeypatch.setattr(campaign, "_MOST_SHRINKING", 600.0)  # the clock of a busy machine shortens no trace
    monkeypatch.setattr(campaign, "SHRINKING_SECONDS", 15.0)
    defect, keep = context_fakes.DEFECTS[name], tmp_path / "kept"
    rule = defect.rule
    chapter = "transfers" if rule is None else rule.partition("/")[0]
    target = getattr(context_fakes, name)()
    report = checked(target, keep, chapter, 20_000)
    assert report.broken is None
    [found] = report.found.values()
    assert found.finding.rule == rule or found.finding.rule in defect.also
    assert found.path is not None
    steps = decode_trace(found.path.read_bytes()).steps
    assert len(steps) <= 25
    pair = TargetPair(counterfoil_reference, inprocess.Direct(target), Profile())
    again = first_finding(pair, [step.command for step in steps])
    pair.close()
    assert again is not None and again[0].case == found.finding.case


@pytest.mark.parametrize("chapter", ["gradients", "release"])
def test_the_fast_half_conforms_in_process(chapter: str, tmp_path: Path) -> None:
    """Its contexts part from the reference's nowhere."""
    report = checked(ours.fast(), tmp_path, chapter, 1200)
    assert (report.broken, {key: found.finding.words for key, found in report.found.items()}) == (None, {})
    assert any(rule.startswith(f"{chapter}/") for rule in report.rules)


def test_the_fast_half_conforms_over_the_protocol(tmp_path: Path) -> None:
    """In a process of its own, asked in JSON lines."""
    opened = opener(SPEAKING, (), Bounds(), in_process=False)
    selection = Selection(frozenset({"run"}), seconds=120, steps=700)
    report = Campaign(counterfoil_reference, opened, selection, Profile(), Mapper(), tmp_path).run(())
    assert (report.broken, report.found) == (None, {})
    assert report.steps >= 700


def test_a_second_reference_conforms(tmp_path: Path) -> None:
    """What judges parts from its copy nowhere."""
    target = ours.HalfTarget(second_copy("counterfoil_reference"), "reference")
    assert checked(target, tmp_path, "transfers", 700).found == {}


@pytest.mark.parametrize(
    ("commands", "chapters", "count"),
    [
        ({"host"}, set(), 1),
        ({"host", *context_program.NEEDED}, set(), 2),
        ({"host", *context_program.NEEDED}, {"release"}, 1),
        ({"host", *context_program.NEEDED}, {"door"}, 1),
        ({"host", *context_program.NEEDED}, {"door", "run"}, 2),
        ({*context_program.NEEDED}, set(), 1),
    ],
)
def test_machines_are_those_of_what_is_listed_and_wanted(commands: set[str], chapters: set[str], count: int) -> None:
    """Contexts where the target speaks of them, arrays where it has a host."""
    assert len(machines.machines(frozenset(commands), frozenset(chapters), [])) == count


class Without(ours.HalfTarget):
    """The fast half without some commands."""

    def __init__(self, *missing: str) -> None:
        import counterfoil

        super().__init__(counterfoil, "some")
        self.missing = missing
        self.asked: set[str] = set()

    def start(self) -> Identity:
        whole = super().start()
        left = [each for each in whole.commands if each not in self.missing]
        return Identity(protocol=1, name="some", version="0", language="Python", dtypes=whole.dtypes, commands=left)

    def run(self, step: TargetStep) -> TargetOutcome:
        self.asked.add(step.do)
        return super().run(step)


@pytest.mark.parametrize("missing", [("host",), ("fragment", "symbol"), ("lowered", "reuse", "tensor"), ("to_host",)])
def test_what_a_target_does_not_list_is_never_asked(missing: tuple[str, ...], tmp_path: Path) -> None:
    """Programs go on without it, and nothing parts."""
    target = Without(*missing)
    report = checked(target, tmp_path, "run", 600)
    assert (report.broken, report.found) == (None, {})
    assert report.steps >= 600
    assert not target.asked & set(missing)


def step(do: str, bind: str | None = None, **args: object) -> Command:
    return Command(do=do, args=args, bind=bind)


PROGRAM = [
    step("context", "c", backend="cpu"),
    step("node", "n", label="n", shape=[2, 2]),
    step(
        "set_values", "u", context={"ref": "c"}, node={"ref": "n"}, values=[0.1, -0.0, {"float": "7ff8000000000000"}, 3]
    ),
]
ROW = "3dcccccd", "80000000", "7fc00000", "40400000"


@pytest.mark.parametrize(
    ("read", "shown"),
    [
        ({"do": "to_host"}, {"dtype": "float32", "bits": list(ROW)}),
        ({"do": "get_value", "index": [0, 1]}, {"dtype": "float32", "bits": ROW[1]}),
        ({"do": "points_1d", "column": 1}, {"dtype": "float32", "bits": [ROW[1], ROW[3]]}),
        (
            {"do": "points_2d"},
            [{"dtype": "float32", "bits": list(ROW[:2])}, {"dtype": "float32", "bits": list(ROW[2:])}],
        ),
        ({"do": "to_host_all"}, [{"dtype": "float32", "bits": list(ROW)}]),
    ],
)
def test_what_a_node_holds_travels_as_bits(read: dict[str, object], shown: object) -> None:
    """Of every read of a context; and the pair takes them for the reference's own."""
    do = str(read.pop("do"))
    about = {"nodes": [{"ref": "n"}]} if do == "to_host_all" else {"node": {"ref": "n"}}
    asked = step(do, context={"ref": "u"}, **about, **read)
    target = inprocess.Direct(ours.fast())
    pair = TargetPair(counterfoil_reference, target, Profile())
    assert first_finding(pair, [*PROGRAM, asked]) is None
    [value] = target.run([TargetStep(do=do, args=asked.args)], fresh=False)
    pair.close()
    assert value == Value(shown)


def test_room_of_a_sum_is_held_against_and_taken_over() -> None:
    """A target that sums in another order is right; one that is outside the room is not."""
    total = {"set": {"ref": "s"}, "of": [{"ref": "n"}], "by": "i j ->", "accumulate": "add", "initialize": True}
    program = [
        PROGRAM[0],
        PROGRAM[1],
        step("node", "s", label="s", shape=[], observable=True),
        step("set_values", "u", context={"ref": "c"}, node={"ref": "n"}, values=[1e8, 1, -1e8, 1]),
        step("comp", "p", label="p", code=[total], embedded=[{"ref": "s"}]),
        step("compile", "k", context={"ref": "u"}, comp={"ref": "p"}),
        step("run", "r", context={"ref": "k"}, routine={"ref": "k.routine"}),
        step("get_values", context={"ref": "r"}, node={"ref": "s"}),
    ]
    assert summed(program, "40000000") is None  # 2, the exact sum
    assert summed(program, "3f800000") is None  # 1, where (1e8 + 1) lost its 1
    wrong = summed(program, "4b000000")
    assert wrong is not None and "outside" in wrong


def summed(program: list[Command], bits: str) -> str | None:
    """What is wrong with a target that says the sum has those bits."""

    class Says(ours.HalfTarget):
        def run(self, step: TargetStep) -> TargetOutcome:
            outcome = super().run(step)
            is_sum = step.do in ("to_host", "get_values") and step.args["node"] == {"ref": "s"}
            return Value({"dtype": "float32", "bits": [bits]}) if is_sum and isinstance(outcome, Value) else outcome

    import counterfoil

    pair = TargetPair(counterfoil_reference, inprocess.Direct(Says(counterfoil, "says")), Profile())
    try:
        found = first_finding(pair, program)
    finally:
        pair.close()
    return None if found is None else found[0].words


def test_texts_are_compared_by_their_presence() -> None:
    """Why a node cannot be read, in an implementation's own words, is as good as in ours."""

    class OwnWords(ours.HalfTarget):
        def run(self, step: TargetStep) -> TargetOutcome:
            outcome = super().run(step)
            is_text = isinstance(outcome, Value) and isinstance(outcome.value, str)
            return Value("it is not there") if is_text else outcome

    import counterfoil

    pair = TargetPair(counterfoil_reference, inprocess.Direct(OwnWords(counterfoil, "own")), Profile())
    asked = step("explain_observability", context={"ref": "c"}, node={"ref": "n"})
    assert first_finding(pair, [*PROGRAM[:2], asked]) is None
    pair.close()


def test_poison_of_memory_is_no_targets_affair() -> None:
    """That of a lineage is, which has the same name."""
    target = Without()
    pair = TargetPair(counterfoil_reference, inprocess.Direct(target), Profile())
    first_finding(pair, [step("poison", byte=255), *PROGRAM])
    assert "poison" not in target.asked
    assert pair.skipped["poison"] == 1
    pair.close()
