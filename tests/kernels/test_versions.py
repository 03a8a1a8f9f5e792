"""Vector code gives the bits of scalar code: the core for this CPU against the same core without vectors."""

from __future__ import annotations

import numpy as np
import pytest

from counterfoil_oracles import cores
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.kernels import ARITIES, KERNELS, Family

POINTWISE = {Family.COPY, Family.UNARY, Family.BINARY, Family.COMPARE, Family.FMA}
COUNT = 5000


@pytest.fixture(scope="module")
def versions() -> list[cores.Core]:
    """The installed core, and the one without vectors."""
    return [cores.installed(), *cores.versions(["scalar"])]


def ordinary(dtype: Dtype, source: np.random.Generator) -> np.ndarray:
    """Bytes of elements: arbitrary bits, for wide floats as many values of ordinary size."""
    arbitrary = source.integers(0, 256, COUNT * 16, np.uint8)
    if dtype.kind in (Kind.FLOAT, Kind.COMPLEX) and dtype.float_format is not None and dtype.float_format.bits >= 32:
        float_type = np.float32 if dtype.float_format.bits == 32 else np.float64
        values = (source.standard_normal(COUNT) * 4).astype(float_type).view(np.uint8)
        arbitrary[: values.size] = values
    return arbitrary


def settled(memory: np.ndarray, dtype: Dtype) -> np.ndarray:
    """Bytes of elements with all NaNs of wide floats alike: arithmetic leaves their sign and payload free (N1)."""
    if dtype.float_format is None or dtype.float_format.bits < 32:
        return memory
    parts = memory.view(np.float32 if dtype.float_format.bits == 32 else np.float64).copy()
    parts[np.isnan(parts)] = np.nan
    return parts.view(np.uint8)


@pytest.mark.parametrize("name", [name for name, row in KERNELS.items() if row.family in POINTWISE])
def test_pointwise_kernels(versions: list[cores.Core], name: str) -> None:
    """Every pointwise kernel and dtype, on thousands of elements."""
    row = KERNELS[name]
    for dtype in Dtype.all:
        if dtype not in row.domain:
            continue
        generator = np.random.default_rng(dtype.code)
        sources = [ordinary(dtype, generator) for _ in range(ARITIES[row.family])]
        results = [np.zeros(COUNT * 16, np.uint8) for _ in versions]
        for core, result in zip(versions, results, strict=True):
            arrays = [core.array(each, memory, [COUNT]) for each, memory in zip([dtype] * 3, sources, strict=False)]
            dst = core.array(row.result or dtype, result, [COUNT])
            assert getattr(core.lib, f"cf_{name}")(dst, *arrays) == 0
        assert np.array_equal(*(settled(result, row.result or dtype) for result in results)), dtype


@pytest.mark.parametrize("source", Dtype.all, ids=str)
def test_casts(versions: list[cores.Core], source: Dtype) -> None:
    """Every pair of dtypes."""
    memory = ordinary(source, np.random.default_rng(source.code))
    for target in Dtype.all:
        results = [np.zeros(COUNT * 16, np.uint8) for _ in versions]
        for core, result in zip(versions, results, strict=True):
            answer = core.lib.cf_cast(core.array(target, result, [COUNT]), core.array(source, memory, [COUNT]))
            assert answer == 0
        assert np.array_equal(*results), target
