"""Conformance vectors: whole, repeatable, true of the fast half, and false of what is broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

import counterfoil_reference
from counterfoil_oracles.coverage import OUT_OF_REACH
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.targets import fakes, fixtures, inprocess, ours
from counterfoil_oracles.targets.boundaries import boundaries
from counterfoil_oracles.targets.campaign import Report, Selection
from counterfoil_oracles.targets.expecting import vector
from counterfoil_oracles.targets.judging import Judge, allows
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_spec import comparing, protocol, vectors
from counterfoil_spec.commands import Command, Header, Step, Trace
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import registry
from counterfoil_spec.vectors import Elements, Fails, Index, Refuses, Room, Vector

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Index]:
    """All vectors, written."""
    directory = tmp_path_factory.mktemp("vectors")
    return directory, fixtures.write(directory, fixtures.made())


def judge(target: object, keep: Path, given: list[Vector], selection: Selection | None = None) -> Report:
    opened = inprocess.Direct(target)  # type: ignore[arg-type]
    return Judge(opened, Profile(), Mapper(), selection or Selection(), keep).run(given)


def test_every_refusal_rule_is_triggered_and_passed(whole: tuple[Path, Index]) -> None:
    """But for those that the index exempts, with the reason."""
    _, index = whole
    active = {rule.id for rule in registry().values() if rule.kind == "refusal" and rule.status == "active"}
    assert active - set(index.triggered) == active - set(index.passed) == set(index.exempt) == set(OUT_OF_REACH)


def test_files_fit_the_published_schema(whole: tuple[Path, Index]) -> None:
    """The index and the files of four chapters, as whoever reads them would check."""
    directory, _ = whole
    validator = jsonschema.Draft202012Validator(json.loads((directory / fixtures.SCHEMA_FILE).read_text()))
    for name in ("index", "claims", "kernels", "layouts", "contexts"):
        assert list(validator.iter_errors(json.loads((directory / f"{name}.json").read_text()))) == []


@pytest.mark.parametrize(("module", "name"), [(protocol, "protocol"), (vectors, "vectors")])
def test_published_schemas_are_those_of_the_structures(module: object, name: str) -> None:
    """docs/ holds what the module prints."""
    published = json.loads((DOCS / f"counterfoil-{name}-1.schema.json").read_text())
    assert published == module.schema()  # type: ignore[attr-defined]


def test_every_field_of_the_protocol_says_how_it_is_compared() -> None:
    """Of each message, and of each subject that a rule names; the published schema carries it."""
    definitions = json.loads((DOCS / "counterfoil-protocol-1.schema.json").read_text())["$defs"]
    fields = {(name, field): each for name, one in definitions.items() for field, each in one["properties"].items()}
    assert {each["compared"] for each in fields.values()} <= set(get_args(protocol.Compared))
    subjects = fields["Refusal", "subjects"]["properties"]
    assert set(subjects) == {name for rule in registry().values() if rule.kind == "refusal" for name in rule.names}
    kinds = {name: each["compared"] for name, each in subjects.items()}
    assert (kinds["gradients"], kinds["shape"], kinds["value"]) == ("set", "sequence", "exact")


@pytest.mark.parametrize(("structure", "field"), [("Refusal", "subjects"), ("Ran", "seq"), ("Profile", "max_rank")])
def test_a_field_of_which_nobody_says_it_has_no_schema(
    structure: str, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field that is added without a comparison fails here, and is not published."""
    monkeypatch.delitem(protocol._COMPARED[structure], field)
    with pytest.raises(KeyError, match=field):
        protocol.schema()


def lists(data: Any, key: str = "") -> Iterator[str]:
    """The names under which data have lists."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from lists(value, name)
    elif isinstance(data, list):
        yield key
        for entry in data:
            yield from lists(entry, "" if isinstance(entry, list) else key)


def test_every_list_is_a_set_or_a_sequence(whole: tuple[Path, Index]) -> None:
    """What every rule names and every command answers has its comparison said, and nothing that no one answers has."""
    expected = [step.expect for each in fixtures.read(whole[0]) for step in each.steps]
    tables = [
        each.subjects if isinstance(each, Refuses) else each.value for each in expected if not isinstance(each, Fails)
    ]
    met = {name for table in tables for name in lists(table)} - {"", "bits"}
    never_met = {"tried"}  # of a rule that no vector can trigger
    assert met | never_met == comparing.SETS | comparing.SEQUENCES
    assert not comparing.SETS & comparing.SEQUENCES


def test_the_same_bytes_are_written_again(whole: tuple[Path, Index], tmp_path: Path) -> None:
    """Read and written anew, and boundary programs made anew: nothing changes."""
    directory, index = whole
    assert fixtures.write(tmp_path, fixtures.read(directory)) == index
    again = [vector("again", trace, counterfoil_reference) for trace in list(boundaries())[::20]]
    known = {each.title: each.steps for each in fixtures.read(directory)}
    assert all(known[each.title] == each.steps for each in again)


def test_a_changed_file_is_not_read(tmp_path: Path) -> None:
    """Vectors are not as the index says: the harness is broken, no implementation is judged by them."""
    [first, *_] = boundaries()
    fixtures.write(tmp_path, [vector("x", first, counterfoil_reference)])
    [path] = [path for path in tmp_path.glob("*.json") if path.name not in (fixtures.INDEX, fixtures.SCHEMA_FILE)]
    path.write_bytes(path.read_bytes().replace(b'"x"', b'"y"', 1))
    with pytest.raises(HarnessError, match="not as its index says"):
        list(fixtures.read(tmp_path))


def test_the_fast_half_conforms(whole: tuple[Path, Index], tmp_path: Path) -> None:
    """By the data alone; hardly a vector is left out."""
    report = judge(ours.fast(), tmp_path, list(fixtures.read(whole[0])))
    assert (report.broken, {key: found.finding.words for key, found in report.found.items()}) == (None, {})
    assert report.vectors > 1000


@pytest.mark.parametrize("name", ["overlap_unseen", "last_bit", "writes_on_refusal", "wordy", "dead_is_alive"])
def test_a_defect_is_found_by_the_data(name: str, whole: tuple[Path, Index], tmp_path: Path) -> None:
    """Answers, elements, refusals and facts are each held against the vectors."""
    given = [each for each in fixtures.read(whole[0]) if each.chapter in ("memory", "door", "claims", "arrays")]
    assert judge(getattr(fakes, name)(), tmp_path, given).found


def test_a_rule_alone_may_be_asked(whole: tuple[Path, Index], tmp_path: Path) -> None:
    """Only vectors about it run."""
    selection = Selection(rules=frozenset({"claims/exclusive"} & set(registry()) or {"door/dead-buffer"}))
    report = judge(ours.fast(), tmp_path, list(fixtures.read(whole[0])), selection)
    assert 0 < report.vectors < 60


def test_what_fresh_memory_holds_is_compared_with_nothing() -> None:
    """A program that reads memory before it was written expects nothing of it."""
    made = Command(do="host_array", args={"dtype": "int32", "shape": [2]}, bind="x")
    sets = Command(do="array.set", args={"array": {"ref": "x"}, "index": [0], "value": 7})
    read = Command(do="array.to_values", args={"array": {"ref": "x"}})
    trace = Trace(Header(), [Step(command=command) for command in (made, sets, read)])
    made_of = vector("fresh", trace, counterfoil_reference)
    holds = made_of.steps[1].holds
    assert isinstance(holds, Elements) and holds.bits[0] == "00000007"
    assert holds.room == [None, Room(anything=True)]
    assert getattr(made_of.steps[2].expect, "compare", None) == "nothing"


def test_room_allows_what_the_rules_allow_and_no_more() -> None:
    """The room of exp's results as data, against the reference's own at the codes around it."""
    trace = next(trace for trace in boundaries() if trace.header.title == "exp at the edges of float32")
    last = vector("exp", trace, counterfoil_reference).steps[-1]
    assert last.holds is not None and last.holds.room is not None
    dtype = Dtype.of_name("float32")
    for bits, room in zip(last.holds.bits, last.holds.room, strict=True):
        if room is not None and room.low is not None and room.high is not None:
            low, high = int(room.low, 16), int(room.high, 16)
            assert allows(room, dtype, int(bits, 16)) and allows(room, dtype, low) and allows(room, dtype, high)
            assert not allows(room, dtype, low - 1) and not allows(room, dtype, high + 1)
