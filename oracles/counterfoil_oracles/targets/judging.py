"""Vectors on a target: each step's outcome and each array's elements held against the data, and nothing else.

No reference runs here: what a vector says is all that an implementation has to know.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.campaign import Found, Report, Selection
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.pair import READ, dtypes_of, is_harness, is_odd
from counterfoil_oracles.targets.profiles import outside
from counterfoil_oracles.targets.saving import keep, save
from counterfoil_oracles.targets.target import HarnessBroken, Target
from counterfoil_oracles.targets.verdicts import DECLINED, Finding, Kind, judged
from counterfoil_reference.numbers import FORMATS, is_nan_code, ordered, split_complex
from counterfoil_spec.commands import Command, Fault, Header, Outcome, Refused, Returned, Step, Trace
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import Profile, Skipped, TargetOutcome, Value
from counterfoil_spec.vectors import Elements, Fails, Refuses, Returns, Room, Vector, VectorStep


class Judge:
    """Runs vectors on one target and reports as a campaign does."""

    def __init__(
        self, target: Target, profile: Profile, mapper: Mapper, selection: Selection, directory: Path = DIRECTORY
    ) -> None:
        self._target = target
        self._profile = profile
        self._mapper = mapper
        self._selection = selection
        self._directory = directory
        self._began = time.monotonic()
        self._commands = frozenset(target.identity.commands)
        self._dtypes = frozenset(target.identity.dtypes)
        self._running: list[Step] = []
        self.report = Report(target.identity)

    def run(self, vectors: Iterable[Vector]) -> Report:
        """Every vector wanted; the target is closed at the end."""
        try:
            reason = self._target.adopt(self._profile)
            if reason is not None:
                raise HarnessBroken(f"the target cannot keep to the profile: {reason}")
            for vector in vectors:
                if self._selection.is_whole or any(self._selection.takes(rule) for rule in vector.rules):
                    self._note(vector)
        except HarnessBroken as broken:
            self.report.broken = str(broken) + self._what_ran()
        finally:
            self.report.seconds = time.monotonic() - self._began
            self.report.is_repeatable = True
            self._target.close()
        return self.report

    def _what_ran(self) -> str:
        """Keep the steps under which the harness broke; where, in words."""
        if not self._running:
            return ""
        trace = Trace(Header(title="the vector under which the harness broke"), list(self._running))
        self.report.broken_by = keep("broken", trace, self._directory)
        return f"; the vector is kept in {self.report.broken_by}"

    def finding(self, vector: Vector) -> tuple[Finding, int] | None:
        """The first difference a vector shows, and at which step; None if none, or where the target skips one."""
        if any(self._outside(step) for step in vector.steps):
            self.report.skipped[vector.chapter] += 1
            return None
        self._running.clear()
        for at, step in enumerate(vector.steps):
            command = command_of(step)
            self._running.append(Step(command=command))
            [actual] = self._target.run([wire.step_of(command)], at == 0)
            wire.check_bits(command.do, actual)
            if isinstance(actual, Skipped):
                self.report.skipped[step.do] += 1
                return None
            self.report.observe(command, outcome_of(step))
            found = self._judged(command, step, actual)
            if found is not None:
                return found, at
            if _rule_said(step) != DECLINED and actual == Value("DECLINED"):
                return None  # allowed by the profile; what follows would start from another state
        self.report.vectors += 1
        self.report.about.update(vector.rules)
        return None

    def _note(self, vector: Vector) -> None:
        found = self.finding(vector)
        if found is None or not self._selection.wants(found[0].rule, vector.rules):
            return
        finding, at = found
        key = (finding.case, finding.rule)
        self.report.met[key] += 1
        if key not in self.report.found:
            steps = [Step(command=command_of(step), outcome=outcome_of(step)) for step in vector.steps[: at + 1]]
            trace = Trace(Header(title=vector.title, rules=vector.rules), steps)
            path = save(trace, finding, self.report.identity.name, self._directory)
            self.report.found[key] = Found(finding, trace, path, time.monotonic() - self._began)

    def _outside(self, step: VectorStep) -> bool:
        command = command_of(step)
        return (
            step.do not in self._commands
            or is_harness(command)
            or any(name not in self._dtypes for name in dtypes_of(command.args))
            or ("odd" not in self._commands and is_odd(command.args))
            or outside(command, self._profile, {}) is not None
        )

    def _judged(self, command: Command, step: VectorStep, actual: TargetOutcome) -> Finding | None:
        if isinstance(step.expect, Returns) and step.expect.compare == "nothing" and isinstance(actual, Value):
            return None
        found = judged(command, outcome_of(step), actual, self._profile, self._mapper)
        if found is not None or step.holds is None or READ not in self._commands:
            return found
        asked = Command(do=READ, args={"array": {"ref": step.holds.array}})
        [shown] = self._target.run([wire.step_of(asked)], False)
        if isinstance(shown, Skipped):
            return None
        wrong = differing(step.holds, shown)
        return None if wrong is None else Finding(Kind.CONTENT, command, None, wrong, asked, shown)


def _rule_said(step: VectorStep) -> str | None:
    return step.expect.rule if isinstance(step.expect, Refuses) else None


def command_of(step: VectorStep) -> Command:
    """A vector's step as a trace's command."""
    return Command(do=step.do, args=wire.taken(step.args), bind=step.bind)


def outcome_of(step: VectorStep) -> Outcome:
    """What a vector's step must come to, as a trace's outcome."""
    match step.expect:
        case Fails(message=message):
            return Fault(message)
        case Refuses(rule=rule, subjects=subjects, answer=None):
            return Refused(rule, wire.received(subjects))
        case Refuses(answer=answer):
            return Returned(answer)
        case Returns(value=value):
            return Returned(wire.received(value))


def differing(holds: Elements, shown: TargetOutcome) -> str | None:
    """Where what a target shows of an array is not what a vector allows, in words; None if nowhere."""
    codes = wire.codes_shown(READ, shown, holds.dtype)
    if codes is None or len(codes) != len(holds.bits):
        return f"{holds.array}: {shown} holds no {len(holds.bits)} elements"
    dtype = Dtype.of_name(holds.dtype)
    for at, (code, bits) in enumerate(zip(codes, holds.bits, strict=True)):
        room = holds.room[at] if holds.room is not None else None
        fits = allows(room, dtype, code) if room is not None else _same(dtype, code, int(bits, 16))
        if not fits:
            within = "" if room is None else ", nor within the room that the rules leave"
            return f"{holds.array}: element {at} in C order is {dtype.name} code {code:#x}, not 0x{bits}{within}"
    return None


def _same(dtype: Dtype, code: int, right: int) -> bool:
    if code == right or dtype not in FORMATS:
        return code == right
    form = FORMATS[dtype]
    parts = [(code, right)] if form.bits == dtype.bits else zip(
        split_complex(dtype, code), split_complex(dtype, right), strict=True
    )  # fmt: skip
    return all(mine == theirs or (is_nan_code(form, mine) and is_nan_code(form, theirs)) for mine, theirs in parts)


def allows(room: Room, dtype: Dtype, code: int) -> bool:
    """Whether a room allows an element's bits (docs/protocol.md)."""
    if room.anything or f"{code:x}" in (bits.lstrip("0") or "0" for bits in room.codes):
        return True
    if room.real is not None and room.imaginary is not None:
        real, imaginary = split_complex(dtype, code)
        return allows(room.real, dtype, real) and allows(room.imaginary, dtype, imaginary)
    if dtype in FORMATS and is_nan_code(FORMATS[dtype], code):
        return room.nan or any(allows(other, dtype, code) for other in room.other)
    if room.low is not None and room.high is not None:
        form = FORMATS[dtype]
        if ordered(form, int(room.low, 16)) <= ordered(form, code) <= ordered(form, int(room.high, 16)):
            return True
    return any(allows(other, dtype, code) for other in room.other)
