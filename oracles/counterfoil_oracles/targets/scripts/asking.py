"""What the checker asks of a target to see a finding, as a snippet asks it again."""

from __future__ import annotations

from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.pair import filling
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Command, Trace
from counterfoil_spec.protocol import Identity, TargetStep


def asked(trace: Trace, finding: Finding, identity: Identity) -> list[TargetStep]:
    """The steps; the outcome of the last shows the finding."""
    commands = [step.command for step in trace.steps]
    steps = [each for command in commands for each in (command, *_filled(command, identity))]
    if finding.looked is not None and finding.looked != steps[-1]:
        steps.append(finding.looked)
    return [wire.step_of(command) for command in steps]


def _filled(command: Command, identity: Identity) -> list[Command]:
    return [each for each in filling(command) if each.do in identity.commands]
