"""NumPy as a target: ``counterfoil check counterfoil_oracles.targets.libraries.numpy_:target``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from counterfoil_oracles.targets.inprocess import Adapter, Declines, command
from counterfoil_oracles.targets.libraries.strided import NUMPY, Strides, bits_of, slices

_UNARY: Final[dict[str, Any]] = {
    "neg": np.negative, "recip": np.reciprocal, "abs": np.abs, "sign": np.sign, "sqrt": np.sqrt, "floor": np.floor,
    "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "exp": np.exp, "exp2": np.exp2, "log": np.log,
    "log2": np.log2, "log1p": np.log1p, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
}  # fmt: skip
_BINARY: Final[dict[str, Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "fdiv": np.divide, "pow": np.power, "atan2": np.arctan2,
    "maximum": np.maximum, "minimum": np.minimum, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "matmul": np.matmul,
}  # fmt: skip
_REDUCTIONS: Final[dict[str, Any]] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean}


class NumPy(Adapter):
    """Arrays as ndarrays, buffers as arrays of bytes, kernels as ufuncs into ``out``."""

    name = "numpy"
    version = np.__version__
    chapters = ("dtypes", "layouts", "moves", "arrays", "door", "kernels")
    dtypes = tuple(NUMPY)
    refuses = (ValueError, TypeError, IndexError, OverflowError)
    makes = frozenset(
        {"host", "buffer", "layout", "layout.contiguous", "array", "empty", "host_array", "from_values", "array.copy"}
    )
    may_make = frozenset({"array.move", "array.bitcast"})
    patterns = (
        (
            "array",
            r"strides is incompatible|buffer is too small|exceeds available|too large for buffer",
            "arrays/past-the-end",
        ),
        ("array.get", r"out of bounds", "arrays/index-range"),
        ("array.set", r"out of bounds", "arrays/index-range"),
        ("array.get", r"indices|too many", "arrays/index-rank"),
        ("array.set", r"indices|too many", "arrays/index-rank"),
        ("array.set", r"out of bounds for|OverflowError|can't convert|cannot convert", "dtypes/value-range"),
        ("array.set", r"read-only", "memory/read-only"),
        ("from_values", r"OverflowError|out of bounds", "dtypes/value-range"),
        ("from_values", r"cannot reshape|shape", "arrays/values-count"),
        ("array.move", r"axes don't match", "moves/permute-length"),
        ("array.move", r"repeated axis", "moves/permute-repeat"),
        ("array.move", r"out of bounds for", "moves/permute-axis"),
        ("array.move", r"cannot reshape", "moves/reshape-count"),
        ("array.move", r"broadcast", "moves/broadcast-extent"),
        ("transfer", r"broadcast", "arrays/shapes-differ"),
        ("transfer", r"[Cc]ast", "arrays/dtypes-differ"),
        ("transfer", r"read-only", "memory/read-only"),
        ("kernel", r"read-only", "door/read-only"),
        (
            "kernel",
            r"[Cc]ast|not supported for the input types|did not contain a loop|data type|dtype",
            "door/wrong-dtype",
        ),
        ("kernel", r"broadcast|mismatch|shape|axis|dimension|zero-size|empty sequence", "door/shape-mismatch"),
    )

    # --- memory and layouts ------------------------------------------------------------------------------------------

    @command("host")
    def host(self) -> object:
        return "host"

    @command("buffer")
    def buffer(self, device: object, nbytes: int, kind: str = "device") -> Any:
        return np.zeros(nbytes, np.uint8)

    @command("submit_fill")
    def submit_fill(self, buffer: Any, byte: int) -> None:
        array = buffer if isinstance(buffer, np.ndarray) else np.asarray(buffer)
        whole = _whole(array)
        whole.view(np.uint8)[...] = byte

    @command("layout")
    def layout(self, shape: list[int], strides: list[int], offset: int = 0) -> Strides:
        return Strides(tuple(shape), tuple(strides), offset)

    @command("layout.contiguous")
    def contiguous(self, shape: list[int]) -> Strides:
        strides = [1]
        for extent in reversed(shape[1:]):
            strides.insert(0, strides[0] * extent)
        return Strides(tuple(shape), tuple(strides[: len(shape)]), 0)

    # --- arrays ------------------------------------------------------------------------------------------------------

    @command("array")
    def array(self, dtype: str, layout: Strides, buffer: Any) -> Any:
        kind = np.dtype(NUMPY[dtype])
        strides = tuple(stride * kind.itemsize for stride in layout.strides)
        memory = _whole(buffer).view(np.uint8)
        return np.ndarray(layout.shape, kind, memory, layout.offset * kind.itemsize, strides)

    @command("empty")
    def empty(self, device: object, dtype: str, shape: list[int], kind: str = "device") -> Any:
        return np.empty(shape, NUMPY[dtype])

    @command("host_array")
    def host_array(self, dtype: str, shape: list[int]) -> Any:
        return np.empty(shape, NUMPY[dtype])

    @command("from_values")
    def from_values(self, dtype: str, shape: list[int], values: list[Any]) -> Any:
        with np.errstate(all="ignore"):
            return np.array(values, NUMPY[dtype]).reshape(shape)

    @command("array.move")
    def move(self, array: Any, move: dict[str, Any]) -> Any:
        match move:
            case {"reshape": shape}:
                try:
                    return array.reshape(shape, copy=False)
                except ValueError as error:
                    if "copy" in str(error):
                        return None
                    raise
            case {"broadcast": shape}:
                return np.broadcast_to(array, shape)
            case {"permute": axes}:
                return array.transpose(axes)
            case {"slice": ranges}:
                return array[slices(ranges)]
        raise NotImplementedError("windows")

    @command("array.bitcast")
    def bitcast(self, array: Any, dtype: str) -> Any:
        if np.dtype(NUMPY[dtype]).itemsize != array.itemsize:
            raise NotImplementedError("numpy widens and narrows along the last axis instead")
        return array.view(NUMPY[dtype])

    @command("array.get")
    def get(self, array: Any, index: list[int]) -> Any:
        if len(index) != array.ndim:
            raise IndexError("another number of indices")
        found = bits_of(np.asarray(array[tuple(index)]), array.dtype.name)
        return {**found, "bits": found["bits"][0]}

    @command("array.set")
    def set(self, array: Any, index: list[int], value: Any) -> None:
        if len(index) != array.ndim:
            raise IndexError("another number of indices")
        array[tuple(index)] = value

    @command("array.to_values")
    def to_values(self, array: Any) -> Any:
        return bits_of(array, array.dtype.name)

    @command("array.copy")
    def copy(self, array: Any) -> Any:
        return array.copy()

    @command("transfer")
    def transfer(self, src: Any, dst: Any) -> None:
        np.copyto(dst, src, casting="no")

    # --- kernels -----------------------------------------------------------------------------------------------------

    @command("kernel")
    def kernel(self, name: str, dst: Any, sources: list[Any], **parameters: Any) -> str:
        with np.errstate(all="ignore"):
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
                raise NotImplementedError(f"numpy has no {name} into out")
        return "DONE"


def _whole(array: Any) -> Any:
    """The memory that an array is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    if not array.flags.c_contiguous:
        raise Declines("not the memory itself")
    return array.reshape(-1)


def target() -> NumPy:
    """NumPy, ready to be asked."""
    return NumPy()
