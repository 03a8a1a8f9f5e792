"""JAX as a target: ``counterfoil check counterfoil_oracles.targets.libraries.jax_:target``.

JAX's arrays are immutable: a destination is the name that a function's result is given, so only destinations that
share memory with nothing are used, and what the rules say of views of one memory is not asked. Claims are a call of a
jitted function that donates: what it returns for an array is consumed, or else is the array from then on. Each command
is what a JAX program would write for it; nothing is checked here that JAX does not check.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from counterfoil_oracles.targets.inprocess import Adapter, command
from counterfoil_oracles.targets.libraries import strided
from counterfoil_oracles.targets.libraries.strided import NUMPY
from counterfoil_spec.commands import references
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import ARITIES, KERNELS
from counterfoil_spec.protocol import Skipped, TargetOutcome, TargetStep

_DTYPES: Final[dict[str, Any]] = {
    **NUMPY, "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2, "float4_e2m1fn": ml_dtypes.float4_e2m1fn, "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
}  # fmt: skip
_UNARY: Final[dict[str, Any]] = {
    "neg": jnp.negative, "recip": jnp.reciprocal, "abs": jnp.abs, "sign": jnp.sign, "sqrt": jnp.sqrt,
    "floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round, "trunc": jnp.trunc, "exp": jnp.exp, "exp2": jnp.exp2,
    "log": jnp.log, "log2": jnp.log2, "log1p": jnp.log1p, "expm1": jnp.expm1, "sin": jnp.sin, "cos": jnp.cos,
    "tan": jnp.tan, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "sinh": jnp.sinh, "cosh": jnp.cosh,
    "tanh": jnp.tanh, "erf": jax.scipy.special.erf,
}  # fmt: skip
_BINARY: Final[dict[str, Any]] = {
    "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "fdiv": jnp.divide, "idiv": jax.lax.div,
    "mod": jnp.fmod, "pow": jnp.power, "atan2": jnp.arctan2, "maximum": jnp.maximum, "minimum": jnp.minimum,
    "bitwise_and": jnp.bitwise_and, "bitwise_or": jnp.bitwise_or, "bitwise_xor": jnp.bitwise_xor,
    "equal": jnp.equal, "not_equal": jnp.not_equal, "less": jnp.less, "less_equal": jnp.less_equal,
    "matmul": jnp.matmul,
}  # fmt: skip
_REDUCTIONS: Final[dict[str, Any]] = {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min,
                                      "mean": jnp.mean}  # fmt: skip

_PATTERNS: Final = (
    ("claims.enter", r"donated in the same call|same buffer twice", "claims/overlapping-donation"),
    ("claims.enter", r"deleted or donated", "memory/dead"),
    ("kernel", r"has been deleted", "door/dead-buffer"),
    ("", r"has been deleted", "memory/dead"),
    ("array.get", r"too large to convert", "arrays/index-range"),
    ("array.set", r"^OverflowError: index: ", "arrays/index-range"),
    ("array.get", r"index is out of bounds", "arrays/index-range"),
    ("array.set", r"index is out of bounds", "arrays/index-range"),
    ("array.get", r"Too many indices", "arrays/index-rank"),
    ("array.set", r"Too many indices", "arrays/index-rank"),
    ("", r"Python integer -?\d+ out of bounds for|too (large|big) to convert", "dtypes/value-range"),
    ("", r"argument must be|cannot convert float", "dtypes/value-type"),
    ("from_values", r"cannot reshape|unknown dimension", "arrays/values-count"),
    ("array.move", r"cannot reshape|unknown dimension|[Cc]annot divide evenly", "moves/reshape-count"),
    ("", r"nonnegative|[Nn]egative dimension", "layouts/negative-extent"),
    ("", r"maximum supported dimension", "layouts/rank"),
    ("", r"Out of memory|does not fit|too large|exceeds", "memory/exhausted"),
    ("array.move", r"requested type|Incompatible types for broadcasting", "moves/broadcast-extent"),
    ("array.move", r"fewer dimensions", "moves/broadcast-rank"),
    ("array.move", r"out of bounds for array of dimension", "moves/permute-axis"),
    ("array.move", r"isn't a permutation", "moves/permute-repeat"),
    ("array.move", r"slice step cannot be zero", "moves/slice-step"),
    ("array.move", r"Too many indices", "moves/slice-ranges"),
    ("kernel", r"must be (an )?inexact|only accept|dtype", "door/wrong-dtype"),
    ("kernel", r"incompatible shapes|same shape|out of bounds|duplicate value|index out of range|zero-size",
     "door/shape-mismatch"),
    ("kernel", r"must have ndim|at least|empty sequence|contracting|broadcast|got shapes", "door/shape-mismatch"),
)  # fmt: skip


@dataclass
class Cell:
    """A name's array now; ``shared``: in the rules it would be a view of a memory with others; ``called``: donated to a
    call that is not over."""

    array: Any
    shared: bool = False
    called: bool = False


@dataclass
class Call:
    """A call that donates: the cells that were donated, and what was returned for each. None once it is over."""

    returned: list[tuple[Cell, Any]] | None


_donating: Final = jax.jit(lambda donated, read: donated, donate_argnums=0, keep_unused=True)


class Jax(Adapter):
    """Arrays as jax Arrays on the CPU, kernels as functions whose result the destination's name is given."""

    name = "jax"
    version = jax.__version__
    chapters = ("dtypes", "layouts", "moves", "arrays", "memory", "claims", "door", "kernels")
    dtypes = tuple(_DTYPES)
    refuses = (ValueError, TypeError, IndexError, RuntimeError, OverflowError)
    patterns = _PATTERNS
    makes = frozenset({"host", "empty", "host_array", "from_values", "array.copy", "claims.enter", "claims.consume"})
    may_make = frozenset({"array.move", "array.bitcast"})

    def run(self, step: TargetStep) -> TargetOutcome:
        """One step. Warnings are no refusals: the work is done all the same."""
        cells = (self.names.get(name) for name in references(step.args))
        if not step.do.startswith("claims.") and any(isinstance(cell, Cell) and cell.called for cell in cells):
            return Skipped("nothing comes between a call's beginning and its end")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().run(step)

    # --- arrays ------------------------------------------------------------------------------------------------------

    @command("host")
    def host(self) -> object:
        return "host"

    @command("empty")
    def empty(self, device: object, dtype: str, shape: list[int], kind: str = "device") -> Cell:
        return _empty(dtype, shape)

    @command("host_array")
    def host_array(self, dtype: str, shape: list[int]) -> Cell:
        return _empty(dtype, shape)

    @command("from_values")
    def from_values(self, dtype: str, shape: list[int], values: list[Any]) -> Cell:
        _bearable(shape)
        return Cell(jnp.array(values, _DTYPES[dtype]).reshape(shape))

    @command("array.move")
    def move(self, array: Cell, move: dict[str, Any]) -> Cell:
        moved = _moved(array.array, move)
        array.shared = True
        return Cell(moved, True)

    @command("array.bitcast")
    def bitcast(self, array: Cell, dtype: str) -> Cell:
        if Dtype.of_name(dtype).bits != Dtype.of_name(array.array.dtype.name).bits:
            raise NotImplementedError("bitcasts that append or remove an axis")
        viewed = array.array.view(_DTYPES[dtype])
        array.shared = True
        return Cell(viewed, True)

    @command("array.get")
    def get(self, array: Cell, index: list[int]) -> Any:
        found = array.array[tuple(index)]
        return strided.element(_bits(found), found.shape)

    @command("array.set")
    def set(self, array: Cell, index: list[int], value: Any) -> None:
        _require_unshared(array)
        try:
            array.array = array.array.at[tuple(index)].set(value)
        except OverflowError as error:
            raise OverflowError(f"index: {error}" if strided.is_past_words(index) else str(error)) from error

    @command("array.to_values")
    def to_values(self, array: Cell) -> Any:
        return _bits(array.array)

    @command("array.copy")
    def copy(self, array: Cell) -> Cell:
        return Cell(array.array.copy())

    # --- donation ----------------------------------------------------------------------------------------------------

    @command("claims.enter")
    def enter(self, read: list[Cell], donate: list[Cell]) -> Call:
        if any(cell.shared or cell.called for cell in (*read, *donate)):
            raise NotImplementedError("views, and calls inside of calls")
        returned = _donating([cell.array for cell in donate], [cell.array for cell in read])
        for cell in donate:
            cell.called = True
        return Call(list(zip(donate, returned, strict=True)))

    @command("claims.consume")
    def consume(self, claims: Call, buffer: Cell, why: str) -> Cell:
        found = next((pair for pair in claims.returned or () if pair[0] is buffer), None)
        if found is None or claims.returned is None:
            raise NotImplementedError("what the call was not given, or has given back")
        claims.returned.remove(found)
        buffer.called = False
        return Cell(found[1])

    @command("claims.exit")
    def exit(self, claims: Call, **raised: Any) -> None:
        if raised or claims.returned is None:
            raise NotImplementedError("calls that end by an exception, or twice")
        for cell, returned in claims.returned:
            cell.array, cell.called = returned, False
        claims.returned = None

    # --- kernels -----------------------------------------------------------------------------------------------------

    @command("kernel")
    def kernel(self, name: str, dst: Cell, sources: list[Cell], **parameters: Any) -> str:
        _require_unshared(dst)
        result = _computed(name, dst.array, [source.array for source in sources], **parameters)
        if (result.shape, result.dtype) != (dst.array.shape, dst.array.dtype):
            raise NotImplementedError("destinations: a function's result has a shape and dtype of its own")
        dst.array = result
        return "DONE"


def _bearable(shape: list[int]) -> None:
    """Leave out empty arrays whose other extents, and width, multiply past 63 bits: JAX aborts the process."""
    if 0 in shape and math.prod(abs(extent) for extent in shape if extent) >= 1 << 58:
        raise NotImplementedError("shapes at which the process is aborted")


def _empty(dtype: str, shape: list[int]) -> Cell:
    _bearable(shape)
    strided.affordable(dtype, shape)
    return Cell(jnp.empty(shape, _DTYPES[dtype]))


def _require_unshared(cell: Cell) -> None:
    if cell.array.is_deleted():
        raise NotImplementedError("writing to what was donated: a destination is a name, and takes any array")
    if cell.shared:
        raise NotImplementedError("writing through views: arrays are immutable")


def _bits(array: Any) -> dict[str, Any]:
    held = np.asarray(array)
    return strided.bits_of(held, held.dtype.name)


def _moved(array: Any, move: dict[str, Any]) -> Any:
    match move:
        case {"reshape": shape}:
            _bearable(shape)
            return array.reshape(shape)
        case {"broadcast": shape}:
            _bearable(shape)
            return jnp.broadcast_to(array, shape)
        case {"permute": axes}:
            return array.transpose(axes)
        case {"slice": ranges}:
            return array[strided.slices(ranges)]
    raise NotImplementedError("windows")


def _computed(name: str, dst: Any, sources: list[Any], **parameters: Any) -> Any:
    if len(sources) != ARITIES.get(KERNELS[name].family):
        raise NotImplementedError("another number of operands: functions have signatures")
    if name == "recip" and not jnp.issubdtype(sources[0].dtype, jnp.floating):
        raise NotImplementedError("integer reciprocals")
    if name in _UNARY or name in _BINARY:
        return (_UNARY.get(name) or _BINARY[name])(*sources)
    if name in ("sum", "prod", "cumsum"):
        return _accumulated(name, sources[0], **parameters)
    if name in _REDUCTIONS:
        return _REDUCTIONS[name](sources[0], axis=tuple(parameters["axes"]))
    if name in ("argmax", "argmin") and len(parameters["axes"]) == 1:
        return getattr(jnp, name)(sources[0], axis=parameters["axes"][0]).astype(jnp.int64)
    if name == "softmax":
        return jax.nn.softmax(sources[0], axis=parameters["axis"])
    if name == "cast":
        return sources[0].astype(dst.dtype)
    if name == "where":
        return jnp.where(*sources)
    if name == "fill":
        return jnp.full_like(dst, parameters["value"])
    raise NotImplementedError(f"{name} as a function")


def _accumulated(name: str, source: Any, **parameters: Any) -> Any:
    """In the source's own dtype: without being told, JAX would widen integers."""
    axis = parameters["axis"] if name == "cumsum" else tuple(parameters["axes"])
    return getattr(jnp, name)(source, axis=axis, dtype=source.dtype)


def target() -> Jax:
    """JAX, ready to be asked, with all its dtypes."""
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    return Jax()
