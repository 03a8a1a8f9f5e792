"""The kernels by name: ``kernels.add(dst, x, y) -> Answer`` for each row of the table (K1).

Each call checks its arguments (arguments/wrong-type, arguments/not-integer, kernels/expression, dtypes/value-type,
dtypes/value-range), then goes through the door, raising memory/lost. A kernel reads all its sources before it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterfoil_reference.kernels import mapping, moving, multiplying, normalizing, pointwise, reducing, scanning
from counterfoil_spec.answers import Answer
from counterfoil_spec.kernels import KERNELS, Family, Kernel

_SINGLE: Final[dict[str, Callable[..., Answer]]] = {
    "fill": moving.fill,
    "iota": moving.iota,
    "copy": moving.copy,
    "cast": moving.cast,
    "map": mapping.map_,
    "cumsum": scanning.cumsum,
    "softmax": normalizing.softmax,
    "matmul": multiplying.matmul,
}


def _named(row: Kernel) -> Callable[..., Answer]:
    if row.family in (Family.REDUCE, Family.ARG):
        return reducing.named(row)
    return _SINGLE.get(row.name) or pointwise.named(row)


_CALLS: Final = {name: _named(row) for name, row in KERNELS.items()}


def __getattr__(name: str) -> Callable[..., Answer]:
    """The kernel of that name."""
    try:
        return _CALLS[name]
    except KeyError:
        raise AttributeError(f"no kernel is called {name}") from None


def __dir__() -> list[str]:
    return sorted([*globals(), *_CALLS])
