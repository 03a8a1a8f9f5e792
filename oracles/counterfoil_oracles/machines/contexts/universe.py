"""The nodes of the context machine's programs: few roles, few extents, so that routines recur from program to program.

A universe is one dtype and these labels. Nodes are made when they are first needed.
"""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.machines.choices import Chooser, weighted
from counterfoil_oracles.machines.contexts.world import ContextWorld, Data
from counterfoil_oracles.machines.world import Plan, ref
from counterfoil_spec.commands import Command

VECTORS: Final = ("w1", "w2", "x", "y", "h", "t", "u", "v", "q", "o", "a", "b", "cell")
"""Labels of nodes of 3 elements: parameters, data, hidden values; v is declared virtual, q local, o on_device."""

GRADIENTS: Final = ("gw1", "gw2", "gh", "gy")
"""Labels of gradients, of 3 elements; gh and gy are propagated, the others terminal."""

SYMBOLS: Final[dict[str, Data]] = {
    "row": {"label": "row", "bound": 4},
    "far": {"label": "far", "bound": 3},
    "few": {"label": "few", "bound": 3, "extent": True},
    "any": {"label": "any"},
}
"""The static symbols by label."""

_THREE: Final[Data] = {"shape": [3]}

SPECS: Final[dict[str, Data]] = {
    **dict.fromkeys(VECTORS, _THREE),
    **{label: {"shape": [3], "zero_valid": True} for label in GRADIENTS},
    "v": {"shape": [3], "intent": "virtual"},
    "q": {"shape": [3], "intent": "local"},
    "o": {"shape": [3], "intent": "on_device"},
    "y": {"shape": [3], "observable": True},
    "u": {"shape": [3], "intent": "never_virtual"},
    "cell": {"shape": [3], "context_owned": True},
    "m": {"shape": [2, 3]},
    "z": {"shape": [2]},
    "gm": {"shape": [2, 3], "zero_valid": True},
    "loss": {"shape": [], "observable": True},
    "n": {"shape": []},
    "one": {"shape": [], "literal": [1]},
    "lit": {"shape": [3], "literal": [1, 2, 3]},
    "own": {"shape": [3], "literal": [4, 5, 6], "context_owned": True},
    "rare": {"shape": [3], "literal": [7, 8, 9]},
    "big": {"shape": [20], "literal": list(range(20))},
    "wide": {"shape": [20]},
    "sum20": {"shape": []},
    "table": {"shape": [4, 3]},
    "five": {"shape": [5]},
    "pad": {"shape": [3], "padding": [[1, 1]]},
    "edge": {"shape": [3], "padding": [[1, 0]], "margin": 2},
    "none": {"shape": [0]},
    "flat": {"shape": [3, 1]},
    "whole": {"shape": [3], "dtype": "int32"},
    "real": {"shape": [3], "dtype": "float64"},
    "left": {"shape": [8, 16], "intent": "never_virtual"},
    "right": {"shape": [16, 16], "intent": "never_virtual"},
    "both": {"shape": [8, 16], "zero_valid": True},
    "area": {"shape": [9, 14]},
    "strip": {"shape": [9]},
}
"""The nodes by label, their dtype apart, which is the program's where none stands here."""


def dtype_of_program(chooser: Chooser) -> str:
    """The dtype of a program's nodes."""
    return weighted(chooser, [(70, "float32"), (20, "int32"), (7, "float64"), (3, "int64")])


def node(world: ContextWorld, label: str) -> Plan[Data]:
    """A reference to the node of that label, made now if it is not there."""
    if label not in world.labels:
        spec: dict[str, Any] = {"label": label, "dtype": world.dtype_name, **SPECS.get(label, _THREE)}
        yield Command(do="node", args=spec, bind=f"n_{label}")
    return ref(world.labels[label])


def row_view(world: ContextWorld) -> Plan[Data]:
    """A reference to the view of one row of the table."""
    if "view" not in world.labels:
        parent, index = (yield from node(world, "table")), (yield from symbol(world, "row"))
        spec = {"label": "view", "shape": [3], "dtype": world.dtype_name, "slice_of": [parent, index]}
        yield Command(do="node", args=spec, bind="n_view")
    return ref(world.labels["view"])


def symbol(world: ContextWorld, label: str) -> Plan[Data]:
    """A reference to the static symbol of that label, made now if it is not there."""
    if f"s_{label}" not in world.roles:
        yield Command(do="symbol", args=SYMBOLS[label], bind=f"s_{label}")
    return ref(f"s_{label}")


def fragment(world: ContextWorld, label: str, kind: str, gradient: str | None = None) -> Plan[Data]:
    """A reference to a fragment, made now if it is not there."""
    if (label, kind) not in world.fragments:
        args: Data = {"label": label, "kind": kind}
        if gradient is not None:
            args["gradient"] = yield from node(world, gradient)
        yield Command(do="fragment", args=args, bind=f"f_{label}_{kind}")
    return ref(world.fragments[label, kind])
