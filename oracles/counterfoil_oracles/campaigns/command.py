"""``counterfoil check --engine dask``: a campaign over Dask workers, of the halves or of a target.

Exit codes: 0 conforms, 1 divergence, 2 usage, 3 the harness is broken, 4 nothing ran, 5 a part got no verdict.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final

from counterfoil_oracles import check
from counterfoil_oracles.campaigns import clusters, stores
from counterfoil_oracles.campaigns.asking import ALL
from counterfoil_oracles.campaigns.driving import Drive, Limits
from counterfoil_oracles.campaigns.merging import Merged, report_of
from counterfoil_oracles.campaigns.planning import Plan
from counterfoil_oracles.campaigns.showing import LiveView, said
from counterfoil_oracles.campaigns.units import Checked, digest
from counterfoil_oracles.cuda import emulation
from counterfoil_oracles.targets import options as common
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.options import CONFORMS, SKIPPED, UsageError
from counterfoil_oracles.targets.snippets import add_snippets
from counterfoil_spec import __version__

DATABASE: Final = ".counterfoil/campaigns"
SECONDS: Final = 40.0
_PROG: Final = "counterfoil check --engine dask"

_OF_TARGETS: Final = dict.fromkeys(("rule", "chapter"), "for targets; a machine runs everything")
_OF_HALVES: Final = dict.fromkeys(("subject", "machine", "device", "mode"), "for the halves")


def main(arguments: Sequence[str]) -> int:
    """Run a campaign; the exit code."""
    words, program = common.split(arguments)
    options = _parser().parse_args(list(words))
    return common.guarded(_PROG, lambda: _checked(options, program, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_PROG, description=__doc__)
    common.add_target(parser)
    common.add_report(parser)
    add = parser.add_argument
    add("--engine", choices=("dask",), required=True, help="what spreads the units")
    add("--scheduler", metavar="ADDRESS", help="of a running Dask scheduler (default: a cluster of processes here)")
    add("--workers", type=int, help="how many processes, or how many workers to wait for (default: the cores; 1)")
    add("--memory", default="2GiB", help="of each process of a local cluster (default 2GiB)")
    add("--deaths", type=int, default=2, help="worker deaths after which a unit is tried again still (default 2)")
    add("--database", default=DATABASE, metavar="DIR|redis://...", help=f"findings and progress (default {DATABASE})")
    add("--campaign", default="", metavar="NAME", help="tells campaigns of the same target apart: a commit, a date")
    add("--subject", help="the half to check where no target is named (default counterfoil)")
    add("--machine", choices=check.MACHINES, help="one machine of the halves alone (default: both)")
    add("--device", choices=("cuda",), help="of the halves: use CUDA devices too, on every worker")
    add("--mode", choices=emulation.MODES, help="of the halves: over the emulated driver, in that mode")
    add("--time", "--seconds", dest="seconds", type=float, help="seconds of this run (default 40 without --programs)")
    add("--programs", type=int, help="of each machine or chapter, over all runs of the campaign")
    add("--seed", type=int, default=0, help="where the random programs start (default 0)")
    return parser


def _checked(options: argparse.Namespace, program: Sequence[str], arguments: Sequence[str]) -> int:
    checked = _what(options, program)
    if checked.mode is not None:
        emulation.enter(checked.mode, ["check", *arguments])
    selection, expected = common.selected(options), common.entries(options)
    streams = _streams(options, checked)
    name = digest(__version__, checked, streams, options.seed, options.campaign)
    failures, journal = stores.opened(options.database, checked.name, name)
    try:
        plan = Plan(journal, streams, options.seed, options.programs, with_vectors=checked.subject is None)
        seconds = options.seconds if options.seconds or options.programs else SECONDS
        with clusters.connected(options.scheduler, options.workers, options.memory, options.deaths) as client:
            merged = _driven(client, Drive(client, checked, plan, failures, Limits(seconds)))
    finally:
        journal.close()
    report = report_of(merged, checked, options.keep)
    report.named = _named(options, checked)
    if checked.subject is None:
        add_snippets(report, report.named, checked.profile)
    print("\n".join(said(merged)), file=sys.stdout if options.format == "text" else sys.stderr)
    code = common.concluded(options, report, expected, selection, not merged.unsettled)
    return SKIPPED if code == CONFORMS and merged.unsettled else code


def _what(options: argparse.Namespace, program: Sequence[str]) -> Checked:
    """What is checked; UsageError where the arguments make no sense together."""
    numbers = (options.workers, options.programs, options.seconds)
    if any(number is not None and number <= 0 for number in numbers) or options.deaths < 0:
        raise UsageError("counts and times are above 0")
    is_half = options.target is None and not program
    _fitting(options, _OF_TARGETS if is_half else _OF_HALVES)
    if is_half:
        return Checked(subject=options.subject or "counterfoil", device=options.device, mode=options.mode)
    setting = common.setting(options, program)
    return Checked(
        target=options.target,
        program=tuple(program),
        in_process=options.in_process,
        validated=options.validate_implementation,
        reply_seconds=options.reply_seconds,
        memory_bytes=int(options.memory_gib * 2**30),
        profile=setting.profile,
        mapper=tuple((each.words.pattern, each.rule, each.command) for each in setting.words.patterns),
        rules=tuple(options.rule),
    )


def _fitting(options: argparse.Namespace, others: dict[str, str]) -> None:
    """UsageError for an option of what is not checked, and for a target that no worker can start."""
    for name, why in others.items():
        if getattr(options, name):
            raise UsageError(f"--{name} is {why}")
    if (options.target or "").startswith("unix:"):
        raise UsageError("workers start their target, and unix:PATH is one that is there already")


def _named(options: argparse.Namespace, checked: Checked) -> Named:
    """The target in the lines that replay a failure; the halves are named by their subject."""
    if checked.subject is None:
        return common.setting(options, checked.program).named
    words = (("--subject", checked.subject), ("--device", checked.device), ("--mode", checked.mode))
    return Named(None, options=[word for flag, value in words if value is not None for word in (flag, value)])


def _streams(options: argparse.Namespace, checked: Checked) -> list[str]:
    if checked.subject is not None:
        return [options.machine] if options.machine else list(check.MACHINES)
    return list(dict.fromkeys(options.chapter)) or [ALL]


def _driven(client: Any, drive: Drive) -> Merged:
    print(f"dashboard: {client.dashboard_link}", file=sys.stderr)
    view = LiveView()
    try:
        return drive.run(view)
    finally:
        view.end()
