"""Programs that nest deeper than Python's stack."""

import itertools
import sys

from tests.programs.building import Buffers, planned, store

from counterfoil_reference.intervals import watching
from counterfoil_reference.programs import execute
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs.nodes import Intent, Node


def test_chains_deeper_than_the_stack() -> None:
    """Operations inlined into one another by the hundred are planned and right; the limit is as it was."""
    limit = sys.getrecursionlimit()
    chain = [Node(f"n{place}", (2,), float32) for place in range(251)]
    chain[0].require(Intent.ON_DEVICE)
    chain[-1].require(Intent.ON_DEVICE)
    plan = planned(*(store(later, "add", earlier, chain[0]) for earlier, later in itertools.pairwise(chain)))
    buffers = Buffers(plan.arguments, values={chain[0]: [1.0, -2.0]})
    with watching() as log:
        execute(plan, buffers, {})
    assert buffers.values[chain[-1]] == [251.0, -502.0]
    assert len(plan.lowered.body) == 1 and len(log) == 1
    assert sys.getrecursionlimit() == limit
