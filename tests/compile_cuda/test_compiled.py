"""NVRTC takes what is emitted, for every architecture there are cubins for: no device is needed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from cuda.bindings import nvrtc as nvrtc_bindings
from tests.compile.test_networks import attention, convolution, double, perceptron, trained
from tests.compile_cuda.computing import bound, emitted
from tests.programs.building import spec, store

import counterfoil.compile as fast
import counterfoil_spec.tensors as tensor
from counterfoil.compile.cuda import generate
from counterfoil.cuda.compiler import FLAGS, cubin
from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64
from counterfoil_spec.programs.assignments import Code
from counterfoil_spec.programs.operators import ARITY, FLOATS_ONLY

ARCHITECTURES = ["sm_80", "sm_90", "sm_100"]


@pytest.fixture(autouse=True)
def nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVRTC itself, whatever the environment names."""
    monkeypatch.delenv("COUNTERFOIL_CUDA_COMPILER", raising=False)


def digits() -> Code:
    """A perceptron of a real size: tiles, cut sums, columns, packs."""
    x, y = tensor.data("x", (64, 784)), tensor.data("y", (64, 10))
    hidden = tensor.relu(x @ tensor.param("w", (784, 256)) + tensor.param("b", (256,)))
    return trained(tensor.cross_entropy(hidden @ tensor.param("v", (256, 10)), y))


def images() -> Code:
    """Two convolutions, pooled: products over several loops, gathered gradients, short rows."""
    pixels, labels = tensor.data("images", (32, 28, 28, 1)), tensor.data("labels", (32, 10))
    maps = tensor.relu(tensor.conv2d(pixels, tensor.param("k", (3, 3, 1, 16)), padding=1))
    maps = tensor.relu(tensor.conv2d(maps, tensor.param("m", (3, 3, 16, 32)), padding=1))
    pooled = tensor.max_pool(maps, (2, 2))
    weights = tensor.param("w", (14, 14, 32, 10))
    return trained(tensor.cross_entropy(tensor.einsum("b y x c, y x c o -> b o", pooled, weights), labels))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("made", [perceptron, convolution, attention, double, digits])
def test_networks_compile(made: Callable[[], Code], arch: str) -> None:
    """A whole step of training, for each architecture."""
    plan = fast.plan(made(), fast.NOTHING_DECIDED, "r")
    code = cubin(generate([plan.lowered], plan).text, arch)
    assert code[:4] == b"\x7fELF"


def usage(text: str, arch: str) -> str:
    """What the assembler says of each kernel's registers and spills."""
    _, program = nvrtc_bindings.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], [])
    options = [f"--gpu-architecture={arch}".encode(), b"--ptxas-options=-v", *(flag.encode() for flag in FLAGS)]
    (failed,) = nvrtc_bindings.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc_bindings.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc_bindings.nvrtcGetProgramLog(program, log)
    assert not int(failed), log.decode()
    return log.decode()


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("text", ["i k, k j -> i j", "i k, j k -> i j", "k i, k j -> i j"])
def test_the_largest_tiles_stay_in_registers(text: str, dtype: Dtype, arch: str) -> None:
    """Products of 1024 by 1024: nothing spills, and two blocks of each kernel fit on a multiprocessor."""
    nodes = [bound(f"x{place}", (1024, 1024), dtype) for place in range(2)]
    said = usage(emitted(spec(text, bound("t", (1024, 1024), dtype), *nodes)).text, arch)
    assert re.findall(r"(\d+) bytes spill", said) and not any(map(int, re.findall(r"(\d+) bytes spill", said)))
    assert max(map(int, re.findall(r"Used (\d+) registers", said))) <= 128
    assert all(int(size) <= 48 * 1024 for size in re.findall(r"(\d+) bytes smem", said))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("made", [attention, double, digits, images])
def test_networks_do_not_spill(made: Callable[[], Code], arch: str) -> None:
    """No kernel of a step of training keeps anything but arrays of its own outside registers."""
    plan = fast.plan(made(), fast.NOTHING_DECIDED, "r")
    said = usage(generate([plan.lowered], plan).text, arch)
    assert not any(map(int, re.findall(r"(\d+) bytes (?:spill|stack)", said)))


@pytest.mark.parametrize("dtype", [float32, float64, int32, int64])
def test_every_operator_compiles(dtype: Dtype) -> None:
    """Each operator of each dtype, and conversions from the others."""
    operands = [bound(f"x{place}", (40,), each) for place, each in enumerate((float32, float64, int32, int64))]
    names = [name for name in ARITY if dtype.float_format is not None or name not in FLOATS_ONLY]
    body = [
        store(bound(name, (40 + place,), dtype), name, *[bound(f"y{name}{side}", (40 + place,), dtype)
              for side in range(ARITY[name])])
        for place, name in enumerate(names)
    ]  # fmt: skip
    body += [store(bound(f"from {each.label}", (40,), dtype), "identity", each) for each in operands]
    body += [spec("i->", bound("top", (), dtype), bound("z", (40,), dtype), accumulator="max")]
    assert cubin(emitted(*body).text, "sm_90")[:4] == b"\x7fELF"
