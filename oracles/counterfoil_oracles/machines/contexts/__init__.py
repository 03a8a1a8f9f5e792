"""The context machine: random programs of compiles, runs, transfers, releases and decisions on both halves."""
