"""``python -m benchmarks.gpu [--checks] [--measure] [--report FILE]``: what a CUDA device says, as one JSON report.

``--checks`` runs the kernel tests, the context tests and both machines over the device; ``--measure`` times ours, each
peer that is installed (PyTorch, CuPy) and the driver itself in turn. Without either, both. A report of the same device
and versions keeps the part that is not asked for. ``--render FILE`` writes docs/benchmarks-gpu.md from a report. Exit
code 0 if all checks passed, 1 if one failed, 2 where there is no device.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.gpu import checks, facts, report
from benchmarks.gpu.sections import measured


def main(arguments: list[str]) -> int:
    """Probe, check, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--checks", action="store_true", help="run the tests and machines")
    parser.add_argument("--measure", action="store_true", help="time ours beside the peers and the driver")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each machine (default 60)")
    parser.add_argument("--rounds", type=int, default=7, help="times each row is measured (default 7, at least 2)")
    parser.add_argument("--words", nargs="*", default=[], help="measure only rows whose name holds one of these")
    parser.add_argument("--report", type=Path, default=Path("build/gpu-report.json"))
    parser.add_argument("--render", type=Path, metavar="REPORT", help="write docs/benchmarks-gpu.md from a report")
    options = parser.parse_args(arguments)
    if options.render is not None:
        report.render(json.loads(options.render.read_text()), Path("docs/benchmarks-gpu.md"))
        return 0
    why = facts.unavailable()
    if why is not None:
        print(f"no CUDA device to run on: {why}", file=sys.stderr)
        return 2
    asked = [part for part, on in (("checks", options.checks), ("rows", options.measure)) if on] or ["checks", "rows"]
    found = _begun(options.report, asked)
    for part, results in (
        ("checks", checks.run(options.seconds)),
        ("rows", measured(options.words, max(options.rounds, 2))),
    ):
        for result in results if part in asked else ():
            found[part].append(result)
            _write(options.report, found)
    print(f"report: {options.report}")
    return 0 if "checks" not in asked or all(check["passed"] for check in found["checks"]) else 1


def _begun(path: Path, asked: list[str]) -> dict[str, Any]:
    """The report so far, without the parts that are asked for; without all where it tells of other things."""
    found: dict[str, Any] = {"device": facts.device(), "versions": facts.versions(), "checks": [], "rows": []}
    if path.exists():
        before = json.loads(path.read_text())
        if (facts.lasting(before["device"]), before["versions"]) == (facts.lasting(found["device"]), found["versions"]):
            found |= {part: before[part] for part in ("checks", "rows") if part not in asked}
    _write(path, found)
    return found


def _write(path: Path, found: dict[str, Any]) -> None:
    """After every result: a run that is cut short leaves what it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
