"""A comp in the making: code with the nodes it mentions and what it owns, contributes, resets and requires."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from counterfoil_oracles.machines.choices import chance, weighted
from counterfoil_oracles.machines.contexts.universe import fragment, node, symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld, Data
from counterfoil_oracles.machines.world import Plan


@dataclass
class Sketch:
    """The arguments of the command ``comp``, being filled."""

    label: str
    code: list[Data] = field(default_factory=list)
    mentioned: dict[str, Data] = field(default_factory=dict)
    written: dict[str, Data] = field(default_factory=dict)
    accumulates: list[Data] = field(default_factory=list)
    zeroes: list[Data] = field(default_factory=list)
    owned: list[Data] = field(default_factory=list)
    requires: list[Data] = field(default_factory=list)
    allowances: list[Any] = field(default_factory=list)

    # --- code --------------------------------------------------------------------------------------------------------

    def set(self, world: ContextWorld, target: str, operands: list[Any], **how: Any) -> Plan[None]:
        """An accumulation into the node of that label; an operand is a label, or ``{"merge": label}``."""
        of = []
        for operand in operands:
            if isinstance(operand, dict):
                of.append({"merge": (yield from node(world, operand["merge"]))})
            else:
                of.append((yield from self.mention(world, operand)))
        to = yield from self.mention(world, target)
        self.written[target] = to
        self.code.append({"set": to, "of": of, **how})

    def fetch(self, world: ContextWorld, target: str, **definition: Any) -> Plan[None]:
        """A definition of the whole node of that label."""
        to = yield from self.mention(world, target)
        self.written[target] = to
        self.code.append({"fetch": to, **definition})

    def mention(self, world: ContextWorld, label: str) -> Plan[Data]:
        """A reference to a node, which the comp now mentions."""
        self.mentioned[label] = found = yield from node(world, label)
        return found

    def mention_view(self, label: str, found: Data) -> None:
        """Mention a node made elsewhere."""
        self.mentioned[label] = found

    # --- gradients ---------------------------------------------------------------------------------------------------

    def zero(self, world: ContextWorld, gradient: str) -> Plan[None]:
        """Reset a gradient, as the frontend does."""
        yield from self.fetch(world, gradient, constant=0)
        self.zeroes.append(self.mentioned[gradient])

    def contribute(self, world: ContextWorld, gradient: str, operands: list[str], op: str) -> Plan[None]:
        """Add to a gradient, as the frontend's backprop does; what propagates from it is required."""
        yield from self.set(world, gradient, list(operands), op=op, accumulate="add")
        self.accumulates.append(self.mentioned[gradient])
        if gradient in PROPAGATED:
            self.requires.append((yield from fragment(world, PROPAGATED[gradient], "backprop", gradient)))

    def propagate(self, world: ContextWorld, gradient: str, to: str, by: str) -> Plan[None]:
        """The backprop fragment from a gradient: contribute to the next one, and own it."""
        yield from self.contribute(world, to, [gradient, by], "mul")
        self.owned.append((yield from fragment(world, PROPAGATED[gradient], "backprop", gradient)))

    def forward(self, world: ContextWorld, label: str) -> Plan[None]:
        """Own the forward fragment of that label."""
        self.owned.append((yield from fragment(world, label, "forward")))

    # --- the comp ----------------------------------------------------------------------------------------------------

    def embedded(self, world: ContextWorld) -> list[Data]:
        """The nodes it may allocate: mostly all it mentions, sometimes what it writes, or nothing."""
        kept = {label: found for label, found in self.mentioned.items() if label not in ("view",)}
        match weighted(world.chooser, [(70, "all"), (18, "written"), (12, "none")]):
            case "all":
                return list(kept.values())
            case "written":
                return [found for label, found in self.written.items() if label in kept]
        return []

    def args(self, world: ContextWorld, everything: bool = False) -> Data:
        """The arguments of the command ``comp``; ``everything``: all it mentions is embedded, and it has its label."""
        args: Data = {"code": self.code, "embedded": self.embedded(world)}
        if everything:
            args["embedded"] = list(self.mentioned.values())
        if everything or not chance(world.chooser, 8):
            args["label"] = self.label
        for key in ("accumulates", "zeroes", "owned", "requires", "allowances"):
            if getattr(self, key):
                args[key] = getattr(self, key)
        return args


PROPAGATED = {"gh": "h", "gy": "y"}
"""The gradients that something propagates from, with the label of the tensor whose backprop that is."""


def bounded(world: ContextWorld, label: str) -> Plan[None]:
    """Make a static symbol, so that projections can name it."""
    yield from symbol(world, label)
