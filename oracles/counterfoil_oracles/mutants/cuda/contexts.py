"""Defects of contexts on CUDA devices: bindings, graphs, the merge buffer, fills."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_LAUNCHING: Final = "fast/counterfoil/contexts/launching.py"
_MOVING: Final = "fast/counterfoil/contexts/moving.py"
_ELISION: Final = "fast/counterfoil/compile/cuda/elision.py"

CUDA_CONTEXTS: Final = (
    Defect(
        "cuda-contexts/bindings",
        _LAUNCHING,
        "        if merge is None and not self._uses_bindings:\n",
        "        if merge is None:\n",
        "a run takes the bindings that compile knew, which are none",
        "eager",
    ),
    Defect(
        "cuda-contexts/late-bindings",
        _LAUNCHING,
        "        return lambda: self._launch(blocks, merge)\n",
        "        return lambda: self._launch([step.packed([value + 1 for value in bindings], address)\n"
        "                                     for step in self._steps], merge)\n",
        "a run takes bindings of another moment than the call",
        "eager",
    ),
    Defect(
        "cuda-contexts/stale-graph",
        _LAUNCHING,
        " at.shared) for function, at, block, _ in self._steps]\n            self._graph",
        " at.shared) for function, at, block, _ in self._steps[1:]]\n            self._graph",
        "a graph lacks the first kernel of its routine",
        "eager",
    ),
    Defect(
        "cuda-contexts/last-point",
        "fast/counterfoil/compile/cuda/elements.py",
        "if (g >= {threads}u) return;",
        "if (g >= {threads - 1}u) return;",
        "the last point of a loop is not computed",
        "eager",
    ),
    Defect(
        "cuda-contexts/elided-start",
        _ELISION,
        "                result[position] = replace(item, nest=replace(item.nest, start=value))\n",
        "                result[position] = item\n",
        "an accumulation whose fill was left out starts from what was stored",
        "eager",
    ),
    Defect(
        "cuda-contexts/fresh",
        _MOVING,
        "    placement.submit_fill(pool.buffer, 0)\n",
        "",
        "a fresh pool holds what was there before",
        "eager",
    ),
    Defect(
        "cuda-contexts/read-early",
        _MOVING,
        "        placement.copy_bytes(location.buffer, target.buffer)\n        target.buffer.reach(True)\n",
        "        placement.copy_bytes(location.buffer, target.buffer)\n",
        "a host read returns before its bytes are there",
        "lazy",
    ),
    Defect(
        "cuda-contexts/arguments",
        _LAUNCHING,
        "launch.packed(addresses, scratch, 0, [0] * bindings), late)",
        "launch.packed(list(reversed(addresses)), scratch, 0, [0] * bindings), late)",
        "kernels get their arguments in the wrong order",
        "eager",
    ),
)
