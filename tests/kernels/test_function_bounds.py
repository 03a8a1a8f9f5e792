"""Functions where the C library is known to stray furthest, against the reference's exact intervals."""

from __future__ import annotations

import struct

import counterfoil
import counterfoil_reference as reference
from counterfoil_reference import intervals

WORST = "3fcd864d9a518b4a"
"""A binary64 at which a C library's tanh has erred by 2.09 units in the last place."""


def test_tanh_of_float64_stays_within_two_units_in_the_last_place() -> None:
    """N2: around the worst argument known, every result of the fast half is one the reference accepts."""
    middle = int(WORST, 16)
    xs = [struct.unpack(">d", (middle + step).to_bytes(8, "big"))[0] for step in range(-200, 201)]
    shape = (len(xs),)
    x, y = reference.from_values(reference.float64, shape, xs), reference.host_array(reference.float64, shape)
    with intervals.watching() as log:
        assert reference.kernels.tanh(y, x) is reference.Answer.DONE
    (_, accepted), *_ = log
    ours = counterfoil.host_array(counterfoil.float64, shape)
    counterfoil.kernels.tanh(ours, counterfoil.from_values(counterfoil.float64, shape, xs))
    codes = [struct.unpack(">Q", struct.pack(">d", value))[0] for value in ours.to_values()]
    assert all(found.accepts(reference.float64, code) for found, code in zip(accepted, codes, strict=True))
