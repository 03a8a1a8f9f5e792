"""Defects of programs and contexts, each of which the context machine must find alone."""
