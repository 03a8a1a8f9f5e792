"""Either half as a target: what a perfect implementation looks like, and what broken ones are made of."""

from __future__ import annotations

import math
from typing import Any

from counterfoil_oracles.actions import ANSWERS, MAKES
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.targets import node_values
from counterfoil_oracles.targets.inprocess import elements
from counterfoil_oracles.targets.wire import taken
from counterfoil_spec import __version__
from counterfoil_spec.commands import Command, Fault, Refused, Returned, references
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import (
    PROTOCOL,
    Errored,
    Identity,
    Profile,
    Refusal,
    Skipped,
    TargetOutcome,
    TargetStep,
    Value,
)
from counterfoil_spec.rules import registry

ELEMENTS = frozenset({"array.to_values", "array.get"})
"""Commands whose values are elements of an array, and travel as bits."""

LEFT_OUT = frozenset({"inject", "drop", "device.set_budget"})
"""Commands of the harness itself; and budgets, which count what others of the process hold."""


class HalfTarget:
    """A half, asked through the protocol's structures."""

    def __init__(self, half: Any, name: str) -> None:
        self._half = half
        self._name = name
        self._driver = Driver(half)

    def start(self) -> Identity:
        """Everything: all chapters, dtypes and commands, refusals by id."""
        return Identity(
            protocol=PROTOCOL, name=self._name, version=__version__, language="Python",
            chapters=sorted({rule.partition("/")[0] for rule in registry()}),
            dtypes=[dtype.name for dtype in Dtype.all], commands=sorted(({*ANSWERS, *MAKES} - LEFT_OUT) | {"odd"}),
        )  # fmt: skip

    def profile(self, profile: Profile) -> str | None:
        """It keeps to any."""
        return None

    def run(self, step: TargetStep) -> TargetOutcome:
        """One command on the half."""
        missing = [name for name in references(step.args) if name not in self._driver.names]
        if missing:
            return Skipped(f"{missing[0]} was never made")
        command = Command(do=step.do, args=taken(step.args), bind=step.bind)
        match self._driver.execute(command):
            case Returned(value):
                return Value(self._shown(command, value))
            case Refused(rule, subjects):
                return Refusal(rule=rule, subjects=subjects)
            case Fault(error):
                return Errored(error)

    def reset(self) -> None:
        """Forget every name."""
        self._driver.close()
        self._driver = Driver(self._half)

    def stop(self) -> None:
        """Undo what the last program left."""
        self._driver.close()

    def _shown(self, command: Command, value: Any) -> Any:
        if command.do in node_values.READS:
            return node_values.shown(self._driver.environment, command, value)
        return self._bits(command, value) if command.do in ELEMENTS else value

    def _bits(self, command: Command, value: Any) -> Any:
        """Elements by their bits in memory: the values themselves could not tell NaNs apart."""
        array = self._driver.names[command.args["array"]["ref"]]
        index = command.args["index"] if command.do == "array.get" else None
        found = elements(array.dtype, codes_at(self._half, array, index))
        return {**found, "bits": found["bits"][0]} if index is not None else found


def codes_at(half: Any, array: Any, index: list[int] | None) -> list[int]:
    """The bits of an array's elements in C order, or of the one at an index alone."""
    memory = int.from_bytes(half.inspection.memory_bytes(array.buffer), "little")
    layout, bits = array.layout, array.dtype.bits
    if index is None:
        return [_at(memory, at, bits) for at in _positions(layout)]
    at = layout.offset + sum(i * stride for i, stride in zip(index, layout.strides, strict=True))
    return [_at(memory, at, bits)]


def _at(memory: int, position: int, bits: int) -> int:
    return memory >> position * bits & (1 << bits) - 1


def _positions(layout: Any) -> list[int]:
    """The positions of a layout's elements in C order."""
    found = [layout.offset] if math.prod(layout.shape) else []
    for extent, stride in zip(layout.shape, layout.strides, strict=True):
        found = [at + i * stride for at in found for i in range(extent)]
    return found


def fast() -> HalfTarget:
    """The fast half as a target."""
    import counterfoil

    return HalfTarget(counterfoil, "counterfoil")


def reference() -> HalfTarget:
    """The reference as a target."""
    import counterfoil_reference

    return HalfTarget(counterfoil_reference, "counterfoil-reference")
