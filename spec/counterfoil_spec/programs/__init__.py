"""The words of programs: nodes, index projections, assignments, comps and the loop IR.

Words only: lowering, placement and interpretation are computations, and each half writes its own.
"""
