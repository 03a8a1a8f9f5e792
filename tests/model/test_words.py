"""The words: the registry of rules, the tables, and the files generated from them."""

from __future__ import annotations

import copy
import itertools
import pickle
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from counterfoil_spec import generate, refusals
from counterfoil_spec.answers import DOOR_ORDER, Answer
from counterfoil_spec.arguments import instance, integers, read
from counterfoil_spec.dtypes import BUFFER_FORMATS, Dtype, Kind
from counterfoil_spec.kernels import ARITIES, KERNELS, Family
from counterfoil_spec.refusals import DoorRefusal, InvalidArgument, Refusal, door_refusal, refuse, shown
from counterfoil_spec.rules import CHAPTERS, Rule, operations, registry

NATIVE = Path(__file__).resolve().parents[2] / "fast" / "native"


@pytest.mark.parametrize("name", generate.FILES)
def test_the_generated_c_is_current(name: str) -> None:
    """fast/native holds exactly what the generator writes from the registry today."""
    assert (NATIVE / name).read_text(encoding="utf-8") == generate.FILES[name]()


@pytest.mark.parametrize("rule", registry().values(), ids=lambda rule: rule.id)
def test_a_rule_is_complete(rule: Rule) -> None:
    """Every rule says what, why, the way out and where it comes from; a refusal's message uses exactly its names."""
    assert rule.chapter in CHAPTERS
    assert all((rule.statement, rule.why, rule.fix, rule.seed))
    fields = {field for _, field, _, _ in string.Formatter().parse(rule.message) if field}
    if rule.kind == "law":
        assert not (rule.names or rule.raises or rule.message)
    else:
        assert fields == set(rule.names)
        assert issubclass(getattr(refusals, rule.raises), Refusal)


def test_operations_name_only_refusals() -> None:
    """The table of operations cites rules that exist and refuse."""
    assert all(registry()[rule_id].kind == "refusal" for ids in operations().values() for rule_id in ids)


def test_every_refusal_belongs_to_an_operation() -> None:
    """No refusal of the registry is left without an operation that can give it."""
    cited = {rule_id for ids in operations().values() for rule_id in ids}
    assert {rule.id for rule in registry().values() if rule.kind == "refusal"} == cited


@pytest.mark.parametrize("rule", [r for r in registry().values() if r.kind == "refusal"], ids=lambda rule: rule.id)
def test_a_refusal_carries_its_rule_and_subjects(rule: Rule) -> None:
    """refuse() gives the class the rule names, with the id, the subjects in order and the rendered text."""
    if rule.raises == "DoorRefusal":
        refusal: Refusal = door_refusal("add", Answer[rule.id.split("/")[1].upper().replace("-", "_")], [])
        assert isinstance(refusal, DoorRefusal)
    else:
        refusal = refuse(rule.id, **{name: f"<{name}>" for name in rule.names})
        assert list(refusal.subjects) == list(rule.names)
        assert all(f"<{name}>" in str(refusal) for name in rule.names)
    assert refusal.rule == rule.id and type(refusal).__name__ == rule.raises


def test_missing_subjects_are_a_bug_not_a_refusal() -> None:
    """A rule raised with other subjects than its own is an AssertionError."""
    with pytest.raises(AssertionError):
        refuse("dtypes/negative-count", dtype="int8")


def test_dead_operands_are_named_with_their_reasons() -> None:
    """A10: every dead operand as <dtype> <shape> was <why>, joined by a semicolon, then all operands in order."""
    operands = [("float32", (3,)), ("int8", ()), ("float32", (3,))]
    refusal = door_refusal("add", Answer.DEAD_BUFFER, operands, [(0, "donated to mul"), (2, "freed")])
    words = "add: float32 [3] was donated to mul; float32 [3] was freed (float32 [3], int8 [], float32 [3])"
    assert str(refusal) == words and isinstance(refusal, InvalidArgument)


@pytest.mark.parametrize("answer", [Answer.DONE, Answer.DECLINED])
def test_done_and_declined_refuse_nothing(answer: Answer) -> None:
    """A10: asking to refuse Done or Declined is itself an invalid argument."""
    assert door_refusal("add", answer, []).rule == "door/refuses-nothing"


def test_the_door_order_holds_every_answer_but_done() -> None:
    """A3 ranks the nine answers that are not Done, each once."""
    assert sorted(DOOR_ORDER) == [answer for answer in Answer if answer is not Answer.DONE]


def test_the_dtypes_are_numbered_in_order() -> None:
    """A6: 21 dtypes, their code their place."""
    assert [dtype.code for dtype in Dtype.all] == list(range(21))
    assert len({dtype.name for dtype in Dtype.all}) == 21


@pytest.mark.parametrize("dtype", Dtype.all, ids=repr)
def test_a_float_format_fills_its_width(dtype: Dtype) -> None:
    """Sign, exponent and fraction are the dtype's bits (per component for complex ones)."""
    if dtype.float_format is None:
        assert dtype.kind in (Kind.SIGNED, Kind.UNSIGNED, Kind.BOOLEAN)
    else:
        assert dtype.float_format.bits * (2 if dtype.kind is Kind.COMPLEX else 1) == dtype.bits


@pytest.mark.parametrize(
    "name",
    ["", "Float32", "FLOAT32", " float32", "float32 ", "float", "float8_e4m3", "float4_e2m1", "float8_e4m3fnuz",
     "float8_e5m2fnuz", "float8_e8m0fnu", "complex32", "uint1"],
)  # fmt: skip
def test_near_names_are_refused(name: str) -> None:
    """dtypes/unknown-name: a name is one of the 21, exactly."""
    with pytest.raises(InvalidArgument) as caught:
        Dtype.of_name(name)
    assert caught.value.rule == "dtypes/unknown-name"


@pytest.mark.parametrize(("count", "rule"), [(-1, "dtypes/negative-count"), (2**60, "dtypes/bytes-overflow")])
def test_impossible_byte_counts_are_refused(count: int, rule: str) -> None:
    """dtypes/negative-count and dtypes/bytes-overflow (2^60 elements of 16 bytes)."""
    with pytest.raises(InvalidArgument) as caught:
        Dtype.of_name("complex128").nbytes(count)
    assert caught.value.rule == rule


def test_bytes_are_rounded_up() -> None:
    """ceil(n * bits / 8), and sub-byte dtypes never overflow before their count does."""
    assert [Dtype.of_name("int4").nbytes(n) for n in (0, 1, 2, 5)] == [0, 1, 1, 3]
    assert Dtype.of_name("bit").nbytes(9) == 2


def test_eleven_and_three_dtypes_have_a_buffer_format() -> None:
    """A11: the 14 formats of the buffer protocol, and none for the narrow floats, 4-bit integers and bits."""
    assert len(BUFFER_FORMATS) == 14
    assert not {"bfloat16", "int4", "uint4", "bit"} & {dtype.name for dtype in BUFFER_FORMATS}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda kernel: kernel.name)
def test_a_kernel_row_is_complete(kernel: object) -> None:
    """Every row loads some dtype, and every family but map has a number of sources."""
    row = KERNELS[kernel.name]  # type: ignore[attr-defined]
    assert row.domain and (row.family is Family.MAP or row.family in ARITIES)
    assert row.condition or row.family is not Family.WHERE


def test_foreign_objects_are_shown_by_class() -> None:
    """A refusal shows a plain value by its repr, cut at 60 characters, and anything else by its class."""
    assert shown(float("nan")) == "nan" and shown(object()) == "<object>"
    assert len(shown("x" * 100)) == 60


@pytest.mark.parametrize("bits", [1, 1024, 1025, 20_000, 1_000_000])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_of_any_size_are_named(bits: int, sign: int) -> None:
    """A refusal names an integer however large: up to 1024 bits by its digits, beyond by its width; nested too."""
    value = sign * (2**bits - 1)
    refusal = refuse("arrays/index-range", index=(value, 0), shape=(3,))
    named = value if bits <= 1024 else f"<int of {bits} bits>"
    assert refusal.subjects == {"index": [named, 0], "shape": [3]} and f"index [{named!r}, 0]" in str(refusal)
    text = str(named)
    assert shown(value) == (text if len(text) <= 60 else text[:57] + "...")


class _Hostile:
    """What a value's subclass may do when it is looked at."""

    def _raise(self, *_: object) -> object:
        raise ZeroDivisionError

    __repr__ = __str__ = __format__ = __len__ = __index__ = __eq__ = __le__ = __getitem__ = _raise  # type: ignore
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("base, value", [(int, 5), (float, 2.5), (complex, 1j), (str, "abc"), (bytes, b"abc")])
def test_a_subclass_is_shown_as_its_base(base: type, value: object) -> None:
    """A value of a plain class' subclass is shown and named as its base's value, whatever the subclass does."""
    hostile = type("Hostile", (_Hostile, base), {})(value)
    assert shown(hostile) == repr(value)
    if base in (int, float, str):
        subject = refuse("memory/negative-size", nbytes=hostile).subjects["nbytes"]
        assert type(subject) is base and subject == value


@pytest.mark.parametrize("claimed", [int, Dtype, Answer])
def test_no_object_passes_for_another_class(claimed: type) -> None:
    """An argument is of its type's class, not of the class that it gives as its own."""
    impostor = type("Impostor", (), {"__class__": property(lambda self: claimed)})()
    assert isinstance(impostor, claimed)
    with pytest.raises(InvalidArgument) as caught:
        instance("argument", impostor, claimed)
    assert caught.value.subjects["value"] == "<Impostor>"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda refusal: pickle.loads(pickle.dumps(refusal))])
def test_a_refusal_survives_copying_and_pickling(again: Callable[[Refusal], Refusal]) -> None:
    """R1: a refusal that came from another process still carries its class, rule, subjects and text."""
    refusals = [refuse("memory/negative-size", nbytes=-1), door_refusal("add", Answer.OVERLAPPING, [("bit", (2,))])]
    for refusal in refusals:
        other = again(refusal)
        assert type(other) is type(refusal) and str(other) == str(refusal) and vars(other) == vars(refusal)


@pytest.mark.parametrize("dtype", Dtype.all, ids=str)
def test_a_dtype_is_the_only_one_of_its_name(dtype: Dtype) -> None:
    """Copies and pickles of a dtype are the dtype itself, and no other can be made: dtypes are compared by identity."""
    assert copy.deepcopy(dtype) is dtype and pickle.loads(pickle.dumps(dtype)) is dtype
    with pytest.raises(TypeError):
        Dtype(dtype.code, dtype.name, dtype.bits, dtype.kind, dtype.float_format)


def test_what_an_iterable_says_of_itself_is_not_believed() -> None:
    """A12: a sequence is read once, by iterating: no memory for a length it claims, and no end waited for."""

    class Endless:
        def __len__(self) -> int:
            return 2**62

        def __iter__(self) -> Iterator[int]:
            return itertools.repeat(1)

    assert integers("shape", (3, True + 1)) == (3, 2) and integers("shape", iter([3])) == (3,)
    with pytest.raises(InvalidArgument) as caught:
        integers("shape", Endless())
    assert caught.value.rule == "arguments/wrong-type"
    assert read(Endless(), 5) == (1,) * 5 and read(3) is None
