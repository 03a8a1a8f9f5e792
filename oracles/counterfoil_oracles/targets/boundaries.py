"""Programs about boundary values, made from the dtypes and the kernel table alone: the same ones every time.

For each dtype the ends of its range, zeros, subnormals, infinities and NaNs; stores from wider formats that saturate,
round or are refused; each kernel on the edges of each dtype it takes; extents 0 and 1, ranks 0 and 32; numbers past
2^53.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from counterfoil_oracles.machines.codes import edges
from counterfoil_reference.numbers import value_of_code
from counterfoil_spec.commands import Command, Header, Step, Trace, encode_number
from counterfoil_spec.dtypes import Dtype, Kind, bool_, complex64, float32, float64, int32, int64, uint64
from counterfoil_spec.kernels import KERNELS, Family, Kernel
from counterfoil_spec.limits import MAX_ELEMENTS, MAX_RANK

_REAL_EDGES: Final = (
    0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 5.0, 6.0, 7.0, 7.5, 8.0, 15.5, 16.0, 127.5, 128.0, -128.5, 255.5, 256.0,
    448.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0, 65520.0, 65536.0, 2.0**31, 2.0**53, 2.0**53 + 2, 2.0**63,
    2.0**64, -(2.0**63), 3.4028235677973366e38, 1e300, 5e-324, 2.0**-149, 2.0**-150, 2.0**-24, 2.0**-25,
    2.0**-133, 2.0**-17, 2.0**-10, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
"""Binary64 values at which some narrower format rounds, saturates, overflows or underflows."""

_INTEGER_EDGES: Final = (
    0,
    1,
    -1,
    7,
    8,
    -8,
    -9,
    15,
    16,
    127,
    128,
    255,
    256,
    2**31,
    2**53 - 1,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
)
_FAMILIES: Final = {
    Family.UNARY: 1, Family.BINARY: 2, Family.COMPARE: 2, Family.FMA: 3, Family.WHERE: 3, Family.CAST: 1,
}  # fmt: skip
_MOST_EDGES: Final = 12


def boundaries() -> Iterator[Trace]:
    """Every program, in a fixed order, without outcomes."""
    for dtype in Dtype.all:
        yield _values(dtype)
        yield _refused_values(dtype)
        yield _stores(dtype)
    for row in KERNELS.values():
        for dtype in Dtype.all:
            if dtype in row.domain and row.family in _FAMILIES:
                yield _kernel(row, dtype)
    yield from _reductions()
    for shape in ([], [0], [1], [0, 3], [1, 1], [3, 0, 2], [1] * MAX_RANK):
        yield _extents(shape)
    yield _past_the_rank()
    yield _past_53_bits()


def named(data: str) -> dict[str, str]:
    """A reference to what a step made."""
    return {"ref": data}


def _trace(title: str, rules: list[str], *commands: Command) -> Trace:
    return Trace(Header(title=title, rules=rules, seed=["boundary"]), [Step(command=command) for command in commands])


def _do(do: str, bind: str | None = None, **args: Any) -> Command:
    return Command(do=do, args=args, bind=bind)


def _number(value: Any) -> Any:
    return encode_number(value)


def edge_values(dtype: Dtype) -> list[Any]:
    """The values at a dtype's edges, as commands write them."""
    codes = dict.fromkeys(code for code in edges(dtype) if dtype.kind is not Kind.BOOLEAN or code in (0, 1))
    return [_number(value_of_code(dtype, code)) for code in codes]


def _array(bind: str, dtype: Dtype, values: list[Any]) -> Command:
    return _do("from_values", bind, dtype=dtype.name, shape=[len(values)], values=values)


def _values(dtype: Dtype) -> Trace:
    values = edge_values(dtype)
    reads = [_do("array.get", array=named("x"), index=[at]) for at in (0, len(values) - 1)]
    sets = [_do("array.set", array=named("x"), index=[0], value=values[-1])]
    every = [
        _array("x", dtype, values),
        *reads,
        *sets,
        _do("array.to_values", array=named("x")),
        _do("array.copy", "y", array=named("x")),
    ]
    return _trace(f"the edges of {dtype.name} are stored and read back", ["dtypes/bits-kept"], *every)


def _refused_values(dtype: Dtype) -> Trace:
    """Just past the ends of an integer's range; for others a few that are always of another kind."""
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        low, high = int(dtype.min_value), int(dtype.max_value)
        tried: list[Any] = [low - 1, low, high, high + 1, 2**70]
    else:
        tried = [0, 1, 2, 2**53 + 1, 10**400]
    commands = [
        _do("from_values", f"x{at}", dtype=dtype.name, shape=[1], values=[_number(value)])
        for at, value in enumerate(tried)
    ]
    return _trace(f"integers at and past the ends of {dtype.name}", ["dtypes/value-range"], *commands)


def _stores(dtype: Dtype) -> Trace:
    """Numbers of the widest formats stored into a dtype: saturated, rounded to even, NaN to 0."""
    single = [_do("of_float", dtype=dtype.name, value=_number(value)) for value in _REAL_EDGES]
    whole = []
    for source, values in ((float64, _REAL_EDGES), (int64, _INTEGER_EDGES), (uint64, (0, 2**53 + 1, 2**64 - 1))):
        name, into = f"{source.name}s", f"from_{source.name}"
        whole += [
            _array(name, source, [_number(value) for value in values]),
            _do("host_array", into, dtype=dtype.name, shape=[len(values)]),
            _do("kernel", name="cast", dst=named(into), sources=[named(name)]),
        ]
    return _trace(f"the edges of wider formats stored as {dtype.name}", ["dtypes/store-rule"], *single, *whole)


def _kernel(row: Kernel, dtype: Dtype) -> Trace:
    """A kernel on the edges of a dtype, in their order and against it."""
    values = edge_values(dtype)[:_MOST_EDGES]
    count, result = len(values), row.result or (float32 if row.family is Family.CAST else dtype)
    sources = ["x", "y", "z"][: _FAMILIES[row.family]]
    made = [_array(name, dtype, values[at:] + values[:at]) for at, name in enumerate(sources)]
    if row.family is Family.WHERE:
        made[0] = _array("x", bool_, [bool(at % 2) for at in range(count)])
    last = [
        _do("host_array", "r", dtype=result.name, shape=[count]),
        _do("kernel", name=row.name, dst=named("r"), sources=[named(name) for name in sources]),
    ]
    return _trace(f"{row.name} at the edges of {dtype.name}", ["door/done"], *made, *last)


def _reductions() -> Iterator[Trace]:
    """Sums, products, extremes, means and their places over extents 0, 1 and 3."""
    for row in KERNELS.values():
        if row.family not in (Family.REDUCE, Family.ARG):
            continue
        for dtype in (int32, float32):
            if dtype not in row.domain:
                continue
            commands = []
            for count in (0, 1, 3):
                x, r = f"x{count}", f"r{count}"
                commands += [
                    _do("from_values", x, dtype=dtype.name, shape=[2, count], values=[1, 2, 3, 4, 5, 6][: 2 * count]),
                    _do("host_array", r, dtype=(row.result or dtype).name, shape=[2]),
                    _do("kernel", name=row.name, dst=named(r), sources=[named(x)], axes=[1]),
                ]
            yield _trace(f"{row.name} of {dtype.name} over extents 0, 1 and 3", ["door/shape-mismatch"], *commands)


def _extents(shape: list[int]) -> Trace:
    """An array of a shape, and each move that keeps its elements."""
    count = 0 if 0 in shape else 3 if 3 in shape else 1
    moves: dict[str, Any] = {
        "flat": {"reshape": [count]}, "turned": {"permute": list(range(len(shape)))[::-1]},
        "cut": {"slice": [[0, extent, 1] for extent in shape]}, "same": {"broadcast": shape},
    }  # fmt: skip
    made = [_do("from_values", "x", dtype="int32", shape=shape, values=list(range(count)))]
    moved = [_do("array.move", name, array=named("x"), move=move) for name, move in moves.items()]
    looked = [_do("array.facts", array=named(name)) for name in ("x", *moves)]
    copied = [
        _do("host_array", "r", dtype="int32", shape=shape),
        _do("kernel", name="add", dst=named("r"), sources=[named("x"), named("x")]),
    ]
    return _trace(f"shape {shape} and its moves", ["moves/reshape-count"], *made, *moved, *looked, *copied)


def _past_the_rank() -> Trace:
    most, past = [1] * MAX_RANK, [1] * (MAX_RANK + 1)
    return _trace(
        f"rank {MAX_RANK} is the last",
        ["layouts/rank"],
        _do("layout.contiguous", "most", shape=most),
        _do("layout.contiguous", "past", shape=past),
        _do("from_values", "x", dtype="int8", shape=most, values=[1]),
        _do("from_values", "y", dtype="int8", shape=past, values=[1]),
        _do("array.move", "z", array=named("x"), move={"reshape": past}),
        _do("array.move", "w", array=named("x"), move={"broadcast": past}),
        _do("array.get", array=named("x"), index=[0] * MAX_RANK),
    )


def _past_53_bits() -> Trace:
    """Extents, offsets and counts around 2^53 and the limits, which doubles cannot hold."""
    extents = (2**53 - 1, 2**53, 2**53 + 1, MAX_ELEMENTS - 1, MAX_ELEMENTS, MAX_ELEMENTS + 1)
    layouts = [_do("layout.contiguous", f"l{at}", shape=[_number(extent)]) for at, extent in enumerate(extents)]
    facts = [_do("layout.facts", layout=named(f"l{at}")) for at in range(2)]
    offsets = [
        _do("layout", f"o{at}", shape=[1], strides=[1], offset=_number(offset)) for at, offset in enumerate(extents)
    ]
    sizes = [
        _do("dtype.nbytes", dtype=dtype.name, count=_number(count))
        for dtype in (complex64, float32)
        for count in (*extents, 2**60, 2**63 - 1)
    ]
    texts = [_do("format_value", dtype="int64", value=_number(value)) for value in (2**53 + 1, 2**63 - 1, -(2**63))]
    values = [
        _array("x", int64, [_number(value) for value in _INTEGER_EDGES]),
        _do("array.to_values", array=named("x")),
    ]
    return _trace(
        "numbers around 2^53 and the limits",
        ["layouts/too-many-elements"],
        *layouts,
        *facts,
        *offsets,
        *sizes,
        *texts,
        *values,
    )
