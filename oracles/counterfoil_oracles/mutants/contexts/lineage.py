"""Defects of the lineage: what a compile knows of the routines before it, and what it makes the next one wait for."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_LINEAGE: Final = "fast/counterfoil/contexts/lineage.py"
_FRONTIER: Final = "fast/counterfoil/contexts/frontier.py"

LINEAGE: Final = (
    Defect(
        "lineage/owned-fragments",
        _LINEAGE,
        "for fragment in dict.fromkeys(comp.owned):",
        "for fragment in dict.fromkeys(comp.owned[:1]):",
        "of the fragments that a routine owns the lineage keeps the first",
    ),
    Defect(
        "lineage/shared-without-zeroing",
        _LINEAGE,
        "(self.shareable and bool(self.zeroers) and not zeroes)",
        "(self.shareable and not zeroes)",
        "several routines may add to a gradient that nobody zeroes",
    ),
    Defect(
        "lineage/read-after-write",
        _FRONTIER,
        "        for node in reads:\n            if node in self.writers:\n"
        "                found[self.writers[node].id] = self.writers[node]\n",
        "",
        "a routine does not wait for the writers of what it reads",
    ),
    Defect(
        "lineage/upload-readers",
        _FRONTIER,
        "        writers.pop(node, None)\n        readers.pop(node, None)\n",
        "        writers.pop(node, None)\n",
        "who writes a node behind an upload still waits for those that read it before",
    ),
    Defect(
        "lineage/merge-transfer",
        _FRONTIER,
        "        if merge is not None and self.fill is not None:\n"
        "            found[self.fill.transfer.id] = self.fill.transfer\n",
        "",
        "a reader of the merge buffer does not depend on its fill",
    ),
    Defect(
        "lineage/marked-elsewhere",
        "fast/counterfoil/contexts/running.py",
        "same = [node for node in routine.outputs if value.buffers.get(node) is locations[node]]",
        "same = [node for node in routine.outputs if node in value.buffers and node in locations]",
        "a run marks nodes initialized in a value that binds other buffers for them",
    ),
    Defect(
        "lineage/read-only-input",
        "fast/counterfoil/contexts/tables.py",
        "(node in read_only or node not in embedded)",
        "node not in embedded",
        "a routine may read an embedded node that nobody ever writes",
    ),
)
