"""Registers, shared memory, stack and spills of the CUDA kernels: ``python tools/cuda_resources.py --check``.

Representative instances of every kernel of ``fast/cuda``, and the kernels that contexts emit for a few whole steps of
training, are compiled by NVRTC, as a user's machine compiles them, for each architecture; no driver and no GPU is
needed. What ptxas says is compared with ``fast/cuda/resources.json``: a spill fails, and so does a register, a byte of
static shared memory or a byte of stack above what is recorded there.
``--update`` records anew. The compiler is one release of NVRTC, fetched from PyPI into ``build/nvrtc`` where the
interpreter has no such release: other releases allocate registers otherwise.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

import counterfoil.compile as compiling
import counterfoil_spec.tensors as tensor
from counterfoil.compile.cuda import generate
from counterfoil.cuda.compiler import FLAGS
from counterfoil.cuda.kernels import filling, multiplying, normalizing, pointwise, reducing, scanning, transposing
from counterfoil.cuda.kernels.multiplying import TILES, Side
from counterfoil.cuda.sources import Source
from counterfoil_spec.dtypes import Dtype, float64
from counterfoil_spec.kernels import KERNELS, Family
from counterfoil_spec.tensors.tensor import Tensor

ROOT: Final = Path(__file__).resolve().parent.parent
RECORD: Final = ROOT / "fast" / "cuda" / "resources.json"
NVRTC: Final = "nvidia-cuda-nvrtc"
VERSION: Final = "13.5.37"
ARCHITECTURES: Final = ("sm_80", "sm_90", "sm_100")

_ENTRY: Final = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)'.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
_SHARED: Final = re.compile(r"(\d+) bytes smem")


class Use(NamedTuple):
    """What a kernel takes: registers of a thread, bytes of static shared memory, bytes of stack, bytes spilled."""

    registers: int
    shared: int
    stack: int
    spilled: int


Uses = dict[str, dict[str, Use]]
"""By kernel, then by architecture."""


# --- instances -------------------------------------------------------------------------------------------------------


def instances() -> dict[str, str]:
    """The texts of the instances by name. Those marked ``*`` are compiled in the short form too."""
    named = [*_reductions(), *_lines(), *_products(), *_pointwise(), *_others()]
    return {name: source.text for name, source in named} | dict(_emitted())


def _dtype(name: str) -> Dtype:
    return Dtype.of_name(name)


def _reductions() -> Iterator[tuple[str, Source]]:
    for name in ("float32", "float64", "float16", "int64", "int4", "complex128"):
        yield f"sum {name}", reducing.source("sum", _dtype(name), 1, 1)
    yield "sum float32 neighbours *", reducing.source("sum", _dtype("float32"), 1, 1, near=True)
    yield "sum bfloat16 neighbours", reducing.source("sum", _dtype("bfloat16"), 1, 1, near=True)
    yield "sum int8 neighbours", reducing.source("sum", _dtype("int8"), 1, 1, near=True)
    yield "prod float8_e4m3fn two axes", reducing.source("prod", _dtype("float8_e4m3fn"), 2, 2)
    yield "mean complex64 any axes wide", reducing.source("mean", _dtype("complex64"), 32, 32, wide=True)
    for name in ("float32", "uint64", "bit"):
        yield f"max {name}", reducing.source("max", _dtype(name), 1, 1)
    yield "min float8_e5m2 neighbours", reducing.source("min", _dtype("float8_e5m2"), 1, 1, near=True)
    yield "argmax float32", reducing.source("argmax", _dtype("float32"), 1, 1)
    yield "argmin float64 any axes wide", reducing.source("argmin", _dtype("float64"), 32, 32, wide=True)
    yield "argmax int8 neighbours", reducing.source("argmax", _dtype("int8"), 1, 1, near=True)


def _lines() -> Iterator[tuple[str, Source]]:
    for name in ("float32", "float64", "int4", "complex128"):
        yield f"cumsum {name}", scanning.source(_dtype(name), 1)
    yield "cumsum bfloat16 any axes wide", scanning.source(_dtype("bfloat16"), 32, wide=True)
    yield "softmax float32 held *", normalizing.source(_dtype("float32"), 1, held=True)
    for name in ("float32", "float64", "float16", "float4_e2m1fn"):
        yield f"softmax {name}", normalizing.source(_dtype(name), 1)
    yield "softmax float64 any axes wide", normalizing.source(_dtype("float64"), 32, wide=True, held=True)
    for nbytes in (1, 2, 4, 8, 16):
        yield f"transpose {nbytes} bytes", transposing.source(nbytes, 1)
    yield "transpose 4 bytes any axes wide", transposing.source(4, 32, wide=True)


def _products() -> Iterator[tuple[str, Source]]:
    rows, columns, loose = Side(True, True), Side(False, True), Side(True, False)
    for name in ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "int32", "int64", "int8"):
        dtype = _dtype(name)
        for tile in TILES[8 if dtype.bits == 64 else 4]:
            yield f"matmul {name} {tile.m}", multiplying.instance(dtype, tile, rows, columns, 1)
    large = TILES[4][0]
    for label, a, b in (("tn", columns, columns), ("nt", rows, rows), ("tt", columns, rows), ("loose", loose, loose)):
        yield f"matmul float32 128 {label}", multiplying.instance(_dtype("float32"), large, a, b, 1)
    for tile in TILES[4]:
        yield f"matmul int4 {tile.m} loose", multiplying.instance(_dtype("int4"), tile, loose, loose, 1)
    small, split = TILES[4][-1], ["CF_SPLIT"]
    yield "matmul float32 32 split *", multiplying.instance(_dtype("float32"), small, rows, columns, 1, split)
    yield (
        "matmul float64 32 any batch",
        multiplying.instance(_dtype("float64"), TILES[8][-1], rows, rows, 32, ["CF_WIDE"]),
    )


def _pointwise() -> Iterator[tuple[str, Source]]:
    for name, row in KERNELS.items():
        if not row.family.pointwise or row.family in (Family.FILL, Family.IOTA, Family.COPY, Family.MAP):
            continue
        for dtype in (_dtype("float32"), _dtype("float64")):
            dtypes = _row_dtypes(name, dtype if dtype in row.domain else _dtype("int32"))
            way = (("CF_RANK", "2"),)
            yield f"{name} {dtypes[-1].name}", pointwise.source(pointwise.kernel(row, dtypes), way)
    add, half, nibble = KERNELS["add"], _dtype("float16"), _dtype("int4")
    yield "add float16 vectors *", pointwise.source(pointwise.kernel(add, (half,) * 3), (("CF_LANES", "8"),))
    fma, single = KERNELS["fma"], _dtype("float32")
    yield "fma float32 vectors", pointwise.source(pointwise.kernel(fma, (single,) * 4), (("CF_LANES", "4"),))
    widened = pointwise.kernel(KERNELS["cast"], (_dtype("float64"), _dtype("float8_e4m3fn")))
    yield "cast float8_e4m3fn float64 vectors", pointwise.source(widened, (("CF_LANES", "2"),))
    whole = pointwise.kernel(add, (_dtype("complex128"),) * 3)
    yield "add complex128 vectors", pointwise.source(whole, (("CF_LANES", "1"), ("CF_ALIKE", "2")))
    rows = (("CF_LANES", "4"), ("CF_ALIKE", "2"), ("CF_RANK", "2"))
    yield "add float32 rows", pointwise.source(pointwise.kernel(add, (_dtype("float32"),) * 3), rows)
    yield "add int4 bytes", pointwise.source(pointwise.kernel(add, (nibble,) * 3), (("CF_PARTS", "1"),))
    yield (
        "add complex128 any axes wide",
        pointwise.source(pointwise.kernel(add, (_dtype("complex128"),) * 3), (("CF_RANK", "32"), ("CF_WIDE", "1"))),
    )


def _row_dtypes(name: str, dtype: Dtype) -> tuple[Dtype, ...]:
    """The destination's dtype and the sources' of a row for a dtype of its domain."""
    row = KERNELS[name]
    if row.family is Family.CAST:
        return _dtype("float8_e4m3fn"), dtype
    conditions = (_dtype("bool"),) if row.condition else ()
    count = {Family.UNARY: 1, Family.FMA: 3}.get(row.family, 2)
    return (row.result or dtype, *conditions, *(dtype,) * count)


def _others() -> Iterator[tuple[str, Source]]:
    for bits in ("uint8", "uint32", "complex128", "bit"):
        dtype = _dtype(bits)
        moved = pointwise.Expression("CF_X(0)", (dtype, dtype))
        yield f"copy {bits}", pointwise.source(moved, (("CF_RANK", "2"),))
    yield "iota float32", filling.counting(_dtype("float32"), 1, False)


# --- what contexts emit ----------------------------------------------------------------------------------------------


def _emitted() -> Iterator[tuple[str, str]]:
    """By name, the kernels of a step of training: gradients, and a descent with momentum."""
    for loss in (_perceptron, _convolution, _attention, _map):
        descent = tensor.sequence(tensor.grad_update(found := loss()), tensor.sgd_update(found, lr=0.1, momentum=0.9))
        plan = compiling.plan(descent.code, compiling.NOTHING_DECIDED, "step")
        yield f"emitted {loss.__name__[1:]}", generate([plan.lowered], plan).text


def _perceptron() -> Tensor:
    """Large products, sums over batches, bias rows, a cross entropy."""
    x, y = tensor.data("x", (256, 784)), tensor.data("y", (256, 10))
    hidden = tensor.relu(x @ tensor.param("w", (784, 512)) + tensor.param("b", (512,)))
    return tensor.cross_entropy(hidden @ tensor.param("v", (512, 10)), y)


def _convolution() -> Tensor:
    """Products over several loops, a pool, gathered gradients."""
    images, labels = tensor.data("images", (32, 28, 28, 1)), tensor.data("labels", (32, 10))
    maps = tensor.relu(tensor.conv2d(images, tensor.param("k", (3, 3, 1, 16)), padding=1))
    weights = tensor.param("w", (14, 14, 16, 10))
    found = tensor.einsum("b y x c, y x c o -> b o", tensor.max_pool(maps, (2, 2)), weights)
    return tensor.cross_entropy(found, labels)


def _attention() -> Tensor:
    """Products in batches, and a softmax between them."""
    queries, keys, values = (tensor.param(label, (8, 128, 64)) for label in ("q", "k", "v"))
    found = tensor.attention(queries, keys, values, tensor.causal_mask(128))
    return tensor.mean(found * found)


def _map() -> Tensor:
    """A chain of maps of float64 over many elements, and one sum of them all."""
    x, w = tensor.data("x", (1 << 20,), dtype=float64), tensor.param("w", (1 << 20,), dtype=float64)
    return tensor.mean(tensor.tanh(x * w + x) * w)


# --- the compiler ----------------------------------------------------------------------------------------------------


def library() -> ctypes.CDLL:
    """NVRTC of the release recorded above: the interpreter's, or one fetched into ``build/nvrtc``."""
    try:
        there = metadata.distribution(NVRTC)
        found = [Path(str(file.locate())) for file in there.files or () if there.version == VERSION]
    except metadata.PackageNotFoundError:
        found = []
    kept = ROOT / "build" / "nvrtc" / VERSION
    if not found and not kept.is_dir():
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps"]
        subprocess.run([*pip, "--target", str(kept), f"{NVRTC}=={VERSION}"], check=True)
    files = found or list(kept.rglob("*"))
    (builtins,) = [file for file in files if re.fullmatch(r"libnvrtc-builtins\.so\.[\d.]+", file.name)]
    (compiler,) = [file for file in files if re.fullmatch(r"libnvrtc\.so\.\d+", file.name)]
    ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(compiler))


def said(nvrtc: ctypes.CDLL, text: str, arch: str) -> str:
    """What ptxas says of a text for an architecture; raises ValueError where it does not compile."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = [option.encode() for option in (f"--gpu-architecture={arch}", *FLAGS, "--ptxas-options=-v")]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    words = log.value.decode(errors="replace")
    if failed:
        raise ValueError(f"for {arch}: {words}")
    return words


def uses_of(words: str) -> dict[str, Use]:
    """By kernel, what ptxas said."""
    found = {}
    for entry in _ENTRY.finditer(words):
        shared = _SHARED.search(entry["rest"])
        spilled = int(entry["stores"]) + int(entry["loads"])
        use = Use(int(entry["registers"]), int(shared[1]) if shared else 0, int(entry["stack"]), spilled)
        found[entry["kernel"]] = use
    return found


def measured(texts: dict[str, str], architectures: tuple[str, ...]) -> dict[str, Uses]:
    """What every kernel of every instance takes on every architecture."""
    nvrtc = library()
    asked = [(name, arch) for name in texts for arch in architectures]
    with ThreadPoolExecutor() as pool:
        words = pool.map(lambda each: uses_of(said(nvrtc, texts[each[0]], each[1])), asked)
        found: dict[str, Uses] = {name: {} for name in texts}
        for (name, arch), uses in zip(asked, words, strict=True):
            for kernel, use in uses.items():
                found[name].setdefault(kernel, {})[arch] = use
    return found


# --- comparing -------------------------------------------------------------------------------------------------------


def faults(found: dict[str, Uses], record: dict[str, dict[str, dict[str, list[int]]]]) -> Iterator[str]:
    """Sentences: every spill, every kernel that is not recorded, and everything above what is."""
    for name, uses in found.items():
        for kernel, by_arch in uses.items():
            for arch, use in by_arch.items():
                where = f"{name}: {kernel} for {arch}"
                if use.spilled:
                    yield f"{where} spills {use.spilled} bytes"
                ceiling = record.get(name, {}).get(kernel, {}).get(arch)
                if ceiling is None:
                    yield f"{where} is not recorded"
                    continue
                for what, now, most in zip(Use._fields, use, ceiling, strict=False):
                    if now > most:
                        yield f"{where} takes {now} {what}, more than {most}"


def shown(found: dict[str, Uses]) -> str:
    """The record: of each instance, kernel and architecture registers, static shared memory and stack."""
    lines = []
    for name, uses in found.items():
        kernels = [
            f'    "{kernel}": ' + json.dumps({arch: list(use[:3]) for arch, use in by_arch.items()})
            for kernel, by_arch in uses.items()
        ]
        lines.append(f'  "{name}": {{\n' + ",\n".join(kernels) + "\n  }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str] | None = None) -> int:
    """0 where nothing is above its ceiling; ``--update`` records what is, and fails on spills alone."""
    parser = argparse.ArgumentParser(description="resources of the CUDA kernels against their ceilings")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="compare with the record")
    mode.add_argument("--update", action="store_true", help="rewrite the record")
    parser.add_argument("--short", action="store_true", help="a few instances for one architecture")
    given = parser.parse_args(arguments)
    texts = instances()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if given.short and given.check:
        found = measured({name: text for name, text in texts.items() if name.endswith("*")}, ARCHITECTURES[1:2])
    else:
        found = measured(texts, ARCHITECTURES)
        if given.update:
            RECORD.write_text(shown(found))
            record = json.loads(RECORD.read_text())
    wrong = list(faults(found, record))
    if not given.short:
        wrong += [f"{name} is recorded, but no instance any more" for name in record.keys() - found.keys()]
    print(*wrong or [f"{sum(map(len, found.values()))} kernels within their ceilings"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
