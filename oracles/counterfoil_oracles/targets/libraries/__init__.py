"""Array libraries as targets, through small adapters: what they refuse, and what they silently do."""
