"""Defects of the ledger: records, counts, tokens and rollbacks that say what did not happen."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

LEDGER: Final = (
    Defect(
        "ledger/foreign-write",
        "fast/native/ledger.c",
        "return last != 0 && last >> 32 != ledger->root && last != record->token;",
        "return last != 0 && record->token != 0 && last >> 32 != ledger->root && last != record->token;",
        "a root that never wrote a shared constant reads what another root wrote there",
    ),
    Defect(
        "ledger/first-input",
        "fast/native/dispatch.c",
        "for (int32_t k = 0; k < routine->needed_count; k++) {",
        "for (int32_t k = 1; k < routine->needed_count; k++) {",
        "run does not ask whether somebody wrote the first input",
    ),
    Defect(
        "ledger/first-dependency",
        "fast/native/dispatch.c",
        "for (int32_t k = 0; k < routine->dependency_count; k++) {",
        "for (int32_t k = 1; k < routine->dependency_count; k++) {",
        "run does not ask whether the oldest of its dependencies was executed",
    ),
    Defect(
        "ledger/allowance",
        "fast/native/dispatch.c",
        "if (cf_count_runs(count) >= count->allowance)",
        "if (cf_count_runs(count) > count->allowance)",
        "a routine adds to a gradient once more than its comp allows between two resets",
    ),
    Defect(
        "ledger/greatest-binding",
        "fast/native/dispatch.c",
        "bindings[k] > routine->limits[k])",
        "bindings[k] > routine->limits[k] + 1)",
        "run takes a binding one past its range",
    ),
    Defect(
        "ledger/merge-slab",
        "fast/native/dispatch.c",
        "    if (routine->slab != NULL && routine->slab->fill != routine->fill) return fault(place, 0, CF_RUN_SLAB);\n",
        "",
        "a routine reads the merge buffer that another root filled",
    ),
)
