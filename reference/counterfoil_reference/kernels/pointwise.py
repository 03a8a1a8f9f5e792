"""The pointwise kernels of the table as calls: unary, binary, comparing, where, fma. Shapes must be equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from counterfoil_reference import door, elements
from counterfoil_reference.arrays import Array
from counterfoil_reference.intervals import Accept
from counterfoil_reference.kernels.operations import core, room
from counterfoil_reference.kernels.output import never, write
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance
from counterfoil_spec.kernels import Family, Kernel


def named(row: Kernel) -> Callable[..., Answer]:
    """The call of a pointwise row, in its family's form."""
    if row.family is Family.WHERE:
        return lambda dst, c, x, y: _call(row, dst, {"c": c, "x": x, "y": y})
    if row.family is Family.FMA:
        return lambda dst, x, y, z: _call(row, dst, {"x": x, "y": y, "z": z})
    if row.family is Family.UNARY:
        return lambda dst, x: _call(row, dst, {"x": x})
    return lambda dst, x, y: _call(row, dst, {"x": x, "y": y})


def _call(row: Kernel, dst: Array, named_sources: dict[str, Array]) -> Answer:
    instance("dst", dst, Array)
    sources = [instance(name, source, Array) for name, source in named_sources.items()]
    return door.run(
        [dst],
        sources,
        _dtypes_fit(row, dst, sources),
        lambda: all(source.shape == dst.shape for source in sources),
        never,
        lambda: _work(row, dst, sources),
    )


def _dtypes_fit(row: Kernel, dst: Array, sources: Sequence[Array]) -> bool:
    loaded = [source.dtype for source in sources]
    if row.condition and loaded.pop(0) not in row.condition:
        return False
    dtype = loaded[0]
    result = row.result or dtype
    return dtype in row.domain and all(other is dtype for other in loaded) and dst.dtype is result


def _work(row: Kernel, dst: Array, sources: Sequence[Array]) -> None:
    """All sources are read before anything is written, so a destination may be identical to any of them."""
    dtype = sources[-1].dtype
    compute, rooms = core(row.name, dtype), room(row.name, dtype)
    loaded = list(zip(*(elements.codes(source) for source in sources), strict=True))
    results = [compute(*codes) for codes in loaded]

    def all_rooms() -> list[Accept | None]:
        assert rooms is not None
        return [rooms(codes, result) for codes, result in zip(loaded, results, strict=True)]

    write(dst, results, None if rooms is None else all_rooms)
