"""``counterfoil check TARGET`` and ``counterfoil check -- PROGRAM ARGUMENT...``: another implementation, checked.

Exit codes: 0 conforms, 1 divergence, 2 usage, 3 the harness is broken, 4 nothing ran, 5 a required part was skipped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from counterfoil_oracles import subjects
from counterfoil_oracles.targets import options as common
from counterfoil_oracles.targets.campaign import Campaign, Report
from counterfoil_oracles.targets.snippets import add_snippets
from counterfoil_oracles.targets.vectors import shipped

_PROG = "counterfoil check"


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether the arguments of ``check`` name a target: a program after ``--``, or a word like a target's name."""
    words, program = common.split(arguments)
    return bool(program) or any(":" in word or word.endswith((".so", ".dylib")) for word in words)


def main(arguments: Sequence[str]) -> int:
    """Check one target; the exit code."""
    words, program = common.split(arguments)
    options = _parser().parse_args(list(words))
    return common.guarded(_PROG, lambda: _checked(options, program))


def help_text() -> str:
    """What ``--help`` says of checking a target."""
    return _parser().format_help()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_PROG, description=__doc__)
    common.add_target(parser)
    common.add_report(parser)
    add = parser.add_argument
    add("--time", "--seconds", dest="seconds", type=common.above_zero, default=40.0, help="seconds (default 40)")
    add("--steps", type=common.at_least_one, help="stop after so many commands")
    add("--failures", type=common.at_least_one, help="stop after so many differences (default: go on)")
    add("--seed", type=int, default=0, help="where the random programs start (default 0)")
    return parser


def _checked(options: argparse.Namespace, program: Sequence[str]) -> int:
    selection = replace(
        common.selected(options), seconds=options.seconds, steps=options.steps, seed=options.seed,
        differences=options.failures,
    )  # fmt: skip
    setting, expected = common.setting(options, program), common.entries(options)
    campaign = Campaign(
        subjects.half("counterfoil_reference"), setting.reopen, selection, setting.profile, setting.words, options.keep,
        {entry.key: None if entry.operands is None else frozenset(entry.operands) for entry in expected},
    )  # fmt: skip
    report = campaign.run(shipped(), Progress() if sys.stderr.isatty() else None)
    report.named = setting.named
    add_snippets(report, setting.named, setting.profile)
    whole = options.failures is None or len(report.found) < options.failures
    return common.concluded(options, report, expected, selection, whole)


class Progress:
    """A live line on standard error, cleared at the end of the process's output."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, report: Report) -> None:
        """Say where the check is, five times a second at most."""
        if report.seconds < self._next:
            return
        self._next = report.seconds + 0.2
        rate = report.steps / report.seconds if report.seconds else 0.0
        sys.stderr.write(
            f"\r\x1b[K{report.seconds:5.1f} s  {report.steps} steps  {rate:.0f} steps/s  "
            f"{len(report.rules)} rules met  {len(report.found)} differences\r"
        )
        sys.stderr.flush()
