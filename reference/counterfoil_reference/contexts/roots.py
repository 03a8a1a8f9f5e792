"""Devices of contexts, and which backend a root is on (context:19 to context:29)."""

from __future__ import annotations

import os
from typing import Final
from weakref import WeakSet

from counterfoil_reference.contexts import census
from counterfoil_reference.contexts.constants import ConstantCache
from counterfoil_reference.contexts.ledger import Ledger
from counterfoil_reference.contexts.merge import Slab
from counterfoil_reference.devices import Device
from counterfoil_reference.places import Model, host
from counterfoil_spec.arguments import integer, within
from counterfoil_spec.backends import AUTO, MOST_THREADS, WORKERS, known, unavailable
from counterfoil_spec.refusals import BackendUnavailable, refuse


class ContextDevice:
    """One device of one backend: what its roots share. Its memory is ``place``'s: the host's, a CUDA device's own.

    ``ledgers``: those whose records may name its constants, so that freeing one reaches them all.
    """

    def __init__(self, backend: str, ordinal: int, place: Device) -> None:
        self.backend = backend
        self.ordinal = ordinal
        self.place = place
        self.constants = ConstantCache()
        self.slab = Slab(place)
        self.ledgers: WeakSet[Ledger] = WeakSet()

    @property
    def live_bytes(self) -> int:
        """Bytes of its live pools."""
        return sum(pool.nbytes for pool in census.live_pools() if pool.device is self)

    def __repr__(self) -> str:
        return f"{self.backend}:{self.ordinal}"


_devices: Final[dict[tuple[str, int], ContextDevice]] = {}
_counts: Final[dict[str, int]] = {}


def device_of(backend: str, ordinal: int, devices: int) -> ContextDevice:
    """The device of that ordinal, always the same object; refuses contexts/ordinal."""
    ordinal = integer("ordinal", ordinal)
    if not 0 <= ordinal < devices:
        raise refuse("contexts/ordinal", backend=backend, ordinal=ordinal, devices=devices)
    _counts[backend] = max(devices, _counts.get(backend, 0))
    place = Model.devices[ordinal] if backend == "cuda" and Model.devices else host()
    found = _devices.get((backend, ordinal))
    if found is None or found.place is not place:
        found = _devices[backend, ordinal] = ContextDevice(backend, ordinal, place)
    return found


def cuda_device(ordinal: int) -> ContextDevice:
    """The device of a CUDA root; refuses memory/backend-unavailable where none is modelled, contexts/ordinal."""
    if Model.devices is None:
        raise unavailable("cuda", ordinal)
    return device_of("cuda", ordinal, len(Model.devices))


def cpu_device(threads: int, ordinal: int) -> ContextDevice:
    """The device of a CPU root: cc, or with several threads multidev_cc (context:25)."""
    threads = within("threads", integer("threads", threads), 1, MOST_THREADS)
    return device_of("cc", ordinal, 1) if threads == 1 else device_of("multidev_cc", ordinal, threads)


def advances_to_next_backend(failure: BaseException) -> bool:
    """Whether auto goes on to the next backend after this failure: only BackendUnavailable (context:29)."""
    return isinstance(failure, BackendUnavailable)


def automatic(backend: str | None) -> ContextDevice:
    """The device of the backend asked for, else of COUNTERFOIL_BACKEND's, else of the first available (context:27).

    Refuses contexts/unknown-backend, contexts/none-available; a backend that was named fails with its own failure.
    """
    asked = backend if backend is not None else os.environ.get("COUNTERFOIL_BACKEND") or None
    if asked is not None:
        return _named(known(asked))
    for name in AUTO:
        try:
            return _named(name)
        except Exception as failure:
            if not advances_to_next_backend(failure):
                raise
    raise refuse("contexts/none-available", tried=list(AUTO))


def _named(name: str) -> ContextDevice:
    if name in ("cc", "multidev_cc"):
        return cpu_device(1 if name == "cc" else WORKERS, 0)
    if name == "cuda":
        return cuda_device(0)
    raise unavailable(name, 0)


def device_count(backend: str) -> int:
    """How many devices a backend has: those modelled of CUDA, of a CPU backend as many as a root ever had."""
    return len(Model.devices or ()) if backend == "cuda" else _counts[backend]
