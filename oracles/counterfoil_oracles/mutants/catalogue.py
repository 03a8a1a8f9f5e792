"""All planted defects."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.bounds import BOUNDS
from counterfoil_oracles.mutants.codecs import CODECS
from counterfoil_oracles.mutants.compaction import COMPACTION
from counterfoil_oracles.mutants.contexts.bump import BUMP
from counterfoil_oracles.mutants.contexts.emission import EMISSION
from counterfoil_oracles.mutants.contexts.ledger import LEDGER
from counterfoil_oracles.mutants.contexts.lineage import LINEAGE
from counterfoil_oracles.mutants.contexts.placement import PLACEMENT
from counterfoil_oracles.mutants.contexts.reference import CONTEXT_REFERENCE
from counterfoil_oracles.mutants.contexts.release import RELEASE
from counterfoil_oracles.mutants.cuda.contexts import CUDA_CONTEXTS
from counterfoil_oracles.mutants.cuda.kernels import CUDA_KERNELS
from counterfoil_oracles.mutants.cuda.memory import CUDA_MEMORY
from counterfoil_oracles.mutants.cuda.order import CUDA_ORDER
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
"""Every defect of the array half, group by group: the array machine finds each."""

CONTEXT_DEFECTS: Final[tuple[Defect, ...]] = (
    *LEDGER, *LINEAGE, *RELEASE, *BUMP, *EMISSION, *PLACEMENT, *CONTEXT_REFERENCE,
)  # fmt: skip
"""Every defect of programs and contexts: the context machine finds each."""

CUDA_DEFECTS: Final[tuple[Defect, ...]] = (*CUDA_ORDER, *CUDA_MEMORY, *CUDA_KERNELS)
"""Every defect of CUDA devices: the array machine finds each over the emulated driver."""

CATALOGUES: Final = {
    "arrays": DEFECTS, "contexts": CONTEXT_DEFECTS, "cuda-arrays": CUDA_DEFECTS, "cuda-contexts": CUDA_CONTEXTS,
}  # fmt: skip
"""The defects by the machine that finds them."""

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
    "ledger": "ledger",
    "lineage": "lineage",
    "release": "release units",
    "bump": "bump planner",
    "emission": "emitted C",
    "placement": "placement",
    "context-reference": "reference of contexts",
    "cuda-order": "order on streams",
    "cuda-memory": "CUDA memory",
    "cuda-kernels": "CUDA kernels",
    "cuda-contexts": "contexts on CUDA devices",
}
"""The kinds of mistake: the group in an id, and what it is called."""
