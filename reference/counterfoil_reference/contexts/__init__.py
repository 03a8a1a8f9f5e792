"""Contexts in the reference: programs compiled, run and released behind a ledger, as explicit data."""

from counterfoil_reference.contexts.compiling import Reuse, Routine
from counterfoil_reference.contexts.roots import advances_to_next_backend
from counterfoil_reference.contexts.rows import (
    backend_facts as backend_facts_of_name,
)
from counterfoil_reference.contexts.rows import (
    compiler_command,
    host_capabilities,
    same_backend,
)
from counterfoil_reference.contexts.values import Context

__all__ = [
    "Context", "Reuse", "Routine", "advances_to_next_backend", "backend_facts_of_name", "compiler_command",
    "host_capabilities", "same_backend",
]  # fmt: skip
