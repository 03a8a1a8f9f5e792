"""Programs in the reference: checks, placement, lowering, and what running one means."""

from counterfoil_reference.programs.decisions import NOTHING_DECIDED, Decisions, Plan
from counterfoil_reference.programs.memory import Store
from counterfoil_reference.programs.plan import check_segments, lower, plan, plan_lowered
from counterfoil_reference.programs.running import execute

__all__ = [
    "NOTHING_DECIDED", "Decisions", "Plan", "Store", "check_segments", "execute", "lower", "plan", "plan_lowered",
]  # fmt: skip
