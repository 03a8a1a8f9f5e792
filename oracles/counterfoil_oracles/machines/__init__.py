"""Machines: random programs run on both halves in step, with every observation compared."""
