"""``python -m counterfoil_oracles.targets.libraries.table [--reasons] > docs/findings.md``: what was found in others.

Each divergence of divergences.toml has a program in its library's own words. It is run where the library is there, and
must show what it showed when it was written down; and how long a check of the library takes to its first finding is
measured. ``--reasons`` gives the entries of the files of known differences the divergence that explains them as their
reason.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles.targets.known import Known, read, write
from counterfoil_spec.rules import registry

LIBRARIES: Final = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX"}
HERE: Final = Path(__file__).parent
FIRST: Final = "To the first finding, "
"""How the line begins that tells what was measured: all of the page that changes from run to run."""

_RUNS: Final = 3
KINDS: Final = {
    "brings it down": "ends the whole process, and whatever else it was about",
    "silently wrong": "accepts, and what comes out is not what the program says, or reaches memory of others",
    "copes": "accepts, and does what was probably meant",
    "other numbers": "computes other numbers by another rule",
    "refuses more": "refuses what the rules accept",
    "other limit": "has another limit",
    "other order": "refuses too; of several faults it names another",
    "other words": "refuses too, for another reason or without the rule's facts",
}


@dataclass(frozen=True)
class Divergence:
    """One way in which a library parts from the rules, a program that shows it, and what that prints."""

    library: str
    rule: str
    kind: str
    does: str
    match: Sequence[Sequence[str]]
    program: str
    shows: str

    def explains(self, entry: Known) -> bool:
        """Whether a known difference is of this kind."""
        found = (entry.case, entry.rule or "")
        return any(all(map(re.fullmatch, patterns, found)) for patterns in self.match)

    @property
    def reason(self) -> str:
        """What the files of known differences say."""
        return f"{self.kind}: {self.does}"

    def run(self) -> str:
        """What the program prints now."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(self.program, self.rule, "exec"), {})
        return output.getvalue().strip()


def divergences() -> list[Divergence]:
    """All of them, in the file's order."""
    tables = tomllib.loads((HERE / "divergences.toml").read_text())["divergence"]
    found: list[Divergence] = msgspec.convert(tables, list[Divergence])
    return [dataclasses.replace(each, program=each.program.strip("\n"), shows=each.shows.strip("\n")) for each in found]


def known_file(library: str) -> Path:
    """The file of a library's known differences."""
    return HERE / "known" / f"{library}.toml"


def is_here(library: str) -> bool:
    """Whether the library can be imported."""
    return importlib.util.find_spec(library) is not None


def explained(library: str, entries: Iterable[Known]) -> list[Known]:
    """The entries with their reasons; ValueError for one that no divergence explains."""
    mine = [each for each in divergences() if each.library == library]
    found = []
    for entry in entries:
        why = next((each for each in mine if each.explains(entry)), None)
        if why is None:
            raise ValueError(f"{library}: nothing explains {entry.case!r} of {entry.rule!r}")
        found.append(dataclasses.replace(entry, reason=why.reason))
    return found


def seconds_to_first(library: str, runs: int = _RUNS) -> float:
    """From the command to its report of one finding, shrunk, kept and with its snippet: the median of some runs."""
    target = f"counterfoil_oracles.targets.libraries.{library}_:target"
    words = [sys.executable, "-m", "counterfoil_oracles.cli", "check", target, "--failures", "1"]
    taken = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="counterfoil-first-") as room:
            began = time.monotonic()
            done = subprocess.run(words, cwd=room, capture_output=True, text=True, timeout=120, check=False)
            taken.append(time.monotonic() - began)
        if done.returncode != 1:
            raise ChildProcessError(f"{' '.join(words[3:])} ended with {done.returncode}: {done.stderr}")
    return statistics.median(taken)


def first_line(seconds: Mapping[str, float]) -> str:
    """What was measured, in whole seconds; of a library that was not there, that it was not."""
    figures = (f"{title} {_whole(seconds.get(library))}" for library, title in LIBRARIES.items())
    machine = f"{len(os.sched_getaffinity(0))} cores, Python {sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"{FIRST}shrunk, kept and with a program that shows it, `counterfoil check TARGET --failures 1` takes, the "
        f"import of the library included: {', '.join(figures)} (the median of {_RUNS} runs on {machine})."
    )


def _whole(seconds: float | None) -> str:
    return "not measured" if seconds is None else f"{max(1, round(seconds))} s"


def timeless(page: str) -> str:
    """The page without the line that tells times."""
    return re.sub(rf"^{FIRST}.*\n", "", page, flags=re.MULTILINE)


def rendered(first: str) -> str:
    """docs/findings.md; ``first`` is the line that tells what was measured."""
    lines = [
        "# Findings in other runtimes",
        "",
        "What `counterfoil check` found in NumPy, PyTorch and JAX, by rule. Programs are in the library's own words,",
        "and print what stands beneath them; a test runs them all. Regenerate the page with",
        "`python -m counterfoil_oracles.targets.libraries.table > docs/findings.md`, the checks themselves with",
        "`counterfoil check counterfoil_oracles.targets.libraries.numpy_:target` (`torch_`, `jax_`).",
        "Much of it is documented behaviour that its users want: it is told where the rules differ, not who is right.",
        "",
        first,
        "",
        *(f"- **{kind}**: {meaning}" for kind, meaning in KINDS.items()),
    ]
    for library, title in LIBRARIES.items():
        mine = sorted((each for each in divergences() if each.library == library), key=_order)
        lines += ["", f"## {title}", *_overview(library, mine)]
        for each in mine:
            lines += _section(each)
    return "\n".join(lines) + "\n"


def _order(each: Divergence) -> tuple[int, str]:
    return list(KINDS).index(each.kind), each.rule


def _overview(library: str, mine: Sequence[Divergence]) -> list[str]:
    entries = read(known_file(library))
    counts = {each.reason: 0 for each in mine}
    for entry in entries:
        counts[entry.reason] = counts.get(entry.reason, 0) + 1
    version = known_file(library).read_text().partition("\n")[0].partition(" of ")[2].partition(":")[0]
    return [
        "",
        f"{version}: {len(mine)} ways, {len(entries)} known differences (a command or kernel, and a rule, each).",
        "",
        "| kind | rule | what it does | met as |",
        "|---|---|---|---|",
        *(f"| {each.kind} | {each.rule} | {each.does} | {counts[each.reason] or 'by hand'} |" for each in mine),
    ]


def _section(each: Divergence) -> list[str]:
    statement = registry()[each.rule].statement
    shown = "\n".join(f"# {line}" for line in each.shows.splitlines())
    return ["", f"### {each.rule}: {each.kind}", "", f"The rule: {statement}", "", f"It {each.does}.", "",
            "```python", each.program, shown, "```"]  # fmt: skip


def stale() -> list[str]:
    """The divergences whose program shows something else now, where their library is there."""
    return [
        f"{each.library} {each.rule}: {shown!r} is not {each.shows!r}"
        for each in divergences()
        if is_here(each.library) and (shown := each.run()) != each.shows
    ]


def main(arguments: Sequence[str]) -> int:
    """Render, or give reasons; 1 where a program shows something else than it did."""
    if "--reasons" in arguments:
        for library in LIBRARIES:
            path = known_file(library)
            version = path.read_text().partition("\n")[0].partition(":")[0].rpartition(" ")[2].partition("+")[0]
            write(path, explained(library, read(path)), f"{LIBRARIES[library]} {version}")
        return 0
    changed = stale()
    sys.stdout.write(rendered(first_line({each: seconds_to_first(each) for each in LIBRARIES if is_here(each)})))
    print(*changed, sep="\n", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
