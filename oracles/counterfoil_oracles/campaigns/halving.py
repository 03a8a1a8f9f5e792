"""A unit of one machine: the reference and a half in step, in the worker's own process."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, Final

import msgspec

from counterfoil_oracles import check, subjects
from counterfoil_oracles.campaigns.sampling import unsampled
from counterfoil_oracles.campaigns.units import Case, Result, Shown, Unit
from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.compare import Divergence
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.failures import recorded
from counterfoil_oracles.machines.program import Diverged
from counterfoil_oracles.shrink import shrink
from counterfoil_oracles.targets.verdicts import Finding, Kind
from counterfoil_spec.commands import Command, Fault, Refused, Returned, Trace, decode_trace, encode_trace

REFERENCE: Final = "counterfoil_reference"
SHRINKING_SECONDS: Final = 5.0


def run_halves(unit: Unit, result: Result) -> None:
    """Run the programs, or the traces, of a unit on the reference and the subject; what came of it goes to result."""
    reference, subject = subjects.half(REFERENCE), subjects.half(str(unit.checked.subject))
    _settled()
    with unsampled():
        (_replay if unit.replayed else _programs)(reference, subject, unit, result)


def _programs(reference: Any, subject: Any, unit: Unit, result: Result) -> None:
    report, met = check.Report(), Counter[Case]()
    for seed in range(unit.first, unit.first + unit.programs):
        try:
            check.run_program(unit.stream, reference, subject, seed, report)
        except Diverged as diverged:
            case = case_of(diverged.divergence)
            if case not in met and case not in unit.known:
                result.found.append(_shrunk(reference, subject, diverged))
            met[case] += 1
        result.programs += 1
    result.steps = report.steps
    result.rules = dict(report.histogram.rules + report.tally.rules)
    result.met = list(met.items())


@functools.cache
def _settled() -> None:
    settle_imports()


def _replay(reference: Any, subject: Any, unit: Unit, result: Result) -> None:
    for data in unit.replayed:
        trace, divergence = recorded(reference, subject, [step.command for step in decode_trace(data).steps])
        if divergence is None:
            result.healed.append(data)
        else:
            result.found.append(shown(finding_of(divergence), trace))
            result.met.append((case_of(divergence), 1))
        result.steps += len(trace.steps)


def _shrunk(reference: Any, subject: Any, diverged: Diverged) -> Shown:
    commands = [step.command for step in diverged.trace.steps]
    short = shrink(reference, subject, commands, diverged.divergence, SHRINKING_SECONDS)
    trace, divergence = recorded(reference, subject, short)
    if divergence is None or case_of(divergence) != case_of(diverged.divergence):  # keep what was met, whole
        trace, divergence = diverged.trace, diverged.divergence
    return shown(finding_of(divergence), trace)


def finding_of(divergence: Divergence) -> Finding:
    """A divergence of the halves in the words that findings about targets have."""
    expected, actual = divergence.expected, divergence.actual
    rules = (_rule(divergence.command, outcome) for outcome in (expected, actual))
    rule = next((found for found in rules if found is not None), None)
    return Finding(_kind(divergence.command, expected, actual), divergence.command, rule, divergence.difference)


def case_of(divergence: Divergence) -> Case:
    """The case of a divergence."""
    finding = finding_of(divergence)
    return finding.case, finding.rule


def _rule(command: Command, outcome: object) -> str | None:
    return rule_of_outcome(command, outcome) if isinstance(outcome, Returned | Refused | Fault) else None


def _kind(command: Command, expected: object, actual: object) -> Kind:
    if not isinstance(actual, Returned | Refused | Fault) or not isinstance(expected, Returned | Refused | Fault):
        return Kind.CONTENT
    if isinstance(actual, Fault):
        return Kind.ERRORED
    right, wrong = _rule(command, expected), _rule(command, actual)
    if right is not None:
        return Kind.ACCEPTED if wrong is None else Kind.OTHER_RULE
    return Kind.VALUE if wrong is None else Kind.REFUSED


def shown(finding: Finding, trace: Trace) -> Shown:
    """A finding as it travels."""
    return Shown(
        case=(finding.case, finding.rule),
        kind=finding.kind.name,
        words=finding.words,
        command=msgspec.json.encode(finding.command),
        trace=encode_trace(trace),
        looked=b"" if finding.looked is None else msgspec.json.encode(finding.looked),
        seen=finding.seen,
        operands=finding.operands,
    )


def told(shown: Shown) -> Finding:
    """The finding that travelled."""
    command = msgspec.json.decode(shown.command, type=Command)
    looked = msgspec.json.decode(shown.looked, type=Command) if shown.looked else None
    return Finding(Kind[shown.kind], command, shown.case[1], shown.words, looked, shown.seen, shown.operands)
