"""Defects of the compiler: C that computes something else."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_COMPILE: Final = "fast/counterfoil/compile/"

EMISSION: Final = (
    Defect(
        "emission/operator",
        _COMPILE + "expressions.py",
        '"cmplt": "<",',
        '"cmplt": "<=",',
        "less than is less or equal",
    ),
    Defect(
        "emission/symbolic-extent",
        _COMPILE + "emit.py",
        "return self.variable(extent) if isinstance(extent, Symbol) else str(extent)",
        'return f"{self.variable(extent)} - 1" if isinstance(extent, Symbol) else str(extent)',
        "a loop whose extent is a symbol ends one early",
    ),
    Defect(
        "emission/neutral",
        _COMPILE + "lower.py",
        "        if neutral == 0 and step.row is None:\n",
        "        if step.row is None:\n",
        "every accumulation starts from 0: a product, and the greatest of negative numbers",
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
    Defect(
        "emission/conversion",
        _COMPILE + "expressions.py",
        "        if source is dtype:\n",
        "        if source is dtype or is_float(source):\n",
        "floats enter a computation in integers as they are",
    ),
    Defect(
        "emission/division",
        _COMPILE + "prelude.py",
        "cf_idiv_S(T x, T y) { return y == 0 ? 0 :",
        "cf_idiv_S(T x, T y) { return y == 0 ? x :",
        "an integer divided by 0 gives itself",
    ),
    Defect(
        "emission/negative-zero",
        _COMPILE + "expressions.py",
        'return f"(-{arguments[0]})"',
        'return f"(0 - {arguments[0]})"',
        "the negative of 0 is 0",
    ),
)
