"""A slice of the hunt for planted defects; `counterfoil mutants` hunts all of them from three seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from counterfoil_oracles.mutants.campaign import SEEDS, Search, canary, hunt_all, tells
from counterfoil_oracles.mutants.catalogue import CATALOGUES, CONTEXT_DEFECTS
from counterfoil_oracles.mutants.planting import CHECKOUT, Ground

SLICES: Final = {
    "arrays": (
        "overlap/none", "distinctness/single-axes", "refusal-claims/halfway", "exception-claims/work",
        "loss/failed-work", "neighbours/part", "death/claims", "reference/neighbours",
    ),
    "contexts": ("lineage/read-only-input", "release/tip", "bump/size", "placement/visits"),
}  # fmt: skip
STEPS: Final = {"arrays": 12_000, "contexts": 2_000}

TOLD: Final = ("lineage/read-after-write", "release/fork-parent", "emission/row-stride", "context-reference/fork-pools")
"""Defects planted again under their traces: of each half, and of emitted code."""


@pytest.mark.parametrize(
    ("machine", "slice_"),
    [pytest.param("arrays", SLICES["arrays"], marks=pytest.mark.long), ("contexts", SLICES["contexts"])],
)
def test_the_machine_finds_a_slice_of_the_defects_and_nothing_without_them(
    machine: str, slice_: Sequence[str], tmp_path: Path
) -> None:
    """Defects of several groups are each found, from one seed, where the halves without them agree as long."""
    chosen = [defect for defect in CATALOGUES[machine] if defect.id in slice_]
    ground, search = Ground(tmp_path), Search(machine, SEEDS[:1], STEPS[machine])
    results = list(hunt_all(ground, chosen, search))
    assert len(results) == len(slice_)
    assert [result for result in results if not result.found] == []
    assert [song for song in canary(ground, results, search) if not song.clean] == []


def test_a_trace_tells_its_defect_from_the_halves_as_they_are(tmp_path: Path) -> None:
    """Where the defect is planted, its trace ends otherwise than recorded."""
    ground = Ground(tmp_path)
    for defect in CONTEXT_DEFECTS:
        if defect.id in TOLD:
            trace = CHECKOUT / "tests" / "traces" / "defects" / f"{defect.name}.jsonl"
            assert tells(ground, ground.plant(defect), trace), defect.id
