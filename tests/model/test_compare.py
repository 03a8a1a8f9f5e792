"""Comparing two halves: a twin of the reference agrees with it; a twin with a defect is seen."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.compare import Divergence, first_divergence
from counterfoil_oracles.subjects import second_copy
from counterfoil_spec.commands import Command
from counterfoil_spec.dtypes import Dtype


def do(what: str, bind: str | None = None, **args: Any) -> Command:
    """A command."""
    return Command(do=what, args=args, bind=bind)


def ref(name: str) -> dict[str, str]:
    """A reference to an object by name."""
    return {"ref": name}


PROGRAM = [
    do("poison", byte=165),
    do("host", "host"),
    do("of_float", dtype="float16", value=0.1),
    do("from_values", "a", dtype="int4", shape=[4], values=[1, 2, 3, 4]),
    do("array.move", "v", array=ref("a"), move={"slice": [[0, 2, 2]]}),
    do("array.set", array=ref("v"), index=[1], value=-1),
    do("door", written=[ref("a")], read=[ref("v")], work="nothing"),
    do("array.get", array=ref("a"), index=[4]),
    do("claims.enter", "c", read=[], donate=[ref("a")]),
    do("claims.consume", "b", claims=ref("c"), buffer=ref("a"), why="donated to mul"),
    do("claims.exit", claims=ref("c")),
    do("array.to_values", array=ref("a")),
]


def twin() -> ModuleType:
    """The reference imported once more, with state of its own."""
    return second_copy("counterfoil_reference")


def test_a_twin_agrees() -> None:
    """The reference and its twin part nowhere."""
    assert first_divergence(reference, twin(), PROGRAM) is None


def wrong_value(half: Any) -> None:
    """A store that does not round."""
    half.of_float = lambda dtype, x: x


def wrong_neighbour(half: Any) -> None:
    """A store of a nibble that clears the other nibble of its byte."""
    right: Callable[..., None] = half.Array.set

    def wrong(array: Any, index: Any, value: Any) -> None:
        right(array, index, value)
        data = half.inspection.memory_bytes(array.buffer)
        half.inspection.poke(array.buffer, data[:-1] + bytes([data[-1] & 15]))

    half.Array.set = wrong


def leaked_claim(half: Any) -> None:
    """A door that keeps a claim when it refuses."""
    right = half.door

    def wrong(written: Any, read: Any, f: Any, *args: Any) -> Any:
        answer = right(written, read, f, *args)
        if answer.refuses:
            half.kept = half.claims(read=[written[0].buffer])
            half.kept.__enter__()
        return answer

    half.door = wrong


def wrong_subjects(half: Any) -> None:
    """A refusal that names the wrong shape."""
    right = half.Array.get

    def wrong(array: Any, index: Any) -> Any:
        try:
            return right(array, index)
        except Exception as error:
            error.subjects["shape"] = []  # type: ignore[attr-defined]
            raise

    half.Array.get = wrong


def crash(half: Any) -> None:
    """An exception that is no refusal."""
    half.Array.to_values = lambda array: 1 // 0


def blind(half: Any) -> None:
    """A subject that cannot be looked at."""
    half.inspection.memory_bytes = lambda buffer: 1 // 0


@pytest.mark.parametrize(
    ("defect", "command", "difference"),
    [
        (wrong_value, "of_float", "expected the value 0.0999755859375, got the value 0.1"),
        (wrong_neighbour, "array.set", "bytes of a: byte 1 is 0f, not 4f (210f, not 214f)"),
        (leaked_claim, "door", "state of a: "),
        (wrong_subjects, "array.get", "naming {'index': [4], 'shape': []}"),
        (crash, "array.to_values", "the subject failed with ZeroDivisionError"),
        (blind, "from_values", "looking: 'failed with ZeroDivisionError"),
    ],
)
def test_a_defect_is_seen_where_it_shows(defect: Callable[[Any], None], command: str, difference: str) -> None:
    """Values, neighbour bits, claims, subjects and crashes are all compared, at the step where they differ."""
    subject = twin()
    defect(subject)
    found = first_divergence(reference, subject, PROGRAM)
    assert isinstance(found, Divergence)
    assert found.command.do == command and difference in found.difference


def test_zeros_differ_by_sign() -> None:
    """-0.0 is not 0.0, though Python calls them equal."""
    subject = twin()
    subject.of_float = lambda dtype, x: -0.0  # type: ignore[attr-defined]
    assert first_divergence(reference, subject, [do("of_float", dtype=Dtype.all[0].name, value=0.0)]) is not None
