"""``counterfoil prove``: put every theorem of ``counterfoil_spec.theorems`` to z3, and every wrong twin.

A theorem is proved when z3 proves each of its obligations and each one's hypotheses can hold; its twins are refuted
when z3 finds values for which the twin's hypotheses hold and its goal fails, and evaluating both with those values
says so. Anything else fails the run: a question that z3 leaves open counts as a failure, never as agreement.
"""

from __future__ import annotations

import argparse
import enum
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass

import z3

from counterfoil_spec.theorems import THEOREMS, Obligation, Theorem

TIMEOUT_MS = 10_000
"""What one question may take; each takes well under a second, so reaching it means the question changed."""


class Verdict(enum.Enum):
    """What became of a question."""

    PROVED = "proved"
    COUNTEREXAMPLE = "counterexample"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """A verdict; which obligation decided it and how; the seconds it took."""

    verdict: Verdict
    detail: str
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    """Prove the theorems named (all of them by default); 0 if each is proved and each twin refuted, else 1."""
    parser = argparse.ArgumentParser(prog="counterfoil prove", description="The theorems behind the rules, put to z3.")
    parser.add_argument("theorem", nargs="*", help="theorem ids, or beginnings of ids such as moves/ (default: all)")
    parser.add_argument("--words", action="store_true", help="print each statement and its argument as well")
    parser.add_argument("--list", action="store_true", help="print the theorems and their rules, prove nothing")
    options = parser.parse_args(argv)
    chosen = [t for t in THEOREMS if not options.theorem or any(t.id.startswith(name) for name in options.theorem)]
    if not chosen:
        parser.error(f"no theorem's id begins with {' or '.join(options.theorem)}")
    if options.list:
        for theorem in chosen:
            print(f"{theorem.id:32} supports {', '.join(theorem.supports)}")
        return 0
    return run(chosen, words=options.words)


def run(theorems: Sequence[Theorem], words: bool = False) -> int:
    """Prove the theorems and refute their twins, printing each; 0 if nothing failed, else 1."""
    started, failures, refuted = time.perf_counter(), 0, 0
    for theorem in theorems:
        found = prove(theorem)
        failures += found.verdict is not Verdict.PROVED
        print(f"{theorem.id:28} {_line(found)}", flush=True)
        if words:
            print(in_words(theorem), flush=True)
        for twin in theorem.twins:
            twin_found = refute(twin.obligation)
            as_expected = twin_found.verdict is Verdict.COUNTEREXAMPLE
            refuted += as_expected
            failures += not as_expected
            label = f"  wrong: {twin.mistake}"
            print(f"{label:72} {_line(twin_found)}", flush=True)
    seconds = time.perf_counter() - started
    if failures:
        print(f"{failures} of the verdicts above are not what they must be, in {seconds:.1f} s")
        return 1
    print(f"{len(theorems)} theorems proved, {refuted} twins refuted, in {seconds:.1f} s")
    return 0


def _line(found: Finding) -> str:
    return f"{found.verdict.value:14} {found.seconds:6.2f} s  {found.detail}"


def in_words(theorem: Theorem) -> str:
    """The statement and the argument, indented under the theorem's line."""
    paragraphs = (theorem.statement, " ".join(theorem.argument.split()))
    return "\n".join(textwrap.fill(text, 116, initial_indent="    ", subsequent_indent="    ") for text in paragraphs)


def prove(theorem: Theorem) -> Finding:
    """Prove all obligations, and that each one's hypotheses can hold; the first that fails decides."""
    started = time.perf_counter()
    for obligation in theorem.obligations:
        found = settle(obligation)
        if found.verdict is not Verdict.PROVED:
            return Finding(found.verdict, f"{obligation.name}: {found.detail}", time.perf_counter() - started)
    detail = f"{len(theorem.obligations)} obligations"
    return Finding(Verdict.PROVED, detail, time.perf_counter() - started)


def settle(obligation: Obligation) -> Finding:
    """Prove one obligation, and that its hypotheses, in its case of interest, can hold."""
    found = refute(obligation)
    if found.verdict is not Verdict.PROVED:
        return found
    started = time.perf_counter()
    solver = _solver()
    solver.add(*obligation.hypotheses, *obligation.case)
    possible = solver.check()
    seconds = found.seconds + time.perf_counter() - started
    if possible == z3.sat:
        return Finding(Verdict.PROVED, "", seconds)
    why = "its hypotheses cannot hold" if possible == z3.unsat else "whether its hypotheses can hold is open"
    return Finding(Verdict.UNKNOWN, why, seconds)


def refute(obligation: Obligation) -> Finding:
    """Look for values with which the hypotheses hold and the goal does not: a counterexample, or there is none."""
    started = time.perf_counter()
    solver = _solver()
    solver.add(*obligation.hypotheses, z3.Not(obligation.goal))
    answer = solver.check()
    seconds = time.perf_counter() - started
    if answer == z3.unsat:
        return Finding(Verdict.PROVED, "", seconds)
    if answer == z3.unknown:
        return Finding(Verdict.UNKNOWN, str(solver.reason_unknown()), seconds)
    model = solver.model()
    if not _is_counterexample(obligation, model):
        return Finding(Verdict.UNKNOWN, f"z3 answered with values that are none: {_values(obligation, model)}", seconds)
    return Finding(Verdict.COUNTEREXAMPLE, _values(obligation, model), seconds)


def _solver() -> z3.Solver:
    """A fresh solver with a fixed seed, so that a run can be repeated."""
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.set("random_seed", 0)
    return solver


def _is_counterexample(obligation: Obligation, model: z3.ModelRef) -> bool:
    """Whether plain evaluation with the model's values makes every hypothesis true and the goal false."""
    hypotheses = all(z3.is_true(model.eval(formula, model_completion=True)) for formula in obligation.hypotheses)
    return hypotheses and z3.is_false(model.eval(obligation.goal, model_completion=True))


def _values(obligation: Obligation, model: z3.ModelRef) -> str:
    """The values of the obligation's inputs, by name; booleans that are false are left out."""
    values = {str(entry): model[entry] for entry in model.decls() if not z3.is_false(model[entry])}
    shown = sorted(set(values) & set(obligation.inputs or values))
    return " ".join(f"{name}={values[name]}" for name in shown)
