"""Defects of distinctness: whether a layout reaches an element twice."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

DISTINCTNESS: Final = (
    Defect(
        "distinctness/nesting",
        "fast/native/distinct.c",
        "if (layout->high - layout->low > EXACT_SPAN) return",
        "if (layout->high - layout->low > 0) return",
        "only layouts whose axes nest count as distinct",
    ),
    Defect(
        "distinctness/touching-axes",
        "fast/native/distinct.c",
        "if (step > cf_sums_reach(sums) - own) return true;",
        "if (step >= cf_sums_reach(sums) - own) return true;",
        "an axis that steps onto the last position of the others counts as apart from them",
    ),
    Defect(
        "distinctness/divisors",
        "fast/native/distinct.c",
        "return sums->extent[k] <= divisor / cf_gcd(step, divisor);",
        "return sums->extent[k] <= divisor;",
        "an axis counts as apart from the others though its step has a divisor in common with theirs",
    ),
    Defect(
        "distinctness/slices",
        "fast/native/move.c",
        "return finish(out, layout->flags & CF_LAYOUT_DISTINCT); /* some of the positions */",
        "return finish(out, layout->flags & (CF_LAYOUT_DISTINCT | CF_LAYOUT_REPEATED));",
        "what is taken from a layout that repeats elements counts as repeating them too",
    ),
    Defect(
        "distinctness/broadcasts",
        "fast/native/move.c",
        "0 where the extent is 1: layouts are canonical */\n    }\n    return finish(out, 0);",
        "*/\n    }\n    return finish(out, layout->flags & CF_LAYOUT_DISTINCT);",
        "a distinct layout stays distinct when it is broadcast",
    ),
    Defect(
        "distinctness/single-axes",
        "fast/native/layout.c",
        "if (layout->shape[axis] > 1 && layout->strides[axis] == 0) return true;",
        "if (layout->strides[axis] == 0) return true;",
        "an axis of extent 1 counts as repeating its only element",
    ),
)
