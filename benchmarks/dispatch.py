"""What a call costs: the door around three elements, and views."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import counterfoil as cf
from benchmarks.measure import Row
from benchmarks.peers import peer


def rows() -> list[Row]:
    """Door call, element access, and one row per kind of view."""
    return [_door(), *_elements(), *_views()]


def _door() -> Row:
    x, y, out = (np.ones(3, np.float32) for _ in range(3))
    a, b, c = (cf.from_values(cf.float32, (3,), [1.0, 1.0, 1.0]) for _ in range(3))
    add = cf.kernels.add
    peers = {"numpy": lambda: np.add(x, y, out=out)}
    if torch := peer("torch"):
        tx, ty, tout = (torch.ones(3) for _ in range(3))
        peers["torch"] = lambda: torch.add(tx, ty, out=tout)
    return Row("door: add of 3 float32 into out", lambda: add(c, a, b), peers, 0.65)


def _elements() -> list[Row]:
    x = np.ones(3, np.float32)
    a = cf.from_values(cf.float32, (3,), [1.0, 1.0, 1.0])
    return [
        Row("element get", lambda: a.get((1,)), {"numpy": lambda: x[1]}, None),
        Row("element set", lambda: a.set((1,), 2.0), {"numpy": lambda: x.__setitem__(1, 2.0)}, None),
    ]


def _views() -> list[Row]:
    x = np.ones((8, 6), np.float32)
    a = cf.asarray(x)
    transpose, reshape = cf.Permute((1, 0)), cf.Reshape((4, 12))
    cut = cf.Slice(cf.Range(1, 4), cf.Range(0, 3, 2))
    wide, window = cf.Broadcast((5, 8, 6)), cf.Window(cf.WindowAxis(0, 3), cf.WindowAxis(1, 2))
    return [
        Row("view: slice", lambda: a.move(cut), {"numpy": lambda: x[1:5, 0:6:2]}, 3),
        Row("view: permute", lambda: a.move(transpose), {"numpy": lambda: x.transpose(1, 0)}, 4.5),
        Row("view: reshape", lambda: a.move(reshape), {"numpy": lambda: x.reshape(4, 12)}, 2.5),
        Row("view: broadcast", lambda: a.move(wide), {"numpy": lambda: np.broadcast_to(x, (5, 8, 6))}, 0.2),
        Row("view: window", lambda: a.move(window), {"numpy": lambda: sliding_window_view(x, (3, 2))}, 0.05),
        Row("view: slice, move built each time", lambda: a[1:5, 0:6:2], {"numpy": lambda: x[1:5, 0:6:2]}, None),
    ]
