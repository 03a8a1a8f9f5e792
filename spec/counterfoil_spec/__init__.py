"""Counterfoil's words: rules, dtypes, moves, kernels, refusals, protocols, traces and theorems.

Nothing here computes what an implementation computes: both halves import these words and do the work themselves.
"""

__version__ = "0.1.0"
