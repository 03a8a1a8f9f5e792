"""All planted defects."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.bounds import BOUNDS
from counterfoil_oracles.mutants.codecs import CODECS
from counterfoil_oracles.mutants.compaction import COMPACTION
from counterfoil_oracles.mutants.death import DEATH
from counterfoil_oracles.mutants.defect import Defect
from counterfoil_oracles.mutants.distinctness import DISTINCTNESS
from counterfoil_oracles.mutants.kernels import KERNELS
from counterfoil_oracles.mutants.loss import LOSS
from counterfoil_oracles.mutants.neighbours import NEIGHBOURS
from counterfoil_oracles.mutants.order import ORDER
from counterfoil_oracles.mutants.overlap import OVERLAP
from counterfoil_oracles.mutants.raised_claims import RAISED_CLAIMS
from counterfoil_oracles.mutants.reference import REFERENCE
from counterfoil_oracles.mutants.refused_claims import REFUSED_CLAIMS
from counterfoil_oracles.mutants.waits import WAITS

DEFECTS: Final[tuple[Defect, ...]] = (
    *CODECS, *BOUNDS, *OVERLAP, *DISTINCTNESS, *ORDER, *REFUSED_CLAIMS, *RAISED_CLAIMS, *WAITS, *LOSS, *NEIGHBOURS,
    *COMPACTION, *DEATH, *KERNELS, *REFERENCE,
)  # fmt: skip
"""Every defect, group by group."""

GROUPS: Final = {
    "codecs": "codecs",
    "bounds": "bounds",
    "overlap": "overlap",
    "distinctness": "distinctness",
    "order": "order of answers",
    "refusal-claims": "claims leaked on refusal",
    "exception-claims": "claims leaked on exception",
    "waits": "missing wait",
    "loss": "loss",
    "neighbours": "neighbour bits",
    "to-device": "to_device strides",
    "death": "reason of death",
    "kernels": "kernels",
    "reference": "reference",
}
"""The kinds of mistake: the group in an id, and what it is called."""
