"""Histories of the model as traces: hand-built comps with real values, every outcome predicted by the model.

Routine k contributes 10^k to H and 10^(k + 4) to W, so the digits of a buffer are how often it holds each contribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from counterfoil_oracles.histories.model import (
    BODY,
    COUNT,
    DEPENDENCIES,
    GRADIENTS,
    OWN,
    PROPAGATED,
    REQUIRED,
    SHARING,
    H,
    History,
    Routine,
    compile_faults,
)
from counterfoil_spec.commands import Command, Header, Outcome, Refused, Returned, Step, Trace
from counterfoil_spec.programs.nodes import Node

MOST_ROUTINES: Final = 4
_RULES: Final = {
    OWN: "compile/owned-twice",
    **dict.fromkeys(SHARING, "gradients/accumulated-elsewhere"),
    PROPAGATED: "gradients/propagated-earlier",
    REQUIRED: "run/fragment-not-owned",
    DEPENDENCIES: "run/dependencies",
    COUNT: "gradients/without-reset",
}


def worth(routine: int, gradient: str) -> float:
    """What one contribution of the routine to the gradient of that label adds."""
    return float(10 ** (routine + (MOST_ROUTINES if gradient == "W" else 0)))


def _ref(name: str) -> dict[str, str]:
    return {"ref": name}


class Script:
    """A trace that grows with the history it follows. Routines are compiled from the last value of their path."""

    def __init__(self, virtual: bool = False, body: Sequence[str] = BODY) -> None:
        self.history = History(virtual, body)
        self.steps: list[Step] = []
        self.rules: list[str] = []
        self._tried = 0
        self._do("context", {"backend": "cpu"}, bind="root")
        for gradient in GRADIENTS:
            intent = "virtual" if virtual and gradient is H else "on_device"
            declared = {"label": gradient.label, "shape": [1], "dtype": "float64", "zero_valid": True, "intent": intent}
            self._do("node", declared, bind=gradient.label)
        self._do("fragment", {"label": "H", "kind": "backprop", "gradient": _ref("H")}, bind="propagation")

    def compile(self, routine: Routine, parent: int | None = None) -> int | None:
        """Compile the routine from the value ``parent``'s compile returned; its number, None where it is refused."""
        path = [] if parent is None else self.history.path(parent)
        number = len(self.history.routines)
        made = f"comp{self._tried}"
        self._tried += 1
        self._comp(routine, number, made)
        origin = "root" if parent is None else f"r{parent}"
        args = {"context": _ref(origin), "comp": _ref(made), "name": f"r{number}"}
        faults = compile_faults(routine, path)
        if faults:
            self._refuse("compile", args, faults[0])
            return None
        self._do("compile", args, bind=f"r{number}")
        return self.history.compile(routine, parent)

    def _comp(self, routine: Routine, number: int, made: str) -> None:
        touched = [g for g in GRADIENTS if routine.accumulates(g) or routine.zeroes(g) or (routine.P and g is H)]
        for gradient in GRADIENTS:
            literal = {"label": f"{gradient.label}{number}", "shape": [1], "dtype": "float64"}
            values = {"literal": [worth(number, gradient.label)]}
            self._do("node", {**literal, **values}, bind=f"{made}.{gradient.label}")
        accumulated = [g.label for g in GRADIENTS if routine.accumulates(g)]
        args: dict[str, Any] = {
            "label": f"r{number}",
            "code": [_code(word, made) for word in self.history.body if getattr(routine, word)],
            "embedded": [_ref(gradient.label) for gradient in touched],
            "accumulates": [_ref(label) for label in accumulated],
            "zeroes": [_ref(gradient.label) for gradient in GRADIENTS if routine.zeroes(gradient)],
            "allowances": [[_ref(g.label), routine.allowance(g)] for g in GRADIENTS if routine.allowance(g) > 1],
            "owned": [_ref("propagation")] if routine.P else [],
            "requires": [_ref("propagation")] if routine.aH else [],
        }
        self._do("comp", {key: value for key, value in args.items() if value or key == "code"}, bind=made)

    def run(self, number: int, tip: int | None = None, timing: bool = False) -> bool:
        """Run a routine through the value that compiling ``tip`` returned (its own: None); whether it is accepted."""
        at = number if tip is None else tip
        args: dict[str, Any] = {"context": _ref(f"r{at}"), "routine": _ref(f"r{number}.routine")}
        faults = [fault for fault in self.history.run_faults(number, at) if not (timing and fault == COUNT)]
        if timing:
            args["timing"] = True
        if faults:
            self._refuse("run", args, faults[0])
            return False
        self._do("run", args, bind="ran")
        self.history.run(number)
        return True

    def extern(self, gradient: Node, value: float, tip: int) -> None:
        """Write a gradient from outside, through a value that binds it."""
        args = {"context": _ref(f"r{tip}"), "node": _ref(gradient.label), "values": [value]}
        self._do("set_values", args, bind="written")
        self.history.extern(gradient, value)

    def rollback(self, number: int) -> None:
        """Withdraw a run that, unlike a failed one, did write: the counts come back, the buffers stay as they are."""
        self._do("rollback", {"context": _ref(f"r{number}"), "routine": _ref(f"r{number}.routine")})
        root = self.history
        written = root.bags, root.base, root.increments
        root.rollback(number)
        root.bags, root.base, root.increments = written

    def double_by_hand(self, gradient: Node, tip: int) -> None:
        """Compile and run ``g += g`` by hand, from that value."""
        itself = {"set": _ref(gradient.label), "of": [_ref(gradient.label)], "accumulate": "add"}
        self._do("comp", {"label": "by_hand", "code": [itself]}, bind="by_hand.comp")
        self._do("compile", {"context": _ref(f"r{tip}"), "comp": _ref("by_hand.comp")}, bind="by_hand")
        self._do("run", {"context": _ref("by_hand"), "routine": _ref("by_hand.routine")}, bind="ran")
        self.history.hand_write(gradient)

    def read(self, gradient: Node, tip: int) -> float:
        """Read a gradient through a value that binds it; the sum the model predicts."""
        value = self.value(gradient)
        args = {"context": _ref(f"r{tip}"), "node": _ref(gradient.label)}
        self._do("get_values", args, outcome=Returned([value]))
        return value

    def value(self, gradient: Node) -> float:
        """What the model says the buffer holds."""
        base = self.history.base[gradient]
        held = sum(count * worth(token[0], token[2]) for token, count in self.history.bags[gradient].items())
        return held + (base if isinstance(base, float) else 0.0)

    def trace(self, title: str, seed: Sequence[str]) -> Trace:
        """The trace so far."""
        return Trace(Header(title=title, seed=list(seed), rules=sorted(set(self.rules))), list(self.steps))

    def _refuse(self, do: str, args: dict[str, Any], fault: str) -> None:
        self.rules.append(_RULES[fault])
        self._do(do, args, outcome=Refused(_RULES[fault]))

    def _do(self, do: str, args: dict[str, Any], bind: str | None = None, outcome: Outcome | None = None) -> None:
        self.steps.append(Step(command=Command(do=do, args=args, bind=bind), outcome=outcome or Returned(None)))


def _code(word: str, made: str) -> dict[str, Any]:
    """The assignment of one of a routine's words."""
    gradient = "H" if word == "zH" or word == "aH" else "W"
    if word.startswith("z"):
        return {"fetch": _ref(gradient), "constant": 0.0}
    source = "H" if word == "P" else f"{made}.{gradient}"
    return {"set": _ref(gradient), "of": [_ref(source)], "accumulate": "add"}
