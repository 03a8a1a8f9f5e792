"""Every kind of instance compiles for every architecture that is supported, without a driver."""

from __future__ import annotations

import re

import pytest

from counterfoil.cuda import compiler, sources
from counterfoil.cuda.kernels import filling, mapping, pointwise, reducing, scanning
from counterfoil.cuda.sources import Source
from counterfoil.programs import Program
from counterfoil_spec import expressions
from counterfoil_spec.dtypes import Dtype, bit, bool_, complex64, complex128, float32, float64, uint4
from counterfoil_spec.kernels import ARITIES, KERNELS, Kernel

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")

WAYS = {
    "vectors": (("CF_LANES", "1"), ("CF_ALIKE", "0")), "bytes": (("CF_PARTS", "1"), ("CF_ALIKE", "1")),
    "rows": (("CF_LANES", "4"), ("CF_ALIKE", "0"), ("CF_RANK", "4")), "strided": (("CF_RANK", "4"),),
    "wide": (("CF_RANK", "32"), ("CF_WIDE", "1")), "table": (("CF_RANK", "32"), ("CF_WIDE", "1"), ("CF_TABLE", "1")),
}  # fmt: skip

POINTWISE = [row for row in KERNELS.values() if row.family.pointwise and ARITIES.get(row.family)]


@pytest.fixture(autouse=True)
def _nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiler.VARIABLE, raising=False)


def operands(row: Kernel, dtype: Dtype) -> tuple[Dtype, ...]:
    """The dtypes of a call: the destination's, then the sources'."""
    if row.condition:
        return (dtype, bool_, dtype, dtype)
    return (row.result or dtype, *[dtype] * ARITIES[row.family])


def one_for_all(dtype: Dtype) -> str:
    """CUDA C with a kernel for each row that takes a dtype, of the expression that its instance has."""
    texts = ['#include "operations.cuh"']
    for row in POINTWISE:
        if dtype not in row.domain or row.name == "copy":
            continue
        expression = pointwise.kernel(row, operands(row, dtype))
        text = expression.text
        for place, read in enumerate(expression.dtypes[1:]):
            text = text.replace(f"CF_X({place})", f"((const cf_code<{read.code}> *)in)[{place}]")
        texts.append(
            f'extern "C" __global__ void test_{row.name}(const void *in, cf_code<{expression.dtypes[0].code}> *out)'
            f" {{ *out = {text}; }}"
        )
    return sources.generated("\n".join(texts))


@pytest.mark.parametrize("dtype", Dtype.all, ids=str)
def test_every_kernel_compiles(dtype: Dtype) -> None:
    """The expressions of all rows that take a dtype are CUDA C."""
    assert compiler.cubin(one_for_all(dtype), ARCHITECTURES[dtype.code % 3])


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("way", WAYS)
def test_a_way_of_walking_compiles_for_each_architecture(way: str, arch: str) -> None:
    """Vectors, bytes, any layouts with 32 and with 64 bits; of sources of other widths than the destination."""
    cast = pointwise.kernel(KERNELS["cast"], (bit if way == "bytes" else bool_, float32))
    assert compiler.cubin(pointwise.source(cast, WAYS[way]).text, arch)


@pytest.mark.parametrize("dtype", [bit, uint4, float32, complex64, complex128], ids=str)
def test_fill_and_iota_compile(dtype: Dtype) -> None:
    """Bits of any width, and counts of any kind."""
    assert compiler.cubin(pointwise.source(filling.filled(dtype, 1, 2), WAYS["strided"]).text, "sm_90")
    if dtype in KERNELS["iota"].domain:
        assert compiler.cubin(filling.counting(dtype, 4, wide=False).text, "sm_90")


def test_a_program_compiles() -> None:
    """Inputs, constants, casts and kernels of one expression are one kernel."""
    x, y = expressions.Input(0), expressions.Constant(float32, 2.5)
    root = expressions.Cast(bit, expressions.Apply("fma", x, expressions.Apply("exp", x), y))
    program = Program(root, [float32], bit)
    source = pointwise.source(mapping.expression(program, (bit, float32)), WAYS["bytes"])
    assert compiler.cubin(source.text, "sm_100")


def test_a_fault_is_reported_in_the_compilers_words() -> None:
    """CompilerFailed carries NVRTC's log."""
    with pytest.raises(compiler.CompilerFailed, match="undefined_name"):
        compiler.cubin('extern "C" __global__ void f(int *x) { *x = undefined_name; }', "sm_90")


def test_a_device_newer_than_the_compiler_gets_ptx_of_the_newest_before_it() -> None:
    """Which its driver makes code of; an architecture that the compiler knows gets code of its own."""
    text = 'extern "C" __global__ void f(int *x) { *x = 1; }'
    made = compiler.cubin(text, "sm_999")
    assert re.search(rb"\.target sm_1\d\d", made) and made.endswith(b"\0")
    assert compiler.cubin(text, "sm_90").startswith(b"\x7fELF")


def test_a_device_older_than_the_compiler_is_named() -> None:
    """In one sentence that says what there is code for."""
    with pytest.raises(compiler.CompilerFailed, match="and later, not for sm_35"):
        compiler.cubin('extern "C" __global__ void f(int *x) { *x = 1; }', "sm_35")


ROUNDED = re.compile(rb"\b(?:add|sub|mul|mad|fma|div|sqrt|rcp)\.[\w.]*f(?:32|64)\b")
"""Operations of floats in PTX."""

SUM_OF_PRODUCT = "cf_add<CF_FLOAT32>(cf_mul<CF_FLOAT32>(CF_X(0), CF_X(1)), CF_X(2))"


@pytest.mark.parametrize(
    "source",
    [
        reducing.source("mean", float32, 1, 1),
        reducing.source("prod", float64, 1, 1),
        pointwise.source(pointwise.kernel(KERNELS["fdiv"], (float32,) * 3), (("CF_LANES", "4"),)),
        pointwise.source(pointwise.Expression(SUM_OF_PRODUCT, (float32,) * 4), (("CF_LANES", "4"),)),
        scanning.source(float64, 1),
    ],
)
def test_ptx_says_how_operations_of_floats_round(source: Source) -> None:
    """To nearest: the driver, which compiles it for a newer device, contracts and flushes none of them."""
    made = compiler.cubin(source.text, "sm_999")
    found = ROUNDED.findall(made)
    assert found and all(b".rn." in operation for operation in found) and b".ftz" not in made


def test_whole_accesses_stream_where_each_byte_is_touched_once() -> None:
    """Contiguous operands: loads and stores of 16 bytes are evicted first. Rows, which may be read again, are not."""
    add = pointwise.kernel(KERNELS["add"], (float32,) * 3)
    streamed = compiler.cubin(pointwise.source(add, (("CF_LANES", "4"),)).text, "sm_999")
    wide = set(re.findall(rb"\b(?:ld|st)\.global[\w.]*\.v4\.\w+", streamed))
    assert wide == {b"ld.global.cs.v4.u32", b"st.global.cs.v4.u32"}
    kept = compiler.cubin(pointwise.source(add, WAYS["rows"]).text, "sm_999")
    assert b".cs." not in kept and b".v4." in kept
