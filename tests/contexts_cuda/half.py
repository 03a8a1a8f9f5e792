"""The fast half as a program sees it whose CPU roots are CUDA's: what is written for any backend runs on this one."""

from __future__ import annotations

from typing import Any

import counterfoil


def devices() -> int:
    """How many CUDA devices there are: 0 where a root cannot be made."""
    from counterfoil.contexts import backends

    try:
        return backends.require_cuda()
    except counterfoil.BackendUnavailable:
        return 0


class _Roots:
    """The class Context, but for where its CPU roots are."""

    def __getattr__(self, name: str) -> Any:
        return getattr(counterfoil.Context, name)

    def cpu(self, threads: int = 1, ordinal: int = 0) -> Any:
        """A root on CUDA; devices of several threads are devices of CUDA."""
        return counterfoil.Context.cuda(ordinal)

    def auto(self, backend: str | None = None) -> Any:
        """A root on CUDA where one on the CPU is asked for."""
        return counterfoil.Context.cuda() if backend == "cc" else counterfoil.Context.auto(backend)


class _Inspection:
    """The module inspection, but for arrays, which are copied to where the host reads them."""

    def __getattr__(self, name: str) -> Any:
        return getattr(counterfoil.inspection, name)

    def array(self, context: Any, node: Any) -> Any:
        """What the context holds for the node, on the host."""
        found = counterfoil.inspection.array(context, node)
        return None if found is None else found.to_device(counterfoil.host())


class CudaHalf:
    """``counterfoil`` with CUDA roots for CPU roots."""

    def __init__(self) -> None:
        self.Context = _Roots()
        self.inspection = _Inspection()

    def __getattr__(self, name: str) -> Any:
        return getattr(counterfoil, name)
