"""What the context machine does, one generator of commands per kind of step."""
