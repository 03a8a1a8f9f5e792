"""Defects of the compiler: C that computes something else."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_COMPILE: Final = "fast/counterfoil/compile/"

EMISSION: Final = (
    Defect(
        "emission/symbolic-extent",
        _COMPILE + "emit.py",
        "return self.variable(extent) if isinstance(extent, Symbol) else str(extent)",
        'return f"{self.variable(extent)} - 1" if isinstance(extent, Symbol) else str(extent)',
        "a loop whose extent is a symbol ends one early",
    ),
    Defect(
        "emission/dropped-fill",
        _COMPILE + "fills.py",
        "result[position] = replace(item, start=fill_value(fill))",
        "result[position] = item",
        "a fill in front of an accumulation is dropped, and the sum starts from what was stored",
    ),
    Defect(
        "emission/product-start",
        _COMPILE + "products.py",
        "zero = int(product.starts_at_zero)",
        "zero = 1",
        "a matrix product that adds to its target overwrites it",
    ),
    Defect(
        "emission/product-step",
        _COMPILE + "matmul.py",
        "_stride(at_a, row[0]), _stride(at_a, term[0]),",
        "_stride(at_a, term[0]), _stride(at_a, row[0]),",
        "a matrix product takes its left operand transposed",
    ),
    Defect(
        "emission/fused-dependency",
        _COMPILE + "fuse.py",
        "    if not all(_are_independent(earlier, renamed) for earlier in group):\n        return None\n",
        "",
        "an assignment shares its loop with one whose results it reads at other points",
    ),
    Defect(
        "emission/row-stride",
        _COMPILE + "buffers.py",
        "        stride *= extent\n",
        "        stride *= max(1, extent - 1)\n",
        "rows lie one element too close",
    ),
    Defect(
        "emission/position",
        _COMPILE + "lower.py",
        "        stride *= extent\n",
        "        stride *= max(1, extent - 1)\n",
        "positions in C order leave elements of the last axis out",
    ),
    Defect(
        "emission/margin",
        _COMPILE + "buffers.py",
        "constant += (entry.offset + left) * stride",
        "constant += (entry.offset + (left and left - 1)) * stride",
        "a padded node's elements begin one too early",
    ),
    Defect(
        "emission/replayed-margin",
        _COMPILE + "lower.py",
        "SetLocal(local, Number(node.margin)), *body",
        "SetLocal(local, Number(0.0)), *body",
        "the margins of an inlined node hold 0",
    ),
    Defect(
        "emission/symbol-order",
        _COMPILE + "emit.py",
        "for position, symbol in enumerate(symbols)}",
        "for position, symbol in enumerate(reversed(symbols))}",
        "bindings are taken in the wrong order",
    ),
)
