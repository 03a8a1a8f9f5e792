"""Defects of contexts on CUDA devices: bindings, graphs, the merge buffer, fills."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_LAUNCHING: Final = "fast/counterfoil/contexts/launching.py"
_MOVING: Final = "fast/counterfoil/contexts/moving.py"
_ELISION: Final = "fast/counterfoil/compile/cuda/elision.py"

_SEEN: Final = "touched(item.nest if isinstance(item, Work) else item)"
_WRITTEN: Final = "((item.nest.node,) if isinstance(item, Work) else touched(item))"
_ELIDED: Final = f"""\
            if _overwrites(item):
                result[place] = None
            elif item.accumulates:
                result[place] = None
                result[position] = replace(item, nest=replace(item.nest, start=value))
        for node in {_SEEN}:
"""
"""Where a fill is left out, and where what an item touches is no longer looked at."""

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
        "        Launcher.late = blocks\n        return lambda: self._launch(Launcher.late, merge)\n",
        "a run takes the parameters that stand there when it is performed: those of the last call, not of its own",
        "lazy",
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
        "cuda-contexts/grid",
        "fast/counterfoil/compile/cuda/elements.py",
        "    writer.grid, writer.block = (blocks, 1, 1), (size, 1, 1)\n",
        "    writer.grid, writer.block = (max(blocks - 1, 1), 1, 1), (size, 1, 1)\n",
        "the last block of a loop's points is left out where there are several",
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
    Defect(
        "cuda-contexts/fill-seen-by-a-sum",
        _ELISION,
        _ELIDED,
        _ELIDED.replace("_overwrites(item)", "False").replace(_SEEN, _WRITTEN),
        "the fill before an accumulation is left out although something reads it in between",
        "eager",
    ),
    Defect(
        "cuda-contexts/fill-seen-by-a-store",
        _ELISION,
        _ELIDED,
        _ELIDED.replace("elif item.accumulates", "elif False").replace(_SEEN, _WRITTEN),
        "the fill before a store over all the node is left out although something reads it in between",
        "eager",
    ),
    Defect(
        "cuda-contexts/merge-order",
        _LAUNCHING,
        "        orders = self._orders if merge is None else {**self._orders, merge.memory.ordered(): False}\n",
        "        orders = self._orders\n",
        "a run does not follow the fill of the merge buffer that it reads",
        "lazy",
    ),
    Defect(
        "cuda-contexts/unstamped-writes",
        _LAUNCHING,
        "placement.touched(reads, writes if scratch is None else [*writes, scratch])",
        "placement.touched([*reads, *writes], [] if scratch is None else [scratch])",
        "a run is not known to write its outputs",
        "lazy",
    ),
    Defect(
        "cuda-contexts/unstamped-reads",
        _LAUNCHING,
        "placement.touched(reads, writes if scratch is None else [*writes, scratch])",
        "placement.touched([], writes if scratch is None else [*writes, scratch])",
        "a run is not known to read its inputs",
        "lazy",
    ),
    Defect(
        "cuda-contexts/unnoticed-loss",
        "fast/counterfoil/contexts/undoing.py",
        "        root.notice_loss()  # the first failure stays\n",
        "",
        "a root whose run was lost with its device is poisoned by another failure afterwards",
        "lazy",
    ),
    Defect(
        "cuda-contexts/lost-run",
        "fast/counterfoil/contexts/running.py",
        "    root.under_way(number, routine.name)\n",
        "",
        "a run that was under way when its device was lost poisons nobody",
        "lazy",
    ),
    Defect(
        "cuda-contexts/sync",
        "fast/counterfoil/contexts/backends.py",
        "            self.memory.advance(MOST_WORK)\n",
        "            pass\n",
        "sync does not wait",
        "lazy",
    ),
    Defect(
        "cuda-contexts/shared-iterators",
        "fast/counterfoil/compile/nests.py",
        "    bodies = iter(with_own_iterators([statement for segment in segments for statement in segment.body]))\n",
        "    bodies = iter([statement for segment in segments for statement in segment.body])\n",
        "loops with the same iterator are confused where their kernels are joined",
        "eager",
    ),
)
