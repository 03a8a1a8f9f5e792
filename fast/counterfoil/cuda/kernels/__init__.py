"""The kernels of CUDA devices, a module for each family (``counterfoil.cuda.calls``)."""
