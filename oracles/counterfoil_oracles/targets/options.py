"""What the commands that ask a target have in common: its name, what it may take, and how the report is written."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.targets import known, mapper
from counterfoil_oracles.targets.campaign import Report, Selection
from counterfoil_oracles.targets.conformance import check_rules
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.opening import opener
from counterfoil_oracles.targets.reports import FORMATS
from counterfoil_oracles.targets.target import Bounds, Target, harmless
from counterfoil_oracles.targets.validating import Validator
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import CHAPTERS

CONFORMS: Final = 0
DIVERGES: Final = 1
USAGE: Final = 2
BROKEN: Final = 3
NOTHING_RAN: Final = 4
SKIPPED: Final = 5


class UsageError(HarnessError):
    """The arguments make no sense together, or name a file that is not what it should be."""


def split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments before ``--``, and the program after it."""
    if "--" not in arguments:
        return arguments, ()
    at = list(arguments).index("--")
    return arguments[:at], arguments[at + 1 :]


def above_zero(text: str) -> float:
    """A number of seconds or GiB, as argparse takes one."""
    number = float(text)
    if not 0 < number <= 2**20:
        raise ValueError
    return number


def at_least_one(text: str) -> int:
    """A count, as argparse takes one."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


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
    add("--reply-seconds", type=above_zero, default=Bounds.seconds, help="how long a reply may take (default 10)")
    add("--memory-gib", type=above_zero, default=Bounds.memory_bytes / 2**30, help="of it, and of all it starts (4)")


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
    """What the options of a target say, and how the target is named again."""

    reopen: Callable[[], Target]
    profile: Profile
    words: mapper.Mapper
    named: Named


def setting(options: argparse.Namespace, program: Sequence[str]) -> Setting:
    """The target that options name; UsageError where they name none, or two, or files that do not hold what they
    should."""
    if (options.target is None) == (not program):
        raise UsageError("name one target, or a program after --")
    try:
        profile = msgspec.json.decode(options.profile.read_bytes(), type=Profile) if options.profile else Profile()
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{options.profile} is no profile: {error}") from None
    try:
        words = mapper.read(options.mapper) if options.mapper else mapper.Mapper()
    except HarnessError as error:
        raise UsageError(str(error)) from None
    bounds = Bounds(seconds=options.reply_seconds, memory_bytes=int(options.memory_gib * 2**30))
    validator = Validator() if options.validate_implementation else None
    reopen = opener(options.target, program, bounds, options.in_process, validator)
    return Setting(reopen, profile, words, Named(options.target, tuple(program), _again(options)))


def _again(options: argparse.Namespace) -> list[str]:
    """The options of a target that are not as they would be by themselves, as words of a command line."""
    files = (("--profile", options.profile), ("--map", options.mapper))
    words = [word for flag, path in files if path is not None for word in (flag, str(path))]
    words += [flag for flag in ("--validate-implementation", "--in-process") if getattr(options, _attribute(flag))]
    bounds = (("--reply-seconds", Bounds.seconds), ("--memory-gib", Bounds.memory_bytes / 2**30))
    given = ((flag, getattr(options, _attribute(flag)), default) for flag, default in bounds)
    return words + [word for flag, value, default in given if value != default for word in (flag, repr(value))]


def _attribute(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def selected(options: argparse.Namespace) -> Selection:
    """The rules and chapters that options name; UsageError for a rule that does not exist, or of which nothing can be
    checked by itself."""
    try:
        check_rules(options.rule)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.update_known and options.known is None:
        raise UsageError("--update-known rewrites the file that --known names")
    for path in (options.keep, options.sarif and options.sarif.parent, options.update_known and options.known.parent):
        if path:
            _check_writable(path)
    return Selection(frozenset(options.chapter), frozenset(options.rule))


def _check_writable(directory: Path) -> None:
    """UsageError where nothing can be written to a directory that is there, or to be made: before anything is run."""
    nearest = next(each for each in (directory, *directory.absolute().parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise UsageError(f"nothing can be written to {directory}")


def entries(options: argparse.Namespace) -> list[known.Known]:
    """The known differences of a file that is there, or is about to be written; UsageError for a file that is none."""
    if options.known is None or (options.update_known and not options.known.exists()):
        return []
    try:
        return known.read(options.known)
    except HarnessError as error:
        raise UsageError(str(error)) from None


def concluded(options: argparse.Namespace, report: Report, expected: Sequence[known.Known], selection: Selection,
              whole: bool) -> int:  # fmt: skip
    """Print a report as the options say; the exit code. ``whole``: nothing ended it before its time or its steps."""
    report.missed, report.known_file = report.missing(selection), options.known
    verdicts = known.judge(report, expected, whole, selection)
    if options.update_known and report.broken is None:
        verdicts = _updated(options, report, expected, selection, whole)
    sys.stdout.write(FORMATS[options.format](report, verdicts))
    if options.sarif is not None:
        options.sarif.write_text(FORMATS["sarif"](report, verdicts), encoding="utf-8")
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as summary:
            summary.write(FORMATS["markdown"](report, verdicts))
    return exit_code(report, verdicts)


def _updated(options: argparse.Namespace, report: Report, expected: Sequence[known.Known], selection: Selection,
             whole: bool) -> known.Verdicts:  # fmt: skip
    """Rewrite the file of known differences; what it says of the report then, and what it no longer says."""
    entries = known.updated(report, expected, selection, whole and report.is_repeatable)
    identity = report.identity
    known.write(options.known, entries, f"{identity.name} {identity.version.partition('+')[0]}")
    left = {entry.key for entry in entries}
    dropped = [entry for entry in expected if entry.key not in left]
    return replace(known.judge(report, entries, whole, selection), dropped=dropped)


def exit_code(report: Report, verdicts: known.Verdicts) -> int:
    """The exit code of a report."""
    if report.broken is not None:
        return BROKEN
    if verdicts.fails:
        return DIVERGES
    if not report.steps:
        return NOTHING_RAN
    return SKIPPED if report.missed else CONFORMS


def guarded(prog: str, run: Callable[[], int]) -> int:
    """Run a command; usage and broken harnesses as exit codes, said on standard error."""
    try:
        return run()
    except BrokenPipeError:
        raise  # nobody reads on: told apart from files that cannot be written
    except (UsageError, OSError) as error:
        print(harmless(f"{prog}: {error}"), file=sys.stderr)
        return USAGE
    except HarnessError as error:
        print(harmless(f"{prog}: {error}"), file=sys.stderr)
        return BROKEN
