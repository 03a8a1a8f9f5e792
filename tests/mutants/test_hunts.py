"""A slice of the hunt for planted defects; `counterfoil mutants` hunts all of them from three seeds."""

from pathlib import Path
from typing import Final

from counterfoil_oracles.mutants.campaign import SEEDS, canary, hunt_all
from counterfoil_oracles.mutants.catalogue import DEFECTS
from counterfoil_oracles.mutants.planting import Ground

SLICE: Final = (
    "overlap/none", "distinctness/single-axes", "refusal-claims/halfway", "exception-claims/work", "loss/failed-work",
    "neighbours/part", "death/claims", "reference/neighbours",
)  # fmt: skip
STEPS: Final = 12_000


def test_the_machine_finds_a_slice_of_the_defects_and_nothing_without_them(tmp_path: Path) -> None:
    """Eight defects of eight groups are each found, from one seed, where the halves without them agree as long."""
    chosen = [defect for defect in DEFECTS if defect.id in SLICE]
    seeds = SEEDS[:1]
    ground = Ground(tmp_path)
    results = list(hunt_all(ground, chosen, seeds, STEPS))
    assert len(results) == len(SLICE)
    assert [result for result in results if not result.found] == []
    assert [song for song in canary(ground, results, seeds) if not song.clean] == []
