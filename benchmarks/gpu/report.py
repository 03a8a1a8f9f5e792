"""A report as the page docs/benchmarks-gpu.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HEAD = """# Benchmarks on a GPU

`make bench-gpu` measures ours, each peer that is installed and the driver itself in turn, and waits for every piece of
work it times; `make test-gpu` runs the kernel tests, the context tests and both machines over the device. A time is the
median over rounds, ± the interquartile range. The probe is the driver's own work on as many bytes, or its own launch.
"""

_NONE = """
**No GPU was available to this project so far.** The host's path and every kernel were run over the emulated driver
(`docs/emulated-driver.md`), and the kernels compiled by NVIDIA's own compiler for sm_80, sm_90 and sm_100; nothing here
was run, and nothing was timed, on a real device. This page is written by `python -m benchmarks.gpu --render REPORT`
once one was.
"""


def render(found: dict[str, Any] | None, page: Path) -> None:
    """Write the page; None where no report exists."""
    page.write_text(_HEAD + (_NONE if found is None else "\n".join(["", *_lines(found), ""])))


def _lines(found: dict[str, Any]) -> list[str]:
    device, versions = found["device"], found["versions"]
    lines = [f"Device: {', '.join(f'{key} {value}' for key, value in device.items())}", ""]
    lines += [f"Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}", ""]
    lines += ["## Checks", "", "| check | verdict | seconds |", "|---|---|---|"]
    lines += [f"| {c['name']} | {'passed' if c['passed'] else 'failed'} | {c['seconds']} |" for c in found["checks"]]
    lines += ["", "## Times", ""]
    lines += ["| row | ours | peers | probe | ours / probe | bar | rate |", "|---|---|---|---|---|---|---|"]
    return lines + [_row(row) for row in found["rows"]]


def _row(row: dict[str, Any]) -> str:
    if "failed" in row:
        return f"| {row['name']} | failed: {row['failed'].splitlines()[-1]} | | | | | |"
    seconds = row["ours"]["seconds"]
    peers = ", ".join(
        [f"{name} {_time(peer['seconds'])}" for name, peer in row["peers"].items()]
        + [f"{name} failed" for name in row["peers_failed"]]
    )
    probe = row["probe"]["seconds"] if row["probe"] else None
    ratio = f"{seconds / probe:.2f}" if probe else ""
    bar = f"{row['bar']:.2f}" if row["bar"] else ""
    ours = f"{_time(seconds)} ± {row['ours']['spread']:.0%}"
    cells = [row["name"], ours, peers, _time(probe) if probe else "", ratio, bar, _rate(row, seconds)]
    return f"| {' | '.join(cells)} |"


def _rate(row: dict[str, Any], seconds: float) -> str:
    if row["flops"]:
        return f"{row['flops'] / seconds / 1e12:.1f} TFLOP/s"
    return f"{row['bytes'] / seconds / 1e9:.0f} GB/s" if row["bytes"] else ""


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
