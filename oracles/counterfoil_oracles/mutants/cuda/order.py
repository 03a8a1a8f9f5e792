"""Defects of the order of work on streams: waits, events and the host's parts."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_STREAM: Final = "fast/counterfoil/cuda/stream.py"
_DEVICE: Final = "fast/counterfoil/cuda/device.py"
_COPIES: Final = "fast/counterfoil/cuda/copies.py"

CUDA_ORDER: Final = (
    Defect(
        "cuda-order/stream-wait",
        _STREAM,
        "                    driver.follow(self.raw, other.event)\n",
        "                    pass\n",
        "a stream does not wait for the work of another one that it must follow",
        "lazy",
    ),
    Defect(
        "cuda-order/host-wait",
        _STREAM,
        "                driver.wait(mark.event)\n",
        "                pass\n",
        "the host does not wait for what the driver has got",
        "lazy",
    ),
    Defect(
        "cuda-order/stale-event",
        _STREAM,
        "                    mark.event = driver.event()\n                driver.record(mark.event, self.raw)\n",
        "                    mark.event = driver.event()\n                    driver.record(mark.event, self.raw)\n",
        "an event that is used again still marks what it marked first",
        "lazy",
    ),
    Defect(
        "cuda-order/unasked",
        _STREAM,
        "head.finish is not None or not driver.happened(mark.event) or not self._sound(done)",
        "head.finish is not None or not self._sound(done)",
        "work counts as reached when the driver has got it",
        "lazy",
    ),
    Defect(
        "cuda-order/hosts-part",
        _STREAM,
        "            elif run_alone(self, head.finish, done) and self.why is None:\n",
        "            elif self.why is None:\n",
        "the host's part of a copy is left out",
        "eager",
    ),
    Defect(
        "cuda-order/own-hosts-part",
        _STREAM,
        "(*reached, (self, own)) if own else reached)",
        "reached)",
        "work is given to the driver before the host's part of a copy that it must follow",
        "eager",
    ),
    Defect(
        "cuda-order/early-gather",
        _COPIES,
        "    return Work(issue, None, tuple(src.buffer.memory.points(False)))\n",
        "    return Work(issue)\n",
        "the host gathers what it sends before the work that writes it is done",
        "lazy",
    ),
    Defect(
        "cuda-order/reads-for-writes",
        _DEVICE,
        "        return self.timeline.submit(work, touched(inputs, outputs), finish, tuple(reached))\n",
        "        return self.timeline.submit(work, touched(outputs, inputs), finish, tuple(reached))\n",
        "what a kernel writes counts as read, and what it reads as written",
        "lazy",
    ),
    Defect(
        "cuda-order/wrong-stream",
        _COPIES,
        "    return Work(lambda: driver.fill(pointer(buffer), byte, buffer.nbytes, device.timeline.raw))\n",
        "    return Work(lambda: driver.fill(pointer(buffer), byte, buffer.nbytes, device._side))\n",
        "fills are enqueued on a stream that follows nothing",
        "lazy",
    ),
    Defect(
        "cuda-order/unsound",
        _STREAM,
        "            if timeline.why is not None and timeline.reached < number:\n                lose(",
        "            if timeline.why is None and timeline.reached < number:\n                lose(",
        "a device is lost by what it follows on a device that is not",
        "lazy",
    ),
    Defect(
        "cuda-order/no-context",
        _STREAM,
        "            with self.primary:\n                for other in followed:\n",
        "            if self.primary:\n                for other in followed:\n",
        "work is enqueued with no device current",
        "eager",
    ),
)
