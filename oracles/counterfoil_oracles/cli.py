"""The command line.

Exit codes: 0 conforms, 1 divergence, 2 usage, 3 the harness is broken, 4 nothing ran, 5 a required part was skipped;
130 interrupted, 141 nobody reads what is printed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles import check, examples, explain, replay, subjects
from counterfoil_oracles.campaigns import engine
from counterfoil_oracles.cuda import emulation, offer
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.targets import command, replaying
from counterfoil_oracles.targets.target import harmless
from counterfoil_spec import __version__
from counterfoil_spec.commands import Trace, decode_trace
from counterfoil_spec.rules import registry

CONFORMS: Final = 0
DIVERGES: Final = 1
USAGE: Final = 2
BROKEN: Final = 3
NOTHING_RAN: Final = 4

REFERENCE: Final = "counterfoil_reference"

_PROGRAMS: Final = {
    "fixtures": ("counterfoil_oracles.targets.fixtures", "conformance vectors written, or run on a target"),
    "exhaustive": ("counterfoil_oracles.exhaustive", "every float32 through every narrow store and every code path"),
    "minimize": ("counterfoil_oracles.targets.minimizing", "a trace of any origin, made as small as shows the same"),
    "mutants": ("counterfoil_oracles.mutants.table", "planted defects, and how long the machines take to find each"),
    "opinions": ("counterfoil_oracles.opinions.table", "what numpy, isl, mpmath, exact differences and others say"),
    "histories": ("counterfoil_oracles.histories.report", "what the gradient rules guarantee, need and cost"),
    "prove": ("counterfoil_oracles.prove", "the theorems behind the rules, put to z3"),
}
"""Subcommands that read their own arguments: module and help. Imported when asked for: they bring provers along."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["check"] and engine.is_meant(arguments[1:]):
            return engine.main(arguments[1:])
        if arguments[:1] == ["check"] and command.is_meant(arguments[1:]):
            return command.main(arguments[1:])
        if arguments[:1] == ["replay"] and replaying.is_meant(arguments[1:]):
            return replaying.main(arguments[1:])
        if arguments and arguments[0] in _PROGRAMS:
            program = importlib.import_module(_PROGRAMS[arguments[0]][0])
            return int(program.main(arguments[1:]))
        options = _parser().parse_args(arguments)
        if getattr(options, "mode", None) is not None:
            emulation.enter(options.mode, arguments)
        if getattr(options, "device", None) == "cuda":
            offer.use_of(subjects.half(options.subject))
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
        return 141
    except OSError as error:
        print(harmless(f"counterfoil: {error}"), file=sys.stderr)
        return USAGE
    except HarnessError as error:
        print(harmless(f"counterfoil: {error}"), file=sys.stderr)
        return BROKEN
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="counterfoil", description="What an array runtime must refuse, checked.")
    parser.add_argument("--version", action="version", version=f"counterfoil {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    def subcommand(name: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        found.set_defaults(run=run)
        return found

    checking = subcommand("check", _check, "random programs on the reference and a subject, compared at every step")
    checking.add_argument("--seconds", type=float, default=40.0, help="how long (default: 40)")
    checking.add_argument("--seed", type=int, default=0, help="where the programs start (default: 0)")
    checking.add_argument("--failures", type=int, default=1, help="stop after so many divergences (default: 1)")
    checking.add_argument("--machine", choices=check.MACHINES, help="one machine alone (default: both, in turn)")
    checking.add_argument("--engine", choices=("dask",), help="a campaign over Dask workers; it has its own --help")
    checking.formatter_class = argparse.RawDescriptionHelpFormatter
    checking.epilog = f"Another implementation:\n\n{command.help_text()}"
    replaying_of = subcommand("replay", _replay, "run saved traces again: FIXED, FAILED or FLAKY")
    replaying_of.add_argument("files", nargs="+", type=Path)
    replaying_of.add_argument("--target", help="another implementation in place of the fast half; see check --help")
    explaining = subcommand("explain", _explain, "a rule, or a trace step by step")
    explaining.add_argument("what", help="a rule's id, such as door/overlapping, or a trace file")
    explaining.add_argument("--html", action="store_true", help="a trace as one page, on standard output")
    explaining.add_argument("-o", "--output", type=Path, help="where the page goes")
    for parser_of in (checking, replaying_of, explaining):
        parser_of.add_argument("--subject", default="counterfoil", help="the module to check (default: counterfoil)")
        parser_of.add_argument("--device", choices=("cuda",), help="use CUDA devices too; the reference models them")
        parser_of.add_argument("--mode", choices=emulation.MODES, help="over the emulated driver, in that mode")
    covering = subcommand("coverage", _coverage, "every rule triggered and passed, in each half")
    covering.add_argument("--seconds", type=float, default=30.0, help="how long to run programs (default: 30)")
    covering.add_argument("--subject", default="counterfoil", help="the module to check (default: counterfoil)")
    exhausting = subcommand("exhaust", _exhaust, "every short program over two memories, on both halves")
    exhausting.add_argument("--subject", default="counterfoil", help="the module to check (default: counterfoil)")
    exhausting.add_argument("--contexts", action="store_true", help="every short history of contexts instead (minutes)")
    subcommand("demo", _demo, "the same check on a broken copy of the fast half")
    for name, (_, help) in _PROGRAMS.items():
        commands.add_parser(name, help=help)
    return parser


def _check(options: argparse.Namespace) -> int:
    reference, subject = subjects.half(REFERENCE), subjects.half(options.subject)
    machines = check.MACHINES if options.machine is None else (options.machine,)
    progress = check.Progress()
    report = check.check(
        reference, subject, options.seconds, options.seed, options.failures, progress=progress, machines=machines
    )
    print("\n".join(check.summary(report)))
    if report.failures:
        return DIVERGES
    if not report.steps:
        print("nothing ran")
        return NOTHING_RAN
    print(_coloured("no divergence", "32"))
    return CONFORMS


def _replay(options: argparse.Namespace) -> int:
    reference, subject = subjects.half(REFERENCE), subjects.half(options.subject)
    verdicts = []
    for path in options.files:
        try:
            found = replay.replay(path, reference, subject)
        except (OSError, msgspec.DecodeError, IndexError) as error:
            print(f"counterfoil: {path}: {error}", file=sys.stderr)
            return USAGE
        verdicts.append(found.verdict)
        print(f"{_coloured(found.verdict.name, '32' if found.verdict is replay.Verdict.FIXED else '31')}  {path}")
        if found.verdict is not replay.Verdict.FIXED:
            print(harmless(f"  {found.words}"))
    return CONFORMS if all(verdict is replay.Verdict.FIXED for verdict in verdicts) else DIVERGES


def _explain(options: argparse.Namespace) -> int:
    if options.what in registry():
        rule = registry()[options.what]
        shown = examples.lines(rule.id, subjects.half(REFERENCE))
        print("\n".join([*explain.explain_rule(rule), "", *shown]))
        return CONFORMS
    path = Path(options.what)
    if not path.is_file():
        near = [rule for rule in registry() if options.what in rule]
        print(f"counterfoil: {options.what} is neither a rule nor a file", *near, sep="\n  ", file=sys.stderr)
        return USAGE
    try:
        trace = decode_trace(path.read_bytes())
    except (msgspec.DecodeError, IndexError) as error:
        print(f"counterfoil: {path}: {error}", file=sys.stderr)
        return USAGE
    if options.html:
        return _page(options, trace)
    subject = subjects.half(options.subject)
    print(harmless("\n".join(explain.explain_trace(trace, subjects.half(REFERENCE), subject))))
    return CONFORMS


def _page(options: argparse.Namespace, trace: Trace) -> int:
    from counterfoil_oracles.page import page

    text = page(trace, subjects.half(REFERENCE))
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")
        print(options.output)
    return CONFORMS


def _coverage(options: argparse.Namespace) -> int:
    from counterfoil_oracles import covering

    return covering.main(subjects.half(REFERENCE), subjects.half(options.subject), options.seconds)


def _exhaust(options: argparse.Namespace) -> int:
    from counterfoil_oracles import exhaust, exhaust_contexts

    if options.contexts:
        return exhaust_contexts.main(subjects.half(REFERENCE), subjects.half(options.subject))
    return exhaust.main(subjects.half(REFERENCE), subjects.half(options.subject))


def _demo(options: argparse.Namespace) -> int:
    from counterfoil_oracles import demo

    return demo.main()


def _coloured(text: str, code: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


if __name__ == "__main__":
    sys.exit(main())
