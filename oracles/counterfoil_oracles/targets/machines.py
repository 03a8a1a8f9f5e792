"""Which machines draw programs for a target: that of arrays, and that of contexts where the target speaks of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.machines.plans import memory
from counterfoil_oracles.targets import context_program
from counterfoil_oracles.targets.context_program import run_context_program
from counterfoil_oracles.targets.pair import TargetPair
from counterfoil_oracles.targets.program import Plans, run_program
from counterfoil_spec.commands import Command, Outcome

ARRAY_CHAPTERS: Final = frozenset(
    {"arguments", "dtypes", "layouts", "moves", "arrays", "memory", "claims", "door", "kernels"}
)
"""The chapters for which array programs are drawn."""

Machine = Callable[[Callable[[], TargetPair], int, int, Callable[[Command, Outcome], None], Any], int]
"""Runs the program of a seed and of about so many steps on a pair; the steps it took. Raises Parted."""


def machines(commands: frozenset[str], chapters: frozenset[str], array_plans: Plans) -> list[Machine]:
    """The machines whose programs a target is asked, in turn; ``chapters`` wanted, empty for all."""
    found: list[Machine] = []
    if commands >= context_program.NEEDED and (not chapters or chapters & context_program.CHAPTERS):
        found.append(_contexts(context_program.plans(commands, chapters)))
    if not found or ("host" in commands and (not chapters or chapters & ARRAY_CHAPTERS)):
        found.insert(0, _arrays(array_plans))
    return found


def _arrays(plans: Plans) -> Machine:
    return lambda pair, seed, length, observe, reference: run_program(
        pair, plans, memory.begin, seed, length, observe, reference
    )


def _contexts(plans: context_program.Plans) -> Machine:
    return lambda pair, seed, length, observe, reference: run_context_program(
        pair, plans, seed, length, observe, reference
    )
