"""`counterfoil explain RULE`: its examples are refused and accepted when they are run."""

from __future__ import annotations

import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles import examples
from counterfoil_oracles.coverage import NEVER_PASSED, OUT_OF_REACH, rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_spec.commands import Returned
from counterfoil_spec.rules import registry

RULES = [
    rule.id
    for rule in registry().values()
    if rule.kind == "refusal" and rule.status == "active" and rule.id not in OUT_OF_REACH
]
REFUSED_ALWAYS = {"door/refuses-nothing": "refused() refuses whatever it is told", **NEVER_PASSED}


@pytest.mark.parametrize("half", [counterfoil_reference, counterfoil], ids=["reference", "fast"])
@pytest.mark.parametrize("rule", RULES)
def test_the_refused_example_is_refused_by_the_rule(rule: str, half: object) -> None:
    """Its last step, on both halves."""
    refused, _ = examples.found(rule)
    program = examples.shortened(refused, rule, counterfoil_reference)
    with Driver(half) as driver:
        outcome = driver.run(program)[-1]
    assert rule_of_outcome(program[-1], outcome) == rule


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in REFUSED_ALWAYS])
def test_the_accepted_example_is_accepted(rule: str) -> None:
    """It makes the same call as the refused one."""
    refused, accepted = examples.found(rule)
    program = examples.shortened(accepted, None, counterfoil_reference)
    with Driver(counterfoil_reference) as driver:
        outcome = driver.run(program)[-1]
    assert isinstance(outcome, Returned) and rule_of_outcome(program[-1], outcome) is None
    assert program[-1].do == refused[-1].do
