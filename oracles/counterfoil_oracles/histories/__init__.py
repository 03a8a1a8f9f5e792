"""What the gradient rules guarantee: an abstract model of routines over two gradients, explored exhaustively.

``model`` states it over bags of tokens, its accept functions being the reference's own rule functions; ``encoding`` is
the same in small integers, tied to the model by tests; ``explorer`` walks every lineage and every history; ``clauses``,
``price`` and ``named`` ask the questions of docs/gradients.md; ``bags`` follows tokens beside a recorded history.
"""
