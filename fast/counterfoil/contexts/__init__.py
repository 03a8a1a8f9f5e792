"""Contexts: programs compiled to machine code, run and released behind a ledger of the core."""

from counterfoil.compile import compiler_command
from counterfoil.contexts.backends import advances_to_next_backend
from counterfoil.contexts.compiling import Reuse
from counterfoil.contexts.routines import Routine
from counterfoil.contexts.rows import backend_facts as backend_facts_of_name
from counterfoil.contexts.rows import host_capabilities, same_backend
from counterfoil.contexts.surface import Context

__all__ = [
    "Context", "Reuse", "Routine", "advances_to_next_backend", "backend_facts_of_name", "compiler_command",
    "host_capabilities", "same_backend",
]  # fmt: skip
