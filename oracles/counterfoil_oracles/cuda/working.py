"""Submitted work by name as CUDA work: one small kernel of one thread, enqueued on the stream it is told."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

SOURCE: Final = """
struct cf_view { unsigned char *at; long long count; };
struct cf_work { long long what, byte, reads, writes; struct cf_view views[40]; };

/* One thread: views may share bytes, and each is taken as the host takes it, one after the other. */
extern "C" __global__ void counterfoil_work(struct cf_work work)
{
    extern __shared__ unsigned char total[];
    long long longest = 0;
    for (long long v = work.reads; v < work.reads + work.writes; v++)
        longest = work.views[v].count > longest ? work.views[v].count : longest;
    for (long long i = 0; work.what == 2 && i < longest; i++) {
        total[i] = 0;
        for (long long v = 0; v < work.reads; v++)
            total[i] += i < work.views[v].count ? work.views[v].at[i] : 0;
    }
    for (long long v = work.reads; v < work.reads + work.writes; v++)
        for (long long i = 0; i < work.views[v].count; i++) {
            unsigned char *at = work.views[v].at + i;
            *at = work.what == 0 ? (unsigned char)work.byte : work.what == 1 ? *at + 1 : total[i];
        }
}
"""

MOST_VIEWS: Final = 40
MOST_BYTES: Final = 32768
"""Bytes of the longest view that is summed: a block's shared memory."""

_WHAT: Final = {"fill": 0, "increment": 1, "sum": 2}


def work_on(device: Any, what: str, byte: int = 0) -> Callable[..., None]:
    """Work that a CUDA device of the subject enqueues: ``fill``, ``increment`` or ``sum``, as the host's of that name.

    Called with one ``DeviceBytes`` for each buffer, the device being current.
    """
    package = type(device).__module__.partition(".")[0]
    cubins: Any = importlib.import_module(f"{package}.cuda.cubins")

    def work(*views: Any) -> None:
        reads = [view for view in views if view.readonly]
        writes = [view for view in views if not view.readonly]
        longest = max((len(view) for view in writes), default=0)
        if not longest:
            return
        if len(views) > MOST_VIEWS or longest > MOST_BYTES:
            raise RuntimeError("more than the harness's own work takes")
        function = cubins.function(device, SOURCE, "counterfoil_work")
        function.launch((1, 1, 1), (1, 1, 1), _block(_WHAT[what], byte, reads, writes), longest)

    return work


def _block(what: int, byte: int, reads: Sequence[Any], writes: Sequence[Any]) -> bytes:
    """The kernel's one parameter."""
    views = [(view.pointer, len(view)) for view in (*reads, *writes)]
    views += [(0, 0)] * (MOST_VIEWS - len(views))
    flat = [number for view in views for number in view]
    return struct.pack(f"@4q{len(flat)}q", what, byte, len(reads), len(writes), *flat)
