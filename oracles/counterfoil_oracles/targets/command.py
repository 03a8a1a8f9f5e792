"""``counterfoil check TARGET`` and ``counterfoil check -- PROGRAM ARGUMENT...``: another implementation, checked.

Exit codes: 0 conforms, 1 divergence, 2 usage, 3 the harness is broken, 4 nothing ran, 5 a required part was skipped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles import subjects
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.targets import known, mapper
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.opening import opener
from counterfoil_oracles.targets.reports import FORMATS
from counterfoil_oracles.targets.target import Bounds
from counterfoil_oracles.targets.validating import Validator
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import CHAPTERS, registry

CONFORMS: Final = 0
DIVERGES: Final = 1
USAGE: Final = 2
BROKEN: Final = 3
NOTHING_RAN: Final = 4
SKIPPED: Final = 5


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether the arguments of ``check`` name a target: a program after ``--``, or a word like a target's name."""
    words, program = _split(arguments)
    return bool(program) or any(":" in word or word.endswith((".so", ".dylib")) for word in words)


def main(arguments: Sequence[str]) -> int:
    """Check one target; the exit code."""
    words, program = _split(arguments)
    options = _parser().parse_args(list(words))
    if (options.target is None) == (not program):
        print("counterfoil check: name one target, or a program after --", file=sys.stderr)
        return USAGE
    try:
        return _checked(options, program)
    except (UsageError, msgspec.ValidationError, msgspec.DecodeError) as error:
        print(f"counterfoil check: {error}", file=sys.stderr)
        return USAGE
    except HarnessError as error:
        print(f"counterfoil check: {error}", file=sys.stderr)
        return BROKEN


class UsageError(Exception):
    """The arguments make no sense together."""


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    if "--" not in arguments:
        return arguments, ()
    at = list(arguments).index("--")
    return arguments[:at], arguments[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="counterfoil check", description=__doc__)
    add = parser.add_argument
    add("target", nargs="?", help="package.module:factory, lib.so or unix:PATH; a program comes after --")
    add("--rule", action="append", default=[], metavar="ID", help="this rule alone (may be repeated)")
    add("--chapter", action="append", default=[], choices=CHAPTERS, help="this chapter alone (may be repeated)")
    add("--time", "--seconds", dest="seconds", type=float, default=40.0, help="how many seconds (default 40)")
    add("--steps", type=int, help="stop after so many commands")
    add("--seed", type=int, default=0, help="where the random programs start (default 0)")
    add("--profile", type=Path, help="a JSON file: what the rules leave to the implementation")
    add("--map", type=Path, dest="mapper", help="a TOML file: from the target's words to rules")
    add("--known", type=Path, help="a TOML file of known differences")
    add("--update-known", action="store_true", help="rewrite the file of known differences, reasons kept")
    add("--format", choices=sorted(FORMATS), default="text", help="of the report on standard output (default text)")
    add("--keep", type=Path, default=DIRECTORY, metavar="DIRECTORY", help="where traces of failures are kept")
    add("--validate-implementation", action="store_true", help="hold every message against the protocol's schema")
    add("--in-process", action="store_true", help="load the target into this process: faster, and unbounded")
    add("--reply-seconds", type=float, default=Bounds.seconds, help="how long a reply may take (default 10)")
    return parser


def _checked(options: argparse.Namespace, program: Sequence[str]) -> int:
    unknown = [rule for rule in options.rule if rule not in registry()]
    if unknown:
        raise UsageError(f"there is no rule {unknown[0]}")
    if options.update_known and options.known is None:
        raise UsageError("--update-known rewrites the file that --known names")
    entries = known.read(options.known) if options.known is not None and options.known.exists() else []
    profile = msgspec.json.decode(options.profile.read_bytes(), type=Profile) if options.profile else Profile()
    words = mapper.read(options.mapper) if options.mapper else mapper.Mapper()
    selection = Selection(
        frozenset(options.chapter), frozenset(options.rule), options.seconds, options.steps, options.seed
    )
    validator = Validator() if options.validate_implementation else None
    bounds = Bounds(seconds=options.reply_seconds)
    reopen = opener(options.target, program, bounds, options.in_process, validator)
    campaign = Campaign(subjects.half("counterfoil_reference"), reopen, selection, profile, words, options.keep)
    report = campaign.run(shipped(), Progress() if sys.stderr.isatty() else None)
    if options.update_known:
        entries = known.updated(report, entries)
        known.write(options.known, entries, report.identity.name)
    verdicts = known.judge(report, entries, whole=not (options.rule or options.chapter or options.steps))
    sys.stdout.write(FORMATS[options.format](report, verdicts))
    _summarise(FORMATS["markdown"](report, verdicts))
    return exit_code(report, verdicts, selection)


def exit_code(report: Report, verdicts: known.Verdicts, selection: Selection) -> int:
    """The exit code of a report."""
    if report.broken is not None:
        return BROKEN
    if verdicts.fails:
        return DIVERGES
    if not report.steps:
        return NOTHING_RAN
    chapters = {rule.partition("/")[0] for rule in report.rules}
    missing = [*sorted(selection.chapters - chapters), *sorted(selection.rules - set(report.rules))]
    return SKIPPED if missing else CONFORMS


def _summarise(text: str) -> None:
    """Add the report to the step summary of a CI system that has one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as summary:
            summary.write(text)


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
