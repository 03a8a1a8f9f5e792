"""What benchmarks compare computes the same."""

from __future__ import annotations

import numpy as np
from benchmarks import networks


def test_the_step_by_hand_is_ours() -> None:
    """After three training steps the parameters of the step written in numpy are ours, to float32's rounding."""
    arrays = networks.start()
    ours, theirs = networks.Ours(arrays), networks.ByHand(arrays)
    for _ in range(3):
        ours.step()
        theirs.step()
    for name in ("w1", "b1", "w2", "b2"):
        found = np.asarray(ours.context.to_host(ours.tensors[name].value))
        assert not np.array_equal(found, arrays[name])
        np.testing.assert_allclose(found, theirs.a[name], rtol=1e-4, atol=1e-6)
