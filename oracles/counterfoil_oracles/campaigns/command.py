"""``counterfoil check --engine dask``: a campaign over Dask workers, of the halves or of a target.

Exit codes: 0 conforms, 1 divergence, 2 usage, 3 the harness is broken, 4 nothing ran, 5 a part got no verdict.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from distributed import Client

from counterfoil_oracles import check
from counterfoil_oracles.campaigns import clusters, stores
from counterfoil_oracles.campaigns.asking import ALL
from counterfoil_oracles.campaigns.driving import Drive, Limits
from counterfoil_oracles.campaigns.merging import Merged, report_of
from counterfoil_oracles.campaigns.planning import Plan
from counterfoil_oracles.campaigns.showing import LiveView, text
from counterfoil_oracles.campaigns.units import Checked, digest
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.targets import known, mapper
from counterfoil_oracles.targets.campaign import Report, Selection
from counterfoil_oracles.targets.command import BROKEN, CONFORMS, SKIPPED, USAGE, exit_code
from counterfoil_oracles.targets.reports import FORMATS
from counterfoil_oracles.targets.target import Bounds
from counterfoil_spec import __version__
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import CHAPTERS, registry

DATABASE: Final = ".counterfoil/campaigns"
SECONDS: Final = 40.0


def main(arguments: Sequence[str]) -> int:
    """Run a campaign; the exit code."""
    words, program = _split(arguments)
    options = _parser().parse_args(words)
    problem = _problem(options, program)
    if problem is not None:
        print(f"counterfoil check: {problem}", file=sys.stderr)
        return USAGE
    try:
        return _checked(options, program)
    except (msgspec.DecodeError, OSError) as error:
        print(f"counterfoil check: {error}", file=sys.stderr)
        return USAGE
    except HarnessError as error:
        print(f"counterfoil check: {error}", file=sys.stderr)
        return BROKEN


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="counterfoil check --engine dask", description=__doc__)
    add = parser.add_argument
    add("target", nargs="?", help="package.module:factory, lib.so or unix:PATH; a program comes after --")
    add("--engine", choices=("dask",), required=True, help="what spreads the units")
    add("--scheduler", metavar="ADDRESS", help="of a running Dask scheduler (default: a cluster of processes here)")
    add("--workers", type=int, help="how many processes, or how many workers to wait for (default: the cores; 1)")
    add("--memory", default="2GiB", help="of each process of a local cluster (default 2GiB)")
    add("--deaths", type=int, default=2, help="workers that one unit may bring down and be tried again (default 2)")
    add("--database", default=DATABASE, metavar="DIR|redis://...", help=f"findings and progress (default {DATABASE})")
    add("--campaign", default="", metavar="NAME", help="tells campaigns of the same target apart: a commit, a date")
    add("--subject", default="counterfoil", help="the half to check where no target is named (default counterfoil)")
    add("--machine", choices=check.MACHINES, help="one machine of the halves alone (default: both)")
    add("--rule", action="append", default=[], metavar="ID", help="of a target: this rule alone (may be repeated)")
    add("--chapter", action="append", default=[], choices=CHAPTERS, help="of a target: this chapter alone (repeatable)")
    add("--time", "--seconds", dest="seconds", type=float, help="seconds of this run (default 40 without --programs)")
    add("--programs", type=int, help="of each machine or chapter, over all runs of the campaign")
    add("--seed", type=int, default=0, help="where the random programs start (default 0)")
    add("--profile", type=Path, help="a JSON file: what the rules leave to the implementation")
    add("--map", type=Path, dest="mapper", help="a TOML file: from the target's words to rules")
    add("--known", type=Path, help="a TOML file of known differences")
    add("--format", choices=sorted(FORMATS), default="text", help="of the report on standard output (default text)")
    add("--keep", type=Path, default=DIRECTORY, metavar="DIRECTORY", help="where traces of failures are kept")
    add("--in-process", action="store_true", help="load the target into the workers: faster, and unbounded")
    add("--reply-seconds", type=float, default=Bounds.seconds, help="how long a reply may take (default 10)")
    return parser


def _problem(options: argparse.Namespace, program: Sequence[str]) -> str | None:
    """Why the arguments make no sense together."""
    unknown = [rule for rule in options.rule if rule not in registry()]
    if unknown:
        return f"there is no rule {unknown[0]}"
    if options.target is not None and program:
        return "name one target, or a program after --"
    is_half = options.target is None and not program
    if is_half and (options.rule or options.chapter):
        return "--rule and --chapter are for targets; machines run everything"
    if not is_half and options.machine is not None:
        return "--machine is for the halves"
    numbers = (options.workers, options.programs, options.seconds)
    if any(number is not None and number <= 0 for number in numbers) or options.deaths < 0:
        return "counts and times are above 0"
    return None


def _checked(options: argparse.Namespace, program: Sequence[str]) -> int:
    checked = _what(options, program)
    streams = _streams(options, checked)
    name = digest(__version__, checked, streams, options.seed, options.campaign)
    entries = known.read(options.known) if options.known is not None else []
    failures, journal = stores.opened(options.database, checked.name, name)
    try:
        plan = Plan(journal, streams, options.seed, options.programs, with_vectors=checked.subject is None)
        seconds = options.seconds if options.seconds or options.programs else SECONDS
        with clusters.connected(options.scheduler, options.workers, options.memory, options.deaths) as client:
            merged = _driven(client, Drive(client, checked, plan, failures, Limits(seconds)))
    finally:
        journal.close()
    report = report_of(merged, checked, options.keep)
    verdicts = known.judge(report, entries, whole=not (options.rule or options.chapter))
    if options.format == "text":
        sys.stdout.write(text(report, merged, verdicts, checked.subject is not None))
    else:
        sys.stdout.write(FORMATS[options.format](report, verdicts))
        sys.stderr.write("".join(f"NO VERDICT {words}\n" for words in merged.unsettled))
    return _code(report, merged, verdicts, options)


def _what(options: argparse.Namespace, program: Sequence[str]) -> Checked:
    profile = msgspec.json.decode(options.profile.read_bytes(), type=Profile) if options.profile else Profile()
    patterns = mapper.read(options.mapper).patterns if options.mapper else ()
    is_half = options.target is None and not program
    return Checked(
        subject=options.subject if is_half else None,
        target=options.target,
        program=tuple(program),
        in_process=options.in_process,
        reply_seconds=options.reply_seconds,
        profile=profile,
        mapper=tuple((each.words.pattern, each.rule, each.command) for each in patterns),
        rules=tuple(options.rule),
    )


def _streams(options: argparse.Namespace, checked: Checked) -> list[str]:
    if checked.subject is not None:
        return [options.machine] if options.machine else list(check.MACHINES)
    return list(dict.fromkeys(options.chapter)) or [ALL]


def _driven(client: Client, drive: Drive) -> Merged:
    print(f"dashboard: {client.dashboard_link}", file=sys.stderr)
    view = LiveView()
    try:
        return drive.run(view)
    finally:
        view.end()


def _code(report: Report, merged: Merged, verdicts: known.Verdicts, options: Any) -> int:
    code = exit_code(report, verdicts, Selection(frozenset(options.chapter), frozenset(options.rule)))
    return SKIPPED if code == CONFORMS and merged.unsettled else code
