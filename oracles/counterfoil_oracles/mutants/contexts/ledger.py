"""Defects of the ledger: records, counts, tokens and rollbacks that say what did not happen."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

LEDGER: Final = (
    Defect(
        "ledger/upload-counts",
        "fast/native/ledger.c",
        "    cf_record_run(ledger, record, NULL);\n    cf_record_reset(ledger, record);",
        "    cf_record_run(ledger, record, NULL);",
        "an upload over a gradient does not let the routines that add to it run again",
    ),
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
        "ledger/zeroing-run",
        "fast/native/dispatch.c",
        "        cf_record_reset(routine->ledger, routine->zeroed[k]);\n",
        "",
        "a run that zeroes a gradient does not end the counts of those that add to it",
    ),
    Defect(
        "ledger/greatest-binding",
        "fast/native/dispatch.c",
        "bindings[k] > routine->limits[k])",
        "bindings[k] > routine->limits[k] + 1)",
        "run takes a binding one past its range",
    ),
    Defect(
        "ledger/rollback-writer",
        "fast/native/dispatch.c",
        "        cf_record_own(routine->ledger, record, undo->writer);\n",
        "",
        "a run taken back stays the current writer of its outputs",
    ),
    Defect(
        "ledger/rollback-written",
        "fast/native/dispatch.c",
        "        record->written = undo->written;\n",
        "",
        "what a run wrote counts as written after the run was taken back",
    ),
    Defect(
        "ledger/rollback-overtaken",
        "fast/native/dispatch.c",
        "    if (record->version != routine->undo[k].version) return true;\n",
        "",
        "a run is taken back although somebody wrote its outputs since",
    ),
    Defect(
        "ledger/merge-slab",
        "fast/native/dispatch.c",
        "    if (routine->slab != NULL && routine->slab->fill != routine->fill) return fault(place, 0, CF_RUN_SLAB);\n",
        "",
        "a routine reads the merge buffer that another root filled",
    ),
    Defect(
        "ledger/saved-counts",
        "fast/counterfoil/contexts/undoing.py",
        "[int(lib.cf_count_runs(count)) for count in _counts(each)]",
        "[int(count.runs) for count in _counts(each)]",
        "a saved history holds runs from before the last reset",
    ),
    Defect(
        "ledger/poison",
        "fast/counterfoil/contexts/undoing.py",
        "            lib.cf_ledger_poison(root.ledger)\n",
        "",
        "runs go on in a root whose lineage is poisoned",
    ),
    Defect(
        "ledger/can-run",
        "fast/counterfoil/contexts/checking.py",
        "return all(dependency.executed for dependency in called._tables.dependencies)",
        "return not called._tables.dependencies or any(each.executed for each in called._tables.dependencies)",
        "a routine counts as ready once one of its dependencies was executed",
    ),
)
