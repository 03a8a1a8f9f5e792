"""``python -m benchmarks [WORD...]``: arrays; every row, or those whose name holds one of the words; fails no build."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator

from benchmarks import arithmetic, casts, checking, copies, dispatch, memory, overlap
from benchmarks.measure import Row
from benchmarks.pinning import loads, pin
from benchmarks.showing import shown

SECTIONS: dict[str, Callable[[], list[Row]]] = {
    "dispatch and views": dispatch.rows,
    "overlap": overlap.rows,
    "copies": copies.rows,
    "casts of 16 M": casts.rows,
    "kernels": arithmetic.rows,
}


def main(arguments: list[str]) -> int:
    """Print the tables as Markdown; exit code 0 whatever the figures say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("words", nargs="*", help="measure only rows whose name holds one of these")
    parser.add_argument("--rounds", type=int, default=9, help="times each row is measured (default 9)")
    parser.add_argument("--threads", type=int, default=1, help="threads, and CPUs, for everybody (default 1)")
    options = parser.parse_args(arguments)
    pin(options.threads, "benchmarks")
    machine = platform.processor() or platform.machine()
    print(f"{machine}, Python {platform.python_version()}, threads: {options.threads}, {loads()}")
    reached = missed = 0
    for title, rows in SECTIONS.items():
        for line, verdict in _section(title, rows, options.words, options.rounds):
            print(line, flush=True)
            reached += verdict is True
            missed += verdict is False
    if not options.words:
        _others()
    print(f"\n{reached} bars reached, {missed} missed")
    return 0


def _section(
    title: str, rows: Callable[[], list[Row]], words: list[str], rounds: int
) -> Iterator[tuple[str, bool | None]]:
    yield f"\n### {title}\n", None
    yield "| row | ours | best peer | ours / peer | bar | probe | verdict |\n|---|---|---|---|---|---|---|", None
    for row in rows():
        if words and not any(word in row.name for word in words):
            continue
        row.measure(rounds)
        yield _line(row), _verdict(row)


def _line(row: Row) -> str:
    ours, best, ratio, limit = row.timings["ours"], row.best_peer, row.ratio, row.limit
    assert best is not None and ratio is not None
    verdict = {True: "reached", False: "missed", None: ""}[_verdict(row)]
    probe = shown(row.timings["probe"].seconds) if row.probe else ""
    cells = [
        row.name + (f" ({row.note})" if row.note else ""),
        f"{shown(ours.seconds)} ± {ours.spread:.0%}",
        f"{best} {shown(row.timings[best].seconds)}",
        f"{ratio:.2f}",
        "" if limit is None else f"{limit:.2f}",
        probe,
        verdict,
    ]
    return "| " + " | ".join(cells) + " |"


def _verdict(row: Row) -> bool | None:
    return None if row.limit is None or row.ratio is None else row.ratio <= row.limit


def _others() -> None:
    print("\n### memory and checking\n")
    grown = memory.growth_bytes()
    print(f"- memory over {memory.STEPS} steps after {memory.WARM_UP}: {grown / 2**20:.2f} MiB (bar 1 MiB)")
    print(f"- the reference replays {checking.replayed_per_second():.0f} commands a second (bar 5000)")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
