"""``counterfoil replay --target TARGET FILE...`` and ``counterfoil replay FILE... -- PROGRAM``: FIXED, FAILED or FLAKY.

Exit codes: 0 all fixed, 1 one failed or is flaky, 2 usage, 3 the harness is broken, 4 the target does none of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles import subjects
from counterfoil_oracles.replay import Replayed, Verdict
from counterfoil_oracles.targets import options as common
from counterfoil_oracles.targets.pair import TargetPair
from counterfoil_oracles.targets.program import first_finding
from counterfoil_oracles.targets.target import HarnessBroken, Target, harmless
from counterfoil_spec.commands import Command, Trace, decode_trace

_PROG: Final = "counterfoil replay"
_TIMES: Final = 3


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether the arguments of ``replay`` name a target."""
    return "--" in arguments or any(word.partition("=")[0] == "--target" for word in arguments)


def main(arguments: Sequence[str]) -> int:
    """Replay some traces on one target; the exit code."""
    words, program = common.split(arguments)
    parser = argparse.ArgumentParser(prog=_PROG, description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    common.add_target(parser, "--target")
    options = parser.parse_args(list(words))
    return common.guarded(_PROG, lambda: _replayed(options, program))


def read(path: Path) -> Trace:
    """A trace file; UsageError where it is none."""
    try:
        return decode_trace(path.read_bytes())
    except (OSError, msgspec.MsgspecError, IndexError) as error:
        raise common.UsageError(f"{path}: {error}") from None


def _replayed(options: argparse.Namespace, program: Sequence[str]) -> int:
    traces = [(path, read(path)) for path in options.files]
    setting = common.setting(options, program)
    target = setting.reopen()
    try:
        reason = target.adopt(setting.profile)
        if reason is not None:
            raise HarnessBroken(f"the target cannot keep to the profile: {reason}")
        verdicts = []
        for path, trace in traces:
            found = replay(trace, target, setting)
            print(f"{found.verdict.name if found is not None else 'SKIPPED'}  {path}")
            if found is not None and found.verdict is not Verdict.FIXED:
                print(harmless(f"  {found.words}"))
            verdicts.append(found.verdict if found is not None else None)
    finally:
        target.close()
    if any(verdict in (Verdict.FAILED, Verdict.FLAKY) for verdict in verdicts):
        return common.DIVERGES
    return common.CONFORMS if any(verdict is not None for verdict in verdicts) else common.NOTHING_RAN


def replay(trace: Trace, target: Target, setting: common.Setting) -> Replayed | None:
    """What running a trace some times on the reference and a target shows; None where the target does none of it."""
    commands = [step.command for step in trace.steps]
    runs = [_run(commands, target, setting) for _ in range(_TIMES)]
    if not any(steps for steps, _ in runs):
        return None
    failed = [words for _, words in runs if words is not None]
    if not failed:
        return Replayed(Verdict.FIXED, "the target agrees with the reference")
    agree = len(failed) == _TIMES and len(set(failed)) == 1
    return Replayed(Verdict.FAILED if agree else Verdict.FLAKY, failed[0])


def _run(commands: Sequence[Command], target: Target, setting: common.Setting) -> tuple[int, str | None]:
    """How many commands ran, and the first finding in words."""
    pair = TargetPair(subjects.half("counterfoil_reference"), target, setting.profile, setting.words)
    ran: list[Command] = []
    try:
        found = first_finding(pair, commands, lambda command, _: ran.append(command))
    finally:
        pair.close()
    if found is None:
        return len(ran), None
    finding, at = found
    return len(ran), f"step {at + 1}, {finding.case}: {finding.words}"
