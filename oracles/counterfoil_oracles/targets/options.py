"""What the commands that ask a target have in common: its name, what it may take, and how the report is written."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.targets import known, mapper
from counterfoil_oracles.targets.campaign import Report, Selection
from counterfoil_oracles.targets.opening import opener
from counterfoil_oracles.targets.reports import FORMATS
from counterfoil_oracles.targets.target import Bounds, Target
from counterfoil_oracles.targets.validating import Validator
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import CHAPTERS, registry

CONFORMS: Final = 0
DIVERGES: Final = 1
USAGE: Final = 2
BROKEN: Final = 3
NOTHING_RAN: Final = 4
SKIPPED: Final = 5


class UsageError(Exception):
    """The arguments make no sense together."""


def split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments before ``--``, and the program after it."""
    if "--" not in arguments:
        return arguments, ()
    at = list(arguments).index("--")
    return arguments[:at], arguments[at + 1 :]


def add_target(parser: argparse.ArgumentParser, flag: str = "target") -> None:
    """The target and its bounds."""
    add = parser.add_argument
    help = "package.module:factory, lib.so or unix:PATH; a program comes after --"
    if flag == "target":
        add("target", nargs="?", help=help)
    else:
        add(flag, dest="target", metavar="TARGET", help=help)
    add("--profile", type=Path, help="a JSON file: what the rules leave to the implementation")
    add("--map", type=Path, dest="mapper", help="a TOML file: from the target's words to rules")
    add("--validate-implementation", action="store_true", help="hold every message against the protocol's schema")
    add("--in-process", action="store_true", help="load the target into this process: faster, and unbounded")
    add("--reply-seconds", type=float, default=Bounds.seconds, help="how long a reply may take (default 10)")
    add("--memory-gib", type=float, default=Bounds.memory_bytes / 2**30, help="its address space (default 4)")


def add_report(parser: argparse.ArgumentParser) -> None:
    """What is checked, what is known, and how it is told."""
    add = parser.add_argument
    add("--rule", action="append", default=[], metavar="ID", help="this rule alone (may be repeated)")
    add("--chapter", action="append", default=[], choices=CHAPTERS, help="this chapter alone (may be repeated)")
    add("--known", type=Path, help="a TOML file of known differences")
    add("--update-known", action="store_true", help="rewrite the file of known differences, reasons kept")
    add("--format", choices=sorted(FORMATS), default="text", help="of the report on standard output (default text)")
    add("--sarif", type=Path, metavar="FILE", help="write a SARIF report too, for code scanning")
    add("--keep", type=Path, default=DIRECTORY, metavar="DIRECTORY", help="where traces of failures are kept")


@dataclass(frozen=True)
class Setting:
    """What the options of a target say. ``name`` and ``program``: how it is started, of which one is empty."""

    reopen: Callable[[], Target]
    profile: Profile
    words: mapper.Mapper
    name: str | None
    program: Sequence[str]


def setting(options: argparse.Namespace, program: Sequence[str]) -> Setting:
    """The target that options name; UsageError where they name none, or two, or files that do not hold what they
    should."""
    if (options.target is None) == (not program):
        raise UsageError("name one target, or a program after --")
    try:
        profile = msgspec.json.decode(options.profile.read_bytes(), type=Profile) if options.profile else Profile()
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{options.profile} is no profile: {error}") from None
    words = mapper.read(options.mapper) if options.mapper else mapper.Mapper()
    bounds = Bounds(seconds=options.reply_seconds, memory_bytes=int(options.memory_gib * 2**30))
    validator = Validator() if options.validate_implementation else None
    reopen = opener(options.target, program, bounds, options.in_process, validator)
    return Setting(reopen, profile, words, options.target, program)


def selected(options: argparse.Namespace) -> Selection:
    """The rules and chapters that options name; UsageError for a rule that does not exist."""
    unknown = [rule for rule in options.rule if rule not in registry()]
    if unknown:
        raise UsageError(f"there is no rule {unknown[0]}")
    if options.update_known and options.known is None:
        raise UsageError("--update-known rewrites the file that --known names")
    return Selection(frozenset(options.chapter), frozenset(options.rule))


def entries(options: argparse.Namespace) -> list[known.Known]:
    """The known differences of a file that is there, or is about to be written."""
    if options.known is None or (options.update_known and not options.known.exists()):
        return []
    return known.read(options.known)


def concluded(options: argparse.Namespace, report: Report, expected: Sequence[known.Known], selection: Selection,
              whole: bool) -> int:  # fmt: skip
    """Print a report as the options say; the exit code."""
    if options.update_known:
        expected = known.updated(report, expected)
        known.write(options.known, expected, report.identity.name)
    verdicts = known.judge(report, expected, whole)
    sys.stdout.write(FORMATS[options.format](report, verdicts))
    if options.sarif is not None:
        options.sarif.write_text(FORMATS["sarif"](report, verdicts), encoding="utf-8")
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as summary:
            summary.write(FORMATS["markdown"](report, verdicts))
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


def guarded(prog: str, run: Callable[[], int]) -> int:
    """Run a command; usage and broken harnesses as exit codes, said on standard error."""
    try:
        return run()
    except UsageError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return USAGE
    except HarnessError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return BROKEN
