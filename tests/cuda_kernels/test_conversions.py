"""All 441 conversions of ``numbers.cuh`` on the device: the bits of the host's, of NaN too (N1)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.kernels.test_casts import telling_codes

import counterfoil as cf
from counterfoil import inspection
from counterfoil._native import ffi, lib
from counterfoil.cuda import cubins, launch, sources
from counterfoil.cuda.device import pointer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import Access


def width(dtype: Dtype) -> int:
    """Bytes of a loose element."""
    return max(dtype.bits // 8, 1)


def conversions(source: Dtype) -> str:
    """CUDA C with a kernel for each target that converts loose elements."""
    texts = ['#include "layout.cuh"']
    for target in Dtype.all:
        texts.append(
            f"""extern "C" __global__ void convert_{target.code}(const void *in, void *out, cf_i64 count) {{
                cf_u64 index = cf_first_index();
                if (index >= count) return;
                cf_code<{source.code}> code = ((const cf_code<{source.code}> *)in)[index];
                ((cf_code<{target.code}> *)out)[index] = cf_convert<{source.code}, {target.code}>(code);
            }}"""
        )
    return sources.generated("\n".join(texts))


@pytest.mark.parametrize("source", Dtype.all, ids=str)
def test_every_pair(source: Dtype) -> None:
    """Each telling code of a dtype, converted to each of the 21, is what the host makes of it."""
    codes = telling_codes(source)
    loose = b"".join(code.to_bytes(width(source), "little") for code in codes)
    device, text = cf.cuda(0), conversions(source)
    given = device.buffer(len(loose))
    inspection.poke(given, loose)
    for target in Dtype.all:
        function = cubins.function(device, text, f"convert_{target.code}")
        right = np.zeros(len(codes) * width(target), np.uint8)
        made = device.buffer(right.size)
        arguments = launch.packed("QQq", pointer(given), pointer(made), len(codes))
        grid = launch.blocks(len(codes))
        device.submit(partial(function.launch, grid, (launch.THREADS, 1, 1), arguments), [given], [made])
        made.wait(Access.READ)
        found = np.frombuffer(inspection.memory_bytes(made), np.uint8)
        at = ffi.from_buffer(loose), ffi.cast("void *", right.ctypes.data)
        lib.cf_convert(source.code, target.code, *at, len(codes))
        wrong = np.flatnonzero((found != right).reshape(len(codes), -1).any(axis=1))
        assert wrong.size == 0, f"{source} {codes[wrong[0]]:#x} to {target}"
