"""PyTorch as a target: ``counterfoil check counterfoil_oracles.targets.libraries.torch_:target``.

Each command is what a PyTorch program would write for it; nothing is checked here that PyTorch does not check.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import torch

from counterfoil_oracles.targets.inprocess import Adapter, command
from counterfoil_oracles.targets.libraries import strided
from counterfoil_oracles.targets.libraries.strided import Held, Strides
from counterfoil_spec.kernels import ARITIES, KERNELS
from counterfoil_spec.protocol import Refusal, Skipped, TargetOutcome, TargetStep

_DTYPES: Final[dict[str, torch.dtype]] = {
    "float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
    "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2, "int64": torch.int64,
    "int32": torch.int32, "int16": torch.int16, "int8": torch.int8, "uint64": torch.uint64, "uint32": torch.uint32,
    "uint16": torch.uint16, "uint8": torch.uint8, "bool": torch.bool, "complex64": torch.complex64,
    "complex128": torch.complex128,
}  # fmt: skip
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}
_WORDS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_UNARY: Final[dict[str, Any]] = {
    "neg": torch.neg, "recip": torch.reciprocal, "abs": torch.abs, "sign": torch.sign, "sqrt": torch.sqrt,
    "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc, "exp": torch.exp,
    "exp2": torch.exp2, "log": torch.log, "log2": torch.log2, "log1p": torch.log1p, "expm1": torch.expm1,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan,
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "erf": torch.erf,
}  # fmt: skip
_BINARY: Final[dict[str, Any]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "fdiv": torch.div, "mod": torch.fmod, "pow": torch.pow,
    "atan2": torch.atan2, "maximum": torch.maximum, "minimum": torch.minimum, "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor, "equal": torch.eq, "not_equal": torch.ne,
    "less": torch.lt, "less_equal": torch.le, "matmul": torch.matmul,
}  # fmt: skip
_REDUCTIONS: Final[dict[str, Any]] = {
    "sum": torch.sum, "max": torch.amax, "min": torch.amin, "mean": torch.mean,
}  # fmt: skip
_ALONG: Final[dict[str, Any]] = {"cumsum": torch.cumsum, "softmax": torch.softmax}

_PATTERNS: Final = (
    ("array", r"out of bounds for storage", "arrays/past-the-end"),
    ("array.get", r"is out of bounds for dimension|int64|Overflow", "arrays/index-range"),
    ("array.set", r"is out of bounds for dimension", "arrays/index-range"),
    ("array.get", r"too many indices", "arrays/index-rank"),
    ("array.set", r"too many indices", "arrays/index-rank"),
    ("", r"cannot be converted to type \S+ without overflow: .*j|complex to|from complex", "dtypes/value-type"),
    ("", r"cannot be converted to type|can't convert negative int|int too (large|big)|Overflow when unpacking",
     "dtypes/value-range"),
    ("buffer", r"must be non-negative|negative dimension|non-negative", "memory/negative-size"),
    ("", r"negative dimension|invalid shape dimension|Dimension size must be non-negative", "layouts/negative-extent"),
    ("", r"calculation overflowed|can't allocate memory|multiplication overflow", "memory/exhausted"),
    ("from_values", r"is invalid for input of size|only one dimension can be inferred", "arrays/values-count"),
    ("from_values", r"must be real number|can't convert|cannot be|integer is required", "dtypes/value-type"),
    ("array.move", r"Dimension out of range", "moves/permute-axis"),
    ("array.move", r"window: .*out of range", "moves/window-axis"),
    ("array.move", r"does not match the length of the desired", "moves/permute-length"),
    ("array.move", r"duplicate dims", "moves/permute-repeat"),
    ("array.move", r"maximum size for tensor at dimension", "moves/window-fit"),
    ("array.move", r"size is -?\d+ but must be", "moves/window-size"),
    ("array.move", r"step is -?\d+ but must be", "moves/window-step"),
    ("array.move", r"slice step cannot be zero", "moves/slice-step"),
    ("array.move", r"too many indices", "moves/slice-ranges"),
    ("array.move", r"is invalid for input of size|only one dimension can be inferred", "moves/reshape-count"),
    ("array.move", r"the number of sizes provided", "moves/broadcast-rank"),
    ("array.move", r"must match the existing size", "moves/broadcast-extent"),
    ("transfer", r"must match the size|must match the existing|match the broadcast shape", "arrays/shapes-differ"),
    ("transfer", r"some elements of the input tensor", "arrays/overlapping"),
    ("array.set", r"more than one element of the written-to", "arrays/repeated"),
    ("transfer", r"more than one element of the written-to", "arrays/repeated"),
    ("kernel", r"more than one element of the written-to", "door/repeated-elements"),
    ("kernel", r"some elements of the input tensor and the written-to", "door/overlapping"),
    ("kernel", r"can't be cast|[Ee]xpected .*dtype|scalar type|data type|same dtype|Found dtype|out type to be",
     "door/wrong-dtype"),
    ("kernel", r"is not supported|not implemented",
     "door/wrong-dtype"),
    ("kernel", r"must match the size|cannot be multiplied|Dimension out of range|dim \d+ appears|shape|size|empty",
     "door/shape-mismatch"),
)  # fmt: skip


class Torch(Adapter):
    """Arrays as tensors, buffers as tensors of bytes, kernels as functions with ``out``."""

    name = "torch"
    version = str(torch.__version__)
    chapters = ("dtypes", "layouts", "moves", "arrays", "memory", "door", "kernels")
    dtypes = tuple(_DTYPES)
    refuses = (ValueError, TypeError, IndexError, RuntimeError, OverflowError)
    patterns = _PATTERNS
    makes = frozenset(
        {"host", "buffer", "buffer.view", "layout", "layout.contiguous", "array", "empty", "host_array", "from_values",
         "array.copy"}
    )  # fmt: skip
    may_make = frozenset({"array.move", "array.bitcast"})

    def run(self, step: TargetStep) -> TargetOutcome:
        """One step. Warnings are no refusals: the work is done all the same."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = super().run(step)
        lacks = isinstance(outcome, Refusal) and "does not support" in (outcome.message or "")
        return Skipped(f"torch has none: {outcome}") if lacks else outcome

    # --- memory and layouts ------------------------------------------------------------------------------------------

    @command("host")
    def host(self) -> object:
        return "host"

    @command("buffer")
    def buffer(self, device: object, nbytes: int, kind: str = "device") -> Held:
        strided.affordable("uint8", [nbytes])
        memory = torch.zeros(nbytes, dtype=torch.uint8)
        return Held(memory, memory)

    @command("buffer.view")
    def view(self, buffer: Held, first: int, nbytes: int) -> Held:
        part = buffer.memory[first : first + nbytes]
        return Held(part, part)

    @command("submit_fill")
    def submit_fill(self, buffer: Held, byte: int) -> None:
        buffer.memory.fill_(byte)

    @command("layout")
    def layout(self, shape: list[int], strides: list[int], offset: int = 0) -> Strides:
        found = strided.layout(shape, strides, offset)
        if min(found.strides, default=0) < 0:
            raise NotImplementedError("negative strides")
        return found

    @command("layout.contiguous")
    def contiguous(self, shape: list[int]) -> Strides:
        return strided.contiguous(shape)

    # --- arrays ------------------------------------------------------------------------------------------------------

    @command("array")
    def array(self, dtype: str, layout: Strides, buffer: Held) -> Held:
        typed = buffer.memory
        width = _DTYPES[dtype].itemsize
        if typed.storage_offset() % width or typed.numel() % width:
            raise NotImplementedError("bytes viewed as another dtype whose width divides neither place nor length")
        found = typed.view(_DTYPES[dtype])
        at = found.storage_offset() + layout.offset
        return Held(found.as_strided(layout.shape, layout.strides, at), buffer.memory)

    @command("empty")
    def empty(self, device: object, dtype: str, shape: list[int], kind: str = "device") -> Held:
        return _empty(dtype, shape)

    @command("host_array")
    def host_array(self, dtype: str, shape: list[int]) -> Held:
        return _empty(dtype, shape)

    @command("from_values")
    def from_values(self, dtype: str, shape: list[int], values: list[Any]) -> Held:
        return _fresh(torch.tensor(values, dtype=_DTYPES[dtype]).reshape(shape))

    @command("array.move")
    def move(self, array: Held, move: dict[str, Any]) -> Held | None:
        try:
            return Held(_moved(array.array, move), array.memory)
        except RuntimeError as error:
            if "view size is not compatible" in str(error):
                return None
            raise

    @command("array.bitcast")
    def bitcast(self, array: Held, dtype: str) -> Held:
        if _DTYPES[dtype].itemsize != array.array.itemsize:
            raise NotImplementedError("bitcasts that append or remove an axis: it divides the last one instead")
        return Held(array.array.view(_DTYPES[dtype]), array.memory)

    @command("array.get")
    def get(self, array: Held, index: list[int]) -> Any:
        found = array.array[tuple(index)]
        return strided.element(_bits(found), found.shape)

    @command("array.set")
    def set(self, array: Held, index: list[int], value: Any) -> None:
        array.array[tuple(index)] = value

    @command("array.to_values")
    def to_values(self, array: Held) -> Any:
        return _bits(array.array)

    @command("array.copy")
    def copy(self, array: Held) -> Held:
        return _fresh(array.array.clone(memory_format=torch.contiguous_format))

    @command("transfer")
    def transfer(self, src: Held, dst: Held) -> None:
        dst.array.copy_(src.array)

    # --- kernels -----------------------------------------------------------------------------------------------------

    @command("kernel")
    def kernel(self, name: str, dst: Held, sources: list[Held], **parameters: Any) -> str:
        _computed(name, dst.array, [source.array for source in sources], **parameters)
        return "DONE"


def _empty(dtype: str, shape: list[int]) -> Held:
    strided.affordable(dtype, shape)
    return _fresh(torch.empty(shape, dtype=_DTYPES[dtype]))


def _fresh(array: Any) -> Held:
    return Held(array, array.reshape(-1).view(torch.uint8) if array.numel() else torch.zeros(0, dtype=torch.uint8))


def _bits(array: Any) -> dict[str, Any]:
    dtype = _NAMES[array.dtype]
    flat = array.detach().clone(memory_format=torch.contiguous_format).reshape(-1)  # numpy() marks what it shows
    pairs = torch.view_as_real(flat.resolve_conj()) if array.is_complex() else flat
    words = pairs.view(_WORDS[pairs.itemsize]).numpy()
    return strided.bits_of(words.view(np.complex64 if dtype == "complex64" else np.complex128) if array.is_complex()
                           else words, dtype)  # fmt: skip


def _moved(array: Any, move: dict[str, Any]) -> Any:
    match move:
        case {"reshape": shape}:
            return array.view(shape)
        case {"broadcast": shape}:
            return array.expand(shape)
        case {"permute": axes}:
            return array.permute(axes)
        case {"slice": ranges} if all(step >= 0 for _, _, step in ranges):
            return array[strided.slices(ranges)]
        case {"window": windows} if all(dilation == 1 for _, _, _, dilation in windows):
            return _unfolded(array, windows)
    raise NotImplementedError("reversed slices, windows with dilation")


def _unfolded(array: Any, windows: list[list[int]]) -> Any:
    for axis, size, step, _ in windows:
        try:
            array = array.unfold(axis, size, step)
        except IndexError as error:
            raise IndexError(f"window: {error}".replace("Dimension", "axis")) from error
    return array


def _computed(name: str, dst: Any, sources: list[Any], **parameters: Any) -> None:
    if len(sources) != ARITIES.get(KERNELS[name].family):
        raise NotImplementedError("another number of operands: functions have signatures")
    if name == "recip" and not sources[0].is_floating_point():
        raise NotImplementedError("integer reciprocals")
    if name in _UNARY or name in _BINARY:
        (_UNARY.get(name) or _BINARY[name])(*sources, out=dst)
    elif name == "idiv":
        torch.div(*sources, rounding_mode="trunc", out=dst)
    elif name in _REDUCTIONS and parameters["axes"]:
        _REDUCTIONS[name](sources[0], dim=tuple(parameters["axes"]), out=dst)
    elif name in ("argmax", "argmin", "prod") and len(parameters["axes"]) == 1:
        getattr(torch, name)(sources[0], dim=parameters["axes"][0], out=dst)
    elif name in _ALONG:
        _ALONG[name](sources[0], dim=parameters["axis"], out=dst)
    elif name in ("copy", "cast"):
        dst.copy_(sources[0])
    elif name == "where":
        torch.where(*sources, out=dst)
    elif name == "fill":
        dst.fill_(parameters["value"])
    else:
        raise NotImplementedError(f"{name} into out")


def target() -> Torch:
    """PyTorch, ready to be asked."""
    torch.set_num_threads(1)
    return Torch()
