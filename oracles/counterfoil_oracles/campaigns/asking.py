"""A unit about a target: the vectors and random programs on the reference and on it, within bounds."""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles import subjects
from counterfoil_oracles.campaigns.halving import REFERENCE, shown
from counterfoil_oracles.campaigns.units import Case, Checked, Result, Unit
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.mapper import Mapper, Pattern
from counterfoil_oracles.targets.opening import opener
from counterfoil_oracles.targets.target import Bounds, HarnessBroken, Target
from counterfoil_oracles.targets.validating import Validator
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Header, Step, Trace, decode_trace, encode_trace

ALL: Final = "all"
"""The stream of every chapter."""


def run_target(unit: Unit, result: Result) -> None:
    """Run a unit on the reference and the target; what came of it goes to result."""
    with tempfile.TemporaryDirectory(prefix="counterfoil-unit-") as directory:
        part = Part(unit, Path(directory))
        report = part.replay(unit.replayed, result) if unit.replayed else part.run(shipped() if unit.vectors else ())
    result.identity, result.broken, result.breaking = report.identity, report.broken, part.breaking
    result.steps, result.programs, result.vectors = report.steps, report.programs, report.vectors
    result.rules, result.skipped = dict(report.rules), dict(report.skipped)
    result.met += list(report.met.items())
    result.found += [shown(found.finding, found.trace) for found in report.found.values()]


class Part(Campaign):
    """The check of one unit: it ends after so many programs, and shrinks no case that is known."""

    def __init__(self, unit: Unit, directory: Path) -> None:
        checked = unit.checked
        chapters = frozenset() if unit.stream == ALL else frozenset({unit.stream})
        selection = Selection(chapters, frozenset(checked.rules), seconds=math.inf, seed=unit.first)
        words = Mapper([Pattern(re.compile(pattern), rule, command) for pattern, rule, command in checked.mapper])
        reference: Any = subjects.half(REFERENCE)
        super().__init__(reference, _opener(checked), selection, checked.profile, words, directory)
        self._programs_wanted = unit.programs
        self._known = frozenset(unit.known)
        self.breaking = b""

    def _what_ran(self) -> str:
        """The program under which the harness broke goes to the driver: nothing of this machine is kept."""
        steps = [Step(command=command) for command in self._running]
        self.breaking = encode_trace(Trace(Header(title="the program under which the harness broke"), steps))
        return ""

    def _is_over(self) -> bool:
        return self.report.programs >= self._programs_wanted

    def _note(self, finding: Finding, trace: Trace) -> None:
        case: Case = (finding.case, finding.rule)
        if case in self._known:
            self.report.met[case] += 1
        else:
            super()._note(finding, trace)

    def replay(self, traces: Iterable[bytes], result: Result) -> Report:
        """Run known traces again: what still fails is found, the rest healed."""
        met = Counter[Case]()
        try:
            reason = self._target.adopt(self._profile)
            if reason is not None:
                raise HarnessBroken(f"the target cannot keep to the profile: {reason}")
            for data in traces:
                trace = decode_trace(data)
                finding = self._replayed([step.command for step in trace.steps], math.inf, self.report.observe)
                if finding is None:
                    result.healed.append(data)
                    continue
                result.found.append(shown(finding[0], trace))
                met[finding[0].case, finding[0].rule] += 1
        except HarnessBroken as broken:
            self.report.broken = str(broken) + self._what_ran()
        finally:
            self._target.close()
        result.met += list(met.items())
        return self.report


def _opener(checked: Checked) -> Callable[[], Target]:
    """What starts the target, in a process that ends with this worker's unless it is loaded into it."""
    bounds = Bounds(seconds=checked.reply_seconds, memory_bytes=checked.memory_bytes)
    watch = Validator() if checked.validated else None
    if checked.in_process:
        return opener(checked.target, (), bounds, checked.in_process, watch)
    program = checked.program or (sys.executable, "-m", "counterfoil_oracles.targets.serve", str(checked.target))
    leash = (sys.executable, "-m", "counterfoil_oracles.campaigns.leash", str(os.getpid()))
    return opener(None, (*leash, *program), bounds, False, watch)
