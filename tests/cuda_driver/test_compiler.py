"""The stand-in compiler: what it takes, what it refuses, and that its messages point at the program's lines."""

import subprocess
from pathlib import Path

import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import COMPILER, Device, cubin

EMPTY = 'extern "C" __global__ void nothing() {}\n'


def compile_with(tmp_path: Path, text: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """Runs the compiler over a source."""
    source = tmp_path / "source.cu"
    source.write_text(text)
    command = [COMPILER, *options, "-o", str(tmp_path / "made.cubin"), str(source)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_version_looks_like_nvccs() -> None:
    """Programs that ask nvcc for its version find a release, and an identity that changes with the shim."""
    printed = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout
    assert ("release 13.0" in printed, "emulated-" in printed) == (True, True)


@pytest.mark.parametrize(
    "options",
    [
        ["--cubin", "-arch=sm_80", "-std=c++17", "-O3", "--fmad=false"],
        ["-cubin", "-arch", "sm_100", "--std", "c++17", "-Xptxas", "-v", "-lineinfo"],
        ["--cubin", "--gpu-architecture=sm_90a", "-maxrregcount", "64", "-I", "/tmp"],
    ],
)
def test_nvccs_options_are_taken(tmp_path: Path, options: list[str]) -> None:
    """Options that are about a real device change nothing."""
    assert compile_with(tmp_path, EMPTY, *options).returncode == 0


@pytest.mark.parametrize("option", ["--ptx", "-fatbin", "-c"])
def test_other_outputs_are_refused(tmp_path: Path, option: str) -> None:
    """It makes cubins and nothing else."""
    assert compile_with(tmp_path, EMPTY, option).returncode == 1


def test_messages_have_the_programs_lines(tmp_path: Path) -> None:
    """An error is told at the line of the source, whatever was added to it."""
    kernel = 'extern "C" __global__ void k() {\n  __shared__ int s[2];\n  oops;\n}\n'
    text = EMPTY + "__device__ int a; __constant__ int b[2];\n" + kernel
    result = compile_with(tmp_path, text, "--cubin")
    assert (result.returncode, "source.cu:5" in result.stderr) == (1, True)


def test_architecture_and_definitions_are_seen(tmp_path: Path) -> None:
    """__CUDA_ARCH__ is that of the option, -D defines, and EMUCUDA tells that this is no device."""
    condition = "__CUDA_ARCH__ != 800 || WIDTH != 4 || !defined(EMUCUDA) || !defined(__CUDACC__)"
    text = f"#if {condition}\n#error no\n#endif\n" + EMPTY
    assert compile_with(tmp_path, text, "--cubin", "-arch=sm_80", "-DWIDTH=4").returncode == 0


def test_headers_of_the_program_are_found(tmp_path: Path) -> None:
    """Quoted includes are looked for beside the source and in -I; standard ones are there already."""
    (tmp_path / "parts").mkdir()
    part = "#pragma once\n#include <cstdint>\n__device__ int32_t part() { return 3; }\n"
    (tmp_path / "parts" / "part.cuh").write_text(part)
    text = '#include <stdint.h>\n#include "part.cuh"\nextern "C" __global__ void k(int *a) { *a = part(); }\n'
    assert compile_with(tmp_path, text, "--cubin", "-I", str(tmp_path / "parts")).returncode == 0


@pytest.mark.parametrize(
    "text",
    [
        'extern "C" {\n__global__ void k(int *a) { *a = 1; }\n}',
        "namespace n { __global__ void k(int *a) { *a = 1; } }",
        'extern "C" __launch_bounds__(64, 2) __global__ void k(int *a) { *a = 1; }',
        "#define BOUND 32\n__global__ void __launch_bounds__(BOUND * 2) k(const int *__restrict__ a, int (*b)[4]) {}",
        "static __global__ void k(int *a) { *a = 1; }",
        "template <int n, class T> __global__ void k(T *a) { __shared__ T s[n][n + 1], t; s[0][0] = t; }\n"
        "template __global__ void k<4, float>(float *);",
        "__global__ void k(int *a);\n__global__ void k(int *a) { *a = 1; }",
        "__global__ void k(float *a) { extern __shared__ __align__(16) float4 s[]; s[0].x = 1; *a = s[0].x; }",
        "extern __shared__ unsigned char s[];\n__global__ void k(float *a) { *a = reinterpret_cast<float *>(s)[0]; }",
        "__device__ __constant__ float t[2] = {1, 2};\n__device__ __forceinline__ float f(int i) { return t[i]; }\n"
        "__global__ void k(float *a) { *a = f(1); }",
        "struct V { float x; __device__ float operator[](int) const { return x; } };\n"
        "__global__ void k(V v, float *a) { *a = v[0]; }",
        "__global__ void k(int *a) { __shared__ __align__(16) union { int i[4]; float f[4]; } u; *a = u.i[0]; }",
        "__global__ void k(int *a) {\n#pragma unroll 4\n  for (int i = 0; i < 4; ++i) a[i] = i;\n}",
    ],
)
def test_forms_of_kernels(device: Device, text: str) -> None:
    """The forms in which kernels, shared memory and variables are written are all known."""
    cuda.module_from_buffer(cubin(text))


def test_parameters_are_few(tmp_path: Path) -> None:
    """4096 bytes of them, as compilers before CUDA 12.1 have it; one more is refused."""
    text = "struct S {{ char bytes[{}]; }};\n__global__ void k(S s) {{}}\n"
    assert compile_with(tmp_path, text.format(4096), "--cubin").returncode == 0
    refused = compile_with(tmp_path, text.format(4097), "--cubin")
    assert refused.returncode == 1 and "at most 4096 bytes of parameters" in refused.stderr
