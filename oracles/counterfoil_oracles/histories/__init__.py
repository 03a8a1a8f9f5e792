"""What the gradient rules guarantee: an abstract model of routines over two gradients, explored exhaustively.

``model`` states it over bags of tokens, its accept functions being the reference's own rule functions; ``encoding`` has
its states in small integers, and ``tables`` what those functions say of them; ``explorer`` walks every lineage and
every history; ``clauses``, ``price`` and ``named`` ask the questions of docs/gradients.md; ``bags`` follows tokens
beside a recorded history.
"""
