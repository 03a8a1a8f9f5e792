"""Defects of the kernels of CUDA devices: which elements are computed, and from what."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_POINTWISE: Final = "fast/cuda/pointwise.cu"
_REDUCTION: Final = "fast/cuda/reduction.cuh"

CUDA_KERNELS: Final = (
    Defect(
        "cuda-kernels/last-index",
        _POINTWISE,
        "    for (cf_u64 index = cf_first_index(); index < all.size; index += cf_index_step()) {\n"
        "        cf_places<CF_ALL> places = cf_places_of(all, (cf_number)index);\n",
        "    for (cf_u64 index = cf_first_index(); index + 1 < all.size; index += cf_index_step()) {\n"
        "        cf_places<CF_ALL> places = cf_places_of(all, (cf_number)index);\n",
        "the last element of a strided call is not computed",
        "eager",
    ),
    Defect(
        "cuda-kernels/vector-tail",
        _POINTWISE,
        "    cf_u64 index = whole * CF_LANES + cf_first_index();\n",
        "    cf_u64 index = whole * CF_LANES + 1 + cf_first_index();\n",
        "the first element past the last whole vector is not computed",
        "eager",
    ),
    Defect(
        "cuda-kernels/neighbours",
        _POINTWISE,
        "        bool whole = first >= 0 && first + count <= size;\n",
        "        bool whole = true;\n",
        "neighbours in the first and last byte of a sub-byte destination are lost",
        "eager",
    ),
    Defect(
        "cuda-kernels/outermost-stride",
        "fast/cuda/layout.cuh",
        "(cf_step)index * all.stride[k][0]);\n",
        "(cf_step)index * all.stride[k][all.rank - 1]);\n",
        "the outermost axis is walked with the innermost stride",
        "eager",
    ),
    Defect(
        "cuda-kernels/barrier",
        _REDUCTION,
        "    if (lane == 0) row[warp] = part;\n    __syncthreads();\n",
        "    if (lane == 0) row[warp] = part;\n",
        "a warp joins the parts of others before they are there",
        "eager",
    ),
    Defect(
        "cuda-kernels/last-terms",
        _REDUCTION,
        "    for (; at < end; at += step) parts[0] = cf_join(parts[0], cf_term(call, start, at));\n",
        "    for (; at + 1 < end; at += step) parts[0] = cf_join(parts[0], cf_term(call, start, at));\n",
        "the last term of a reduction is left out",
        "eager",
    ),
    Defect(
        "cuda-kernels/means",
        "fast/cuda/reduce.cu",
        "    part = cf_over(part, terms);\n",
        "    part = cf_over(part, terms > 1 ? terms - 1 : terms);\n",
        "a mean divides by one less than the number of terms",
        "eager",
    ),
    Defect(
        "cuda-kernels/turned-grid",
        "fast/counterfoil/cuda/kernels/transposing.py",
        "function.launch((along * across, min(planes",
        "function.launch((max(along * across - 1, 1), min(planes",
        "the last tile of a turned copy is left out where there are several",
        "eager",
    ),
    Defect(
        "cuda-kernels/product-grid",
        "fast/counterfoil/cuda/kernels/multiplying.py",
        "    grid = (down * across, min(",
        "    grid = (max(down * across - 1, 1), min(",
        "the last tile of a product is left out where there are several",
        "eager",
    ),
)
