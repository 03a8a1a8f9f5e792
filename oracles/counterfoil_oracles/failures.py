"""Keeping failures: each as a trace file that can be replayed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.compare import Divergence, Pair
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.cuda.setting import Setting
from counterfoil_spec.commands import Command, Header, Refused, Returned, Step, Trace, encode_trace

DIRECTORY: Final = Path(".counterfoil") / "failures"


def recorded(reference: Any, subject: Any, commands: list[Command]) -> tuple[Trace, Divergence | None]:
    """The trace of a program with the reference's outcomes, up to where the halves part, and where that is."""
    steps: list[Step] = []
    with between_programs(reference, subject), Pair(reference, subject) as pair:
        pair.settle_fresh()
        for command in commands:
            outcome, divergence = pair.step(command)
            steps.append(Step(command=command, outcome=outcome))
            if divergence is not None:
                return Trace(_header(steps, divergence), steps), divergence
    return Trace(Header(), steps), None


def save(trace: Trace, divergence: Divergence, directory: Path = DIRECTORY) -> Path:
    """Write the trace under a name made of what parted and of its content; the file."""
    data = encode_trace(trace)
    what = divergence.command.args.get("name") if divergence.command.do == "kernel" else divergence.command.do
    path = directory / f"{str(what).replace('.', '-')}-{hashlib.sha256(data).hexdigest()[:8]}.jsonl"
    directory.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def reproduce(path: Path) -> str:
    """The line to paste."""
    return f"reproduce: counterfoil replay {'--device cuda ' if Setting.devices else ''}{path}"


def rules_of(steps: list[Step]) -> list[str]:
    """The rules that refused a step, in order of appearance."""
    outcomes = ((step.command, step.outcome) for step in steps if isinstance(step.outcome, Refused | Returned))
    found = (rule_of_outcome(command, outcome) for command, outcome in outcomes if outcome is not None)
    return list(dict.fromkeys(rule for rule in found if rule is not None))


def _header(steps: list[Step], divergence: Divergence) -> Header:
    return Header(title=f"{divergence.command.do}: {divergence.difference}"[:300], rules=rules_of(steps[-1:]))
