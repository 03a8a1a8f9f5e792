"""From programs to vectors: every step's outcome on the reference as data, with how each field is compared.

Fresh memory holds anything: a program is run twice with other bytes in it, and what comes out different is said to be
compared with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from counterfoil_oracles.coverage import Coverage, rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.targets import node_values, wire
from counterfoil_oracles.targets.ours import ELEMENTS, codes_at
from counterfoil_oracles.targets.pair import READS, WRITTEN, is_readable
from counterfoil_spec.commands import Command, Fault, Outcome, Refused, Returned, Trace
from counterfoil_spec.comparing import agree, comparison
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import element_bits
from counterfoil_spec.vectors import Elements, Fails, Refuses, Returns, Room, Vector, VectorStep

_BYTES: Final = (0x5A, 0xA5)
_MOST: Final = 4096
"""Most elements of an array that a step shows."""


def vector(name: str, trace: Trace, reference: Any) -> Vector:
    """A program as a vector."""
    commands, seen = [step.command for step in trace.steps], Coverage()
    one = list(_run(commands, reference, _BYTES[0], seen))
    other = list(_run(commands, reference, _BYTES[1], Coverage()))
    steps = [_settled(*both) for both in zip(one, other, strict=True)]
    rules = trace.header.rules or sorted(seen.triggered)
    chapter = rules[0].partition("/")[0] if rules else "programs"
    return Vector(
        name=name, title=trace.header.title, chapter=chapter, rules=rules, steps=steps,
        triggers=sorted(seen.triggered), passes=sorted(+seen.passed),
    )  # fmt: skip


def _run(commands: Sequence[Command], reference: Any, byte: int, coverage: Coverage) -> Iterator[VectorStep]:
    with Driver(reference) as driver:
        reference.inspection.poison(byte)
        is_loose = False
        for command in commands:
            with reference.intervals.watching() as records:
                outcome = driver.execute(command)
            expect, holds = expected(driver, command, outcome), _held(driver, command, outcome, records)
            records.clear()
            coverage.observe(command, outcome)
            if is_loose and isinstance(expect, Returns):
                expect, holds = _unsure(command, expect), None
            is_loose = is_loose or (holds is not None and holds.room is not None)
            step = wire.step_of(command)
            yield VectorStep(do=step.do, args=step.args, bind=step.bind, expect=expect, holds=holds)


def _unsure(command: Command, expect: Returns) -> Returns:
    """What a step returns after another left room: elements and bytes may be others than the reference's."""
    return Returns(value=None, compare="nothing") if command.do in READS else expect


def expected(driver: Driver, command: Command, outcome: Outcome) -> Returns | Refuses | Fails:
    """An outcome as data, with how it is compared."""
    rule = rule_of_outcome(command, outcome)
    match outcome:
        case Fault(error):
            return Fails(message=error)
        case Refused(_, subjects):
            told = wire.sent(subjects or {})
            fields = {name: comparison(name, value) for name, value in told.items()}
            return Refuses(rule=outcome.rule, subjects=told, fields=fields)
        case Returned(value) if rule is not None:
            return Refuses(rule=rule, answer=value)
        case Returned(value):
            if command.do in node_values.READS:
                shown = node_values.shown(driver.environment, command, value)
            else:
                shown = _bits(driver, command) if command.do in ELEMENTS else wire.sent(value)
            fields = {name: comparison(name, entry) for name, entry in shown.items()} if _is_table(shown) else {}
            return Returns(value=shown, compare=comparison("", shown), fields=fields)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() not in ({"dtype", "bits"}, {"float"}, {"int"}, {"complex"})


def _bits(driver: Driver, command: Command) -> dict[str, Any]:
    array = driver.names[command.args["array"]["ref"]]
    index = command.args.get("index") if command.do == "array.get" else None
    texts = [element_bits(array.dtype, code) for code in codes_at(driver.half, array, index)]
    return {"dtype": array.dtype.name, "bits": texts[0] if index is not None else texts}


def _held(driver: Driver, command: Command, outcome: Outcome, records: Sequence[Any]) -> Elements | None:
    """What the array holds that a step wrote or made, with the room that the rules leave there."""
    name = command.args[WRITTEN[command.do]].get("ref") if command.do in WRITTEN else command.bind
    thing = driver.names.get(name or "")
    if not isinstance(outcome, Returned) or thing is None or not is_readable(thing) or thing.layout.size > _MOST:
        return None
    bits = [element_bits(thing.dtype, code) for code in codes_at(driver.half, thing, None)]
    room = None
    if command.do == "kernel" and records and any(accept is not None for accept in records[-1].accepts):
        room = [None if accept is None else room_of(driver.half, thing.dtype, accept) for accept in records[-1].accepts]
    return Elements(array=str(name), dtype=thing.dtype.name, bits=bits, room=room)


def room_of(half: Any, dtype: Dtype, accept: Any) -> Room:
    """The reference's room for an element as data; bits of a complex element's part are the part's."""
    kinds = half.intervals
    width = dtype.float_format.bits if dtype.float_format is not None else dtype.bits

    def text(code: int) -> str:
        return f"{code:0{max(1, width // 4)}x}"

    match accept:
        case kinds.AnyNaN():
            return Room(nan=True)
        case kinds.Between(low=low, high=high, nan=nan):
            return Room(low=text(low), high=text(high), nan=nan)
        case kinds.Exactly(code=code):
            return Room(codes=[text(code)])
        case kinds.AnyOf(codes=codes, others=others):
            return Room(
                codes=[element_bits(dtype, code) for code in sorted(codes)],
                other=[room_of(half, dtype, other) for other in others],
            )
        case kinds.Parts(real=real, imaginary=imaginary):
            return Room(real=room_of(half, dtype, real), imaginary=room_of(half, dtype, imaginary))
    assert isinstance(accept, kinds.Anything), f"{accept} is no room"
    return Room(anything=True)


def _settled(one: VectorStep, other: VectorStep) -> VectorStep:
    """A step of two runs that had other bytes in fresh memory: what differs between them is compared with nothing."""
    expect, holds = one.expect, one.holds
    if (
        isinstance(expect, Returns)
        and isinstance(other.expect, Returns)
        and not agree(expect.value, other.expect.value)
    ):
        expect = Returns(value=None, compare="nothing")
    assert type(expect) is type(other.expect), f"{one.do} depends on what fresh memory holds"
    if holds is not None and other.holds is not None and holds.bits != other.holds.bits:
        room = holds.room or [None] * len(holds.bits)
        anything = Room(anything=True)
        pairs = zip(holds.bits, other.holds.bits, room, strict=True)
        holds = Elements(
            array=holds.array, dtype=holds.dtype, bits=holds.bits,
            room=[left if mine == theirs else anything for mine, theirs, left in pairs],
        )  # fmt: skip
    return VectorStep(do=one.do, args=one.args, bind=one.bind, expect=expect, holds=holds)
