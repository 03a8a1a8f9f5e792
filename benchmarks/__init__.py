"""Counterfoil beside its peers: every row measured in turn, in one run, as a ratio with its spread."""
