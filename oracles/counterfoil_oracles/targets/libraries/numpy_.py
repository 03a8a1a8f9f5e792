"""NumPy as a target: ``counterfoil check counterfoil_oracles.targets.libraries.numpy_:target``.

Each command is what a NumPy program would write for it; nothing is checked here that NumPy does not check.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from counterfoil_oracles.targets.inprocess import Adapter, command
from counterfoil_oracles.targets.libraries import strided
from counterfoil_oracles.targets.libraries.strided import NUMPY, Held, Strides
from counterfoil_spec.kernels import ARITIES, KERNELS
from counterfoil_spec.protocol import TargetOutcome, TargetStep

_UNARY: Final[dict[str, Any]] = {
    "neg": np.negative, "recip": np.reciprocal, "abs": np.abs, "sign": np.sign, "sqrt": np.sqrt, "floor": np.floor,
    "ceil": np.ceil, "round": np.round, "trunc": np.trunc, "exp": np.exp, "exp2": np.exp2, "log": np.log,
    "log2": np.log2, "log1p": np.log1p, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
}  # fmt: skip
_BINARY: Final[dict[str, Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "fdiv": np.divide, "mod": np.fmod, "pow": np.power,
    "atan2": np.arctan2, "maximum": np.maximum, "minimum": np.minimum, "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "equal": np.equal, "not_equal": np.not_equal,
    "less": np.less, "less_equal": np.less_equal, "matmul": np.matmul,
}  # fmt: skip
_REDUCTIONS: Final[dict[str, Any]] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean}

_PATTERNS: Final = (
    ("array", r"strides is incompatible|buffer is too small|no greater than buffer length", "arrays/past-the-end"),
    ("array.get", r"is out of bounds for axis", "arrays/index-range"),
    ("array.set", r"is out of bounds for axis", "arrays/index-range"),
    ("array.get", r"too many indices", "arrays/index-rank"),
    ("array.set", r"too many indices", "arrays/index-rank"),
    ("array.set", r"read-only", "memory/read-only"),
    ("array.get", r"int too large", "arrays/index-range"),
    ("array.set", r"^OverflowError: index: ", "arrays/index-range"),
    ("submit_fill", r"Python integer -?\d+ out of bounds", "arguments/integer-range"),
    ("buffer", r"negative dimensions", "memory/negative-size"),
    ("", r"Python integer -?\d+ out of bounds for|int too (large|big) to convert", "dtypes/value-range"),
    ("", r"cannot convert float|argument must be|Cannot cast .*from complex", "dtypes/value-type"),
    ("", r"[Nn]egative dimensions|must be non-negative", "layouts/negative-extent"),
    ("", r"maximum supported dimension", "layouts/rank"),
    ("", r"Unable to allocate|array is too big|Maximum allowed dimension", "memory/exhausted"),
    ("from_values", r"cannot reshape|unknown dimension", "arrays/values-count"),
    ("array.move", r"^AxisError", "moves/permute-axis"),
    ("array.move", r"window: axis", "moves/window-axis"),
    ("array.move", r"axes don't match", "moves/permute-length"),
    ("array.move", r"repeated axis", "moves/permute-repeat"),
    ("array.move", r"window_shape cannot contain negative", "moves/window-size"),
    ("array.move", r"window shape cannot be larger", "moves/window-fit"),
    ("array.move", r"slice step cannot be zero", "moves/slice-step"),
    ("array.move", r"too many indices", "moves/slice-ranges"),
    ("array.move", r"cannot reshape|unknown dimension", "moves/reshape-count"),
    ("array.move", r"has more dimensions than", "moves/broadcast-rank"),
    ("array.move", r"could not be broadcast", "moves/broadcast-extent"),
    ("transfer", r"could not (be )?broadcast", "arrays/shapes-differ"),
    ("transfer", r"Cannot cast", "arrays/dtypes-differ"),
    ("transfer", r"read-only", "memory/read-only"),
    ("kernel", r"read-only", "door/read-only"),
    ("kernel", r"Cannot cast|not supported|did not contain a loop", "door/wrong-dtype"),
    ("kernel", r"broadcast|mismatch|does not match|wrong number of dim", "door/shape-mismatch"),
    ("kernel", r"out of bounds for array of dim|not have enough dim|duplicate value in", "door/shape-mismatch"),
    ("kernel", r"wrong size|empty sequence|zero-size", "door/shape-mismatch"),
)  # fmt: skip


class NumPy(Adapter):
    """Arrays as ndarrays, buffers as arrays of bytes, kernels as ufuncs into ``out``."""

    name = "numpy"
    version = np.__version__
    chapters = ("dtypes", "layouts", "moves", "arrays", "memory", "door", "kernels")
    dtypes = tuple(NUMPY)
    refuses = (ValueError, TypeError, IndexError, OverflowError, MemoryError)
    patterns = _PATTERNS
    makes = frozenset(
        {"host", "buffer", "buffer.view", "layout", "layout.contiguous", "array", "empty", "host_array", "from_values",
         "array.copy"}
    )  # fmt: skip
    may_make = frozenset({"array.move", "array.bitcast"})

    def run(self, step: TargetStep) -> TargetOutcome:
        """One step. Warnings are no refusals: the work is done all the same."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return super().run(step)

    # --- memory and layouts ------------------------------------------------------------------------------------------

    @command("host")
    def host(self) -> object:
        return "host"

    @command("buffer")
    def buffer(self, device: object, nbytes: int, kind: str = "device") -> Held:
        strided.affordable("uint8", [nbytes])
        memory = np.zeros(nbytes, np.uint8)
        return Held(memory, memory)

    @command("buffer.view")
    def view(self, buffer: Held, first: int, nbytes: int) -> Held:
        part = buffer.memory[first : first + nbytes]
        return Held(part, part)

    @command("buffer.overlaps")
    def overlaps(self, buffer: Held, other: Held) -> bool:
        return bool(np.shares_memory(buffer.memory, other.memory))

    @command("submit_fill")
    def submit_fill(self, buffer: Held, byte: int) -> None:
        buffer.memory[...] = byte

    @command("layout")
    def layout(self, shape: list[int], strides: list[int], offset: int = 0) -> Strides:
        return strided.layout(shape, strides, offset)

    @command("layout.contiguous")
    def contiguous(self, shape: list[int]) -> Strides:
        return strided.contiguous(shape)

    # --- arrays ------------------------------------------------------------------------------------------------------

    @command("array")
    def array(self, dtype: str, layout: Strides, buffer: Held) -> Held:
        kind = np.dtype(NUMPY[dtype])
        strides = tuple(stride * kind.itemsize for stride in layout.strides)
        offset = layout.offset * kind.itemsize
        return Held(np.ndarray(layout.shape, kind, buffer.memory, offset, strides), buffer.memory)

    @command("empty")
    def empty(self, device: object, dtype: str, shape: list[int], kind: str = "device") -> Held:
        return _empty(dtype, shape)

    @command("host_array")
    def host_array(self, dtype: str, shape: list[int]) -> Held:
        return _empty(dtype, shape)

    @command("from_values")
    def from_values(self, dtype: str, shape: list[int], values: list[Any]) -> Held:
        return _fresh(np.array(values, NUMPY[dtype]).reshape(shape))

    @command("array.move")
    def move(self, array: Held, move: dict[str, Any]) -> Held | None:
        try:
            return Held(_moved(array.array, move), array.memory)
        except ValueError as error:
            if "avoid creating a copy" in str(error):
                return None
            raise

    @command("array.bitcast")
    def bitcast(self, array: Held, dtype: str) -> Held:
        if np.dtype(NUMPY[dtype]).itemsize != array.array.itemsize:
            raise NotImplementedError("bitcasts that append or remove an axis: it divides the last one instead")
        return Held(array.array.view(NUMPY[dtype]), array.memory)

    @command("array.get")
    def get(self, array: Held, index: list[int]) -> Any:
        found = np.asarray(array.array[tuple(index)])
        return strided.element(strided.bits_of(found, found.dtype.name), found.shape)

    @command("array.set")
    def set(self, array: Held, index: list[int], value: Any) -> None:
        try:
            array.array[tuple(index)] = value
        except OverflowError as error:
            raise OverflowError(f"index: {error}" if strided.is_past_words(index) else str(error)) from error

    @command("array.to_values")
    def to_values(self, array: Held) -> Any:
        return strided.bits_of(array.array, array.array.dtype.name)

    @command("array.copy")
    def copy(self, array: Held) -> Held:
        return _fresh(array.array.copy())

    @command("transfer")
    def transfer(self, src: Held, dst: Held) -> None:
        np.copyto(dst.array, src.array, casting="no")

    # --- kernels -----------------------------------------------------------------------------------------------------

    @command("kernel")
    def kernel(self, name: str, dst: Held, sources: list[Held], **parameters: Any) -> str:
        _computed(name, dst.array, [source.array for source in sources], **parameters)
        return "DONE"


def _empty(dtype: str, shape: list[int]) -> Held:
    strided.affordable(dtype, shape)
    return _fresh(np.empty(shape, NUMPY[dtype]))


def _fresh(array: Any) -> Held:
    return Held(array, array.reshape(-1).view(np.uint8))


def _moved(array: Any, move: dict[str, Any]) -> Any:
    match move:
        case {"reshape": shape}:
            return array.reshape(shape, copy=False)
        case {"broadcast": shape}:
            return np.broadcast_to(array, shape)
        case {"permute": axes}:
            return array.transpose(axes)
        case {"slice": ranges}:
            return array[strided.slices(ranges)]
        case {"window": windows} if all(step == dilation == 1 for _, _, step, dilation in windows):
            try:
                return sliding_window_view(array, [each[1] for each in windows], tuple(each[0] for each in windows))
            except np.exceptions.AxisError as error:
                raise ValueError(f"window: {error}") from error
    raise NotImplementedError("windows with steps or dilation")


def _computed(name: str, dst: Any, sources: list[Any], **parameters: Any) -> None:
    if len(sources) != ARITIES.get(KERNELS[name].family):
        raise NotImplementedError("another number of operands: functions have signatures")
    if name in _UNARY or name in _BINARY:
        (_UNARY.get(name) or _BINARY[name])(*sources, out=dst)
    elif name in _REDUCTIONS:
        _REDUCTIONS[name](sources[0], axis=tuple(parameters["axes"]), out=dst)
    elif name in ("argmax", "argmin") and len(parameters["axes"]) == 1:
        getattr(np, name)(sources[0], axis=parameters["axes"][0], out=dst)
    elif name == "cumsum":
        np.cumsum(sources[0], axis=parameters["axis"], out=dst)
    elif name in ("copy", "cast"):
        np.copyto(dst, sources[0], casting="no" if name == "copy" else "unsafe")
    elif name == "fill":
        dst[...] = parameters["value"]
    else:
        raise NotImplementedError(f"{name} into out")


def target() -> NumPy:
    """NumPy, ready to be asked."""
    return NumPy()
