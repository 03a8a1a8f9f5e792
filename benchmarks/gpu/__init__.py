"""Checks and measurements on a real CUDA device, in one report."""
