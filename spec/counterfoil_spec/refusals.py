"""Refusals: exceptions that carry the rule they enforce and the subjects they name (R1, R2).

Every text is rendered here from the registry, so two implementations cannot drift apart in wording, and a
comparison looks only at ``(rule, subjects)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterfoil_spec.answers import Answer
from counterfoil_spec.rules import Rule, rule_of
from counterfoil_spec.values import PLAIN, exact


class Refusal(Exception):
    """What the rules do not allow. ``rule`` is its id, ``subjects`` the facts it names, in the rule's order."""

    def __init__(self, rule: Rule, subjects: dict[str, object]) -> None:
        super().__init__(rule.render(subjects))
        self.rule = rule.id
        self.subjects = subjects

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(cls: type[Refusal], args: tuple[object, ...], facts: dict[str, object]) -> Refusal:
    """A refusal that came from another process, or was copied: its text and its facts, not made anew."""
    refusal = cls.__new__(cls, *args)
    refusal.__dict__.update(facts)
    return refusal


class InvalidArgument(Refusal, ValueError):
    """An argument, an array or a buffer is not what the operation needs."""


class DoorRefusal(InvalidArgument):
    """A kernel's operands were refused: ``answer`` says how, ``operands`` are (dtype name, shape) pairs in order."""

    def __init__(
        self, answer: Answer, function: str, operands: Sequence[tuple[str, Sequence[int]]], deaths: Sequence[str]
    ) -> None:
        shown_operands = [operand_text(*operand) for operand in operands]
        subjects: dict[str, object] = {"function": function, "operands": shown_operands, "dead": list(deaths)}
        rule = rule_of(answer.rule)
        reason = "; ".join(deaths) or rule.render({})
        Exception.__init__(self, f"{function}: {reason} ({', '.join(shown_operands)})")
        self.rule = rule.id
        self.subjects = subjects
        self.answer = answer
        self.operands = tuple((name, tuple(shape)) for name, shape in operands)


class UserError(Refusal):
    """A program uses a context as its rules do not allow."""


class SessionError(Refusal):
    """A program is built as the frontend does not allow; ``tensor`` names where."""

    @property
    def tensor(self) -> str:
        """The label of the tensor at fault."""
        return str(self.subjects["tensor"])


class Failure(Refusal, RuntimeError):
    """An operation's dependencies do not hold."""


class Lost(Refusal, RuntimeError):
    """A device was lost, and the memory needed is its own or must follow work it did not finish."""


class BackendUnavailable(Refusal, RuntimeError):
    """This machine does not offer the backend."""


class DeviceMemoryExhausted(Refusal, MemoryError):
    """A device has no memory left for an allocation."""


_CLASSES: Final[dict[str, type[Refusal]]] = {
    cls.__name__: cls
    for cls in (InvalidArgument, DoorRefusal, UserError, SessionError, Failure, Lost, BackendUnavailable,
                DeviceMemoryExhausted)
}  # fmt: skip


def refuse(rule_id: str, **subjects: object) -> Refusal:
    """The exception of a rule naming its subjects; the caller raises it.

    A missing or extra subject is a bug of the caller and raises AssertionError, never a Refusal.
    """
    rule = rule_of(rule_id)
    assert rule.kind == "refusal", f"{rule_id} is a law: it refuses nothing"
    assert set(subjects) == set(rule.names), f"{rule_id} names {rule.names}, not {tuple(subjects)}"
    return _CLASSES[rule.raises](rule, {name: plain(subjects[name]) for name in rule.names})


def door_refusal(
    function: str,
    answer: Answer,
    operands: Sequence[tuple[str, Sequence[int]]],
    dead: Sequence[tuple[int, str]] = (),
) -> Refusal:
    """The refusal of ``answer`` for ``operands`` ((dtype name, shape) pairs), as A10 words it.

    ``dead`` gives the position and the consumer's reason of each operand whose buffer is dead, in operand order;
    with it, Dead_buffer and Held_exclusive are worded ``<dtype> <shape> was <why>``. Done and Declined refuse
    nothing: door/refuses-nothing.
    """
    if not answer.refuses:
        return refuse("door/refuses-nothing", function=function, answer=answer.name)
    if answer is Answer.HELD_EXCLUSIVE and dead:
        answer = Answer.DEAD_BUFFER
    deaths = [f"{operand_text(*operands[position])} was {why}" for position, why in dead]
    return DoorRefusal(answer, function, operands, deaths if answer is Answer.DEAD_BUFFER else [])


def operand_text(dtype_name: str, shape: Sequence[int]) -> str:
    """An operand as refusals show it: ``float32 [2, 3]``."""
    return f"{dtype_name} {list(shape)}"


def shown(value: object) -> str:
    """A foreign value as a refusal's subject: a plain value's repr (at most 60 characters), else its class."""
    value = exact(value)
    if type(value) not in PLAIN:
        return f"<{type(value).__name__}>"
    if isinstance(value, int):
        text = str(_integer(value))
    else:
        text = repr(value[:60] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def plain(value: object) -> object:
    """A subject as data that JSON holds: tuples become lists, everything else that is not plain its ``str``.

    Values of subclasses become their base's: what a subclass does when it is shown is no part of a refusal. Integers
    of more digits than Python writes out become ``<int of N bits>``.
    """
    value = exact(value)
    if isinstance(value, int):
        return _integer(value)
    if value is None or isinstance(value, (float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return str(value)


_WRITTEN_BITS: Final = 1024
"""Widest integer that is written out; Python itself writes no more than some thousand digits."""


def _integer(value: int) -> int | str:
    bits = value.bit_length()
    return value if bits <= _WRITTEN_BITS else f"<int of {bits} bits>"
