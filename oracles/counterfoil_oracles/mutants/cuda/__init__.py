"""Defects of CUDA devices: each is found over the emulated driver, in the mode that shows it."""
