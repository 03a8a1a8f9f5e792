"""Exact overlap: two strided views, and the case numpy's documentation names as hard."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

import counterfoil as cf
from benchmarks.measure import Row
from counterfoil._native import lib


def rows() -> list[Row]:
    """Interleaved rows of one matrix, and the hard case with what numpy needs for it said in the note."""
    return [_interleaved(), _hard()]


def _interleaved() -> Row:
    x = np.ones((64, 64), np.int32)
    a = cf.asarray(x)
    even, odd = a[:, 0:64:2], a[:, 1:64:2]
    return Row(
        "overlap: even and odd columns",
        lambda: lib.cf_overlapping(even._c, odd._c),
        {"numpy": lambda: np.shares_memory(x[:, ::2], x[:, 1::2])},
        1.0,
        note="numpy's time includes making its two views",
    )


def _hard() -> Row:
    x = np.zeros(192163377, np.int8)
    first = as_strided(x, strides=(36674, 61119, 85569), shape=(1049, 1049, 1049))
    second = as_strided(x[64023025:], strides=(12223, 12224, 1), shape=(1049, 1049, 1))
    base = cf.asarray(x)
    a = cf.Array(cf.int8, cf.Layout((1049, 1049, 1049), (36674, 61119, 85569)), base.buffer)
    b = cf.Array(cf.int8, cf.Layout((1049, 1049, 1), (12223, 12224, 1), 64023025), base.buffer)
    return Row(
        "overlap: numpy's documented hard case",
        lambda: lib.cf_overlapping(a._c, b._c),
        {"numpy, gives up": lambda: np.may_share_memory(first, second, max_work=200_000)},
        None,
        note="numpy stopped early at max_work=200000 without an answer; its exact answer takes about 10 s",
    )
