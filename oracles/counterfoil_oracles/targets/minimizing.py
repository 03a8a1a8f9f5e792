"""``counterfoil minimize FILE``: a trace of any origin, made as small as shows the same.

The same is: the halves part in the same way; with ``--target`` or ``-- PROGRAM``, the target shows the same finding;
with ``--rule``, the rule refuses the last step. Commands are left out, extents and memory lessened, values made plain.
Exit codes: 0 written, 2 usage, 3 the harness is broken, 4 the trace shows nothing.
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles import subjects
from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.compare import first_divergence
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.shrink import Fails, alike, shrunk
from counterfoil_oracles.targets import options as common
from counterfoil_oracles.targets.pair import TargetPair
from counterfoil_oracles.targets.program import first_finding
from counterfoil_oracles.targets.replaying import read
from counterfoil_oracles.targets.smaller import smaller
from counterfoil_oracles.targets.target import HarnessBroken
from counterfoil_spec.commands import Command, Header, Outcome, Step, Trace, encode_trace

_PROG: Final = "counterfoil minimize"
Commands = Sequence[Command]


def main(arguments: Sequence[str]) -> int:
    """Minimise one trace; the exit code."""
    words, program = common.split(arguments)
    description = f"a trace of any origin, made as small as shows the same. {__doc__}".capitalize()
    parser = argparse.ArgumentParser(prog=_PROG, description="A trace of any origin, made as small as shows the same.")
    parser.epilog = description
    parser.add_argument("file", type=Path)
    parser.add_argument("--subject", default="counterfoil", help="the half to check (default: counterfoil)")
    parser.add_argument("--rule", metavar="ID", help="keep this rule refusing the last step, on the reference")
    parser.add_argument("--seconds", type=common.above_zero, default=20.0, help="how long (default 20)")
    parser.add_argument("-o", "--output", type=Path, help="where it is written (default FILE.min.jsonl)")
    common.add_target(parser, "--target")
    options = parser.parse_args(list(words))
    return common.guarded(_PROG, lambda: _minimised(options, program))


def _minimised(options: argparse.Namespace, program: Sequence[str]) -> int:
    trace = read(options.file)
    commands = [step.command for step in trace.steps]
    reference = subjects.half("counterfoil_reference")
    if options.rule is not None:
        close, found = _nothing, _by_rule(reference, commands, options.rule)
    elif options.target is not None or program:
        close, found = _by_target(reference, commands, common.setting(options, program))
    else:
        close, found = _nothing, _by_halves(reference, subjects.half(options.subject), commands)
    try:
        if found is None:
            print(f"{options.file} shows nothing: there is nothing to keep")
            return common.NOTHING_RAN
        end, fails = found
        left = minimised(commands[: end + 1], fails, options.seconds)
    finally:
        close()
    path = options.output or options.file.with_suffix(".min.jsonl")
    path.write_bytes(encode_trace(Trace(_header(trace), _recorded(reference, left))))
    print(f"{len(commands)} commands, now {len(left)}: {path}")
    line = _again(options, program, path)
    if line is not None:
        print(f"reproduce: {line}")
    return common.CONFORMS


def _again(options: argparse.Namespace, program: Sequence[str], path: Path) -> str | None:
    """The line that replays what is left, where it fails on something."""
    if options.rule is not None:
        return None
    if options.target is not None or program:
        return common.setting(options, program).named.line(path)
    return shlex.join(["counterfoil", "replay", "--subject", options.subject, str(path)])


def minimised(commands: Commands, fails: Fails, seconds: float) -> list[Command]:
    """The smallest program found within about so many seconds that still fails."""
    deadline = time.monotonic() + seconds

    def still(candidate: Commands) -> bool:
        return time.monotonic() <= deadline and fails(candidate)

    left = list(commands)
    while True:
        before = left
        left = smaller(shrunk(left, still, seconds), still, alone=True)
        if left == before or time.monotonic() > deadline:
            return left


def _nothing() -> None:
    pass


def _by_halves(reference: Any, subject: Any, commands: Commands) -> tuple[int, Fails] | None:
    found = first_divergence(reference, subject, commands)
    if found is None:
        return None

    def fails(candidate: Commands) -> bool:
        divergence = first_divergence(reference, subject, candidate)
        return divergence is not None and alike(divergence, found)

    return found.index, fails


def _by_rule(reference: Any, commands: Commands, rule: str) -> tuple[int, Fails] | None:
    def rules(candidate: Commands) -> list[str | None]:
        steps = _recorded(reference, candidate)
        return [rule_of_outcome(step.command, step.outcome) if step.outcome else None for step in steps]

    met = rules(commands)
    if rule not in met:
        return None
    return met.index(rule), lambda candidate: rules(candidate)[-1] == rule


def _by_target(
    reference: Any, commands: Commands, setting: common.Setting
) -> tuple[Callable[[], None], tuple[int, Fails] | None]:
    """What closes the target, and its finding. A program under which the harness breaks shows something else."""
    opened = [setting.reopen()]

    def finding(candidate: Commands) -> Any:
        pair = TargetPair(reference, opened[-1], setting.profile, setting.words)
        try:
            return first_finding(pair, candidate)
        finally:
            pair.close()

    def close() -> None:
        opened[-1].close()

    try:
        reason = opened[-1].adopt(setting.profile)
        if reason is not None:
            raise HarnessBroken(f"the target cannot keep to the profile: {reason}")
        found = finding(commands)
    except BaseException:
        close()
        raise
    if found is None:
        return close, None
    first, at = found

    def fails(candidate: Commands) -> bool:
        try:
            again = finding(candidate)
        except HarnessBroken:
            close()
            opened.append(setting.reopen())
            return False
        return again is not None and (again[0].case, again[0].rule) == (first.case, first.rule)

    return close, (at, fails)


def _recorded(reference: Any, commands: Commands) -> list[Step]:
    """The commands with the reference's outcomes."""
    outcomes: list[Outcome] = []
    with between_programs(reference), Driver(reference) as driver:
        outcomes = driver.run(commands)
    return [Step(command=each, outcome=outcome) for each, outcome in zip(commands, outcomes, strict=True)]


def _header(trace: Trace) -> Header:
    header = trace.header
    return Header(title=header.title, rules=header.rules, seed=header.seed)
