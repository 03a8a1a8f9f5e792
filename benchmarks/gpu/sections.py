"""The rows in order, measured one by one; a row that fails says so in the report and stops no other."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.gpu import arithmetic, movement, networks
from benchmarks.gpu.timing import Row

SECTIONS: tuple[Callable[[], Iterator[Row]], ...] = (
    movement.launches, movement.routes, movement.layouts, arithmetic.casts, arithmetic.elementwise,
    arithmetic.reductions, arithmetic.products, networks.steps,
)  # fmt: skip


def measured(words: list[str], rounds: int) -> Iterator[dict[str, Any]]:
    """Each row as the report holds it."""
    for section in SECTIONS:
        try:
            for row in section():
                if not words or any(word in row.name for word in words):
                    yield _one(row, rounds)
        except Exception:
            yield {"name": f"section {section.__name__}", "failed": traceback.format_exc(limit=3)}


def _one(row: Row, rounds: int) -> dict[str, Any]:
    try:
        found = row.measured(rounds)
    except Exception:
        return {"name": row.name, "failed": traceback.format_exc(limit=3)}
    print(f"{row.name}: {found['ours']['seconds'] * 1e6:.1f} us", flush=True)
    return found
