"""Defects of the memory of CUDA devices: addresses, sizes, reuse, claims."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_DEVICE: Final = "fast/counterfoil/cuda/device.py"
_COPIES: Final = "fast/counterfoil/cuda/copies.py"

CUDA_MEMORY: Final = (
    Defect(
        "cuda-memory/offset",
        _DEVICE,
        "    return base + int(buffer._c.offset) if buffer._c.nbytes else 0\n",
        "    return base if buffer._c.nbytes else 0\n",
        "a view's bytes are taken from the memory's first byte on",
        "eager",
    ),
    Defect(
        "cuda-memory/twice",
        "fast/counterfoil/cuda/pool.py",
        "            return chunks.pop()\n",
        "            return chunks[-1]\n",
        "memory that is kept for reuse is handed out twice",
        "eager",
    ),
    Defect(
        "cuda-memory/size",
        "fast/counterfoil/cuda/pool.py",
        "    return -(-nbytes // step) * step\n",
        "    return max(nbytes // step, 1) * step\n",
        "memory has too few bytes where its size is no multiple of the step",
        "eager",
    ),
    Defect(
        "cuda-memory/leaked-claims",
        "fast/counterfoil/cuda/calls.py",
        "        lib.cf_door_leave(handles, len(handles))\n",
        "        pass\n",
        "a kernel's call on a device keeps its claims",
        "eager",
    ),
    Defect(
        "cuda-memory/tail",
        _COPIES,
        "    byte = (buffers.poison() or 0) & ((1 << kept) - 1)\n",
        "    byte = buffers.poison() or 0\n",
        "the bits past the last element of fresh memory are not zero",
        "eager",
    ),
    Defect(
        "cuda-memory/two-devices",
        _DEVICE,
        "        if found is not None and device is not found:\n            return None\n",
        "        if found is not None and device is not found:\n            continue\n",
        "a kernel runs on a device that does not address all its operands",
        "eager",
    ),
    Defect(
        "cuda-memory/staged-order",
        _COPIES,
        "        lib.cf_array_transfer(dst._c, staged._c)\n\n    return Work(_fetching",
        "        lib.cf_array_transfer(dst._c, dst._c)\n\n    return Work(_fetching",
        "what the device gathered for the host is not scattered",
        "eager",
    ),
    Defect(
        "cuda-memory/live",
        _DEVICE,
        "            if self._budget is not None and live + self._arrears + nbytes > self._budget:\n",
        "            if self._budget is not None and nbytes > self._budget:\n",
        "a budget bounds each allocation, not what is live",
        "eager",
    ),
)
