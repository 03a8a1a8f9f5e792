"""Defects that leave a claim behind when a call is refused."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

REFUSED_CLAIMS: Final = (
    Defect(
        "refusal-claims/shapes",
        "fast/native/pointwise.c",
        "return cf_door_refuse(operands, count, CF_SHAPE_MISMATCH);",
        "return CF_SHAPE_MISMATCH;",
        "pointwise kernels keep their claims when shapes differ",
    ),
    Defect(
        "refusal-claims/halfway",
        "fast/native/door.c",
        "        if (answer == CF_DONE) continue;\n        release_all(operands, k);\n        return answer;",
        "        if (answer == CF_DONE) continue;\n        return answer;",
        "the operands claimed before the one that is refused stay claimed",
    ),
    Defect(
        "refusal-claims/read-only",
        "fast/native/claims.c",
        "    if (answer != CF_DONE) cf_release(buffer);",
        "    if (answer == CF_DEAD_BUFFER) cf_release(buffer);",
        "a claim for writing that Read memory refuses stays counted",
    ),
    Defect(
        "refusal-claims/off-host",
        "fast/native/access.c",
        "    if (!cf_array_empty(array) && !array->buffer->addressable) return leave(array, CF_OFF_HOST);",
        "    if (!cf_array_empty(array) && !array->buffer->addressable) return CF_OFF_HOST;",
        "reading an element the host does not address keeps the claim",
    ),
    Defect(
        "refusal-claims/donation",
        "fast/native/claims.c",
        "    if (answer != CF_DONE) cf_claims_release(buffers, held);",
        "    if (answer == CF_READ_ONLY) cf_claims_release(buffers, held);",
        "a set of claims of which one is refused keeps the others",
    ),
)
