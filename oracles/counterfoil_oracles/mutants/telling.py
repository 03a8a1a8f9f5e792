"""Traces that tell a defect from the halves as they are, written and tried in processes of their own.

    python -m counterfoil_oracles.mutants.telling record FILE --title TEXT --id ID    on the halves as they are
    python -m counterfoil_oracles.mutants.telling differs FILE                        on a copy with the defect

``record`` gives the commands in FILE the reference's outcomes; 1 where the halves part on them. ``differs`` answers 0
where the halves part, or the reference's outcomes are others than those recorded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.failures import recorded, rules_of
from counterfoil_oracles.mutants.hunt import REFERENCE, SUBJECT
from counterfoil_oracles.replay import Verdict, replay
from counterfoil_oracles.subjects import half
from counterfoil_spec.commands import Header, Trace, decode_trace, encode_trace


def record(reference: Any, subject: Any, path: Path, title: str, defect: str) -> int:
    """Write the outcomes and a header into a trace file; 0, or 1 where the halves part on its commands."""
    commands = [step.command for step in decode_trace(path.read_bytes()).steps]
    trace, divergence = recorded(reference, subject, commands)
    if divergence is not None:
        print(f"step {divergence.index + 1}, {divergence.command.do}: {divergence.difference}")
        return 1
    header = Header(title=f"{title[0].upper()}{title[1:]}.", seed=[f"defect {defect}"], rules=rules_of(trace.steps))
    path.write_bytes(encode_trace(Trace(header, trace.steps)))
    return 0


def differs(reference: Any, subject: Any, path: Path) -> int:
    """0 where a trace file does not end as recorded on the halves imported, else 1."""
    return 0 if replay(path, reference, subject, times=1).verdict is not Verdict.FIXED else 1


def main(argv: Sequence[str]) -> int:
    """Record a trace, or try it."""
    parser = argparse.ArgumentParser(prog="telling")
    parser.add_argument("what", choices=("record", "differs"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--title", default="", help="what the defect breaks")
    parser.add_argument("--id", default="", help="the defect's id")
    options = parser.parse_args(argv)
    reference, subject = half(REFERENCE), half(SUBJECT)
    settle_imports()
    if options.what == "differs":
        return differs(reference, subject, options.file)
    return record(reference, subject, options.file, options.title, options.id)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
