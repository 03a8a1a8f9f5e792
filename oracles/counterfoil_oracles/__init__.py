"""Counterfoil's oracles: who else has an opinion, the machines that compare the two halves, and the command line."""
