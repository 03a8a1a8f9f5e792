"""Plans: what the machine does next, as short programs of commands drawn for the objects at hand."""
