"""Explaining a rule, or a trace: what each step did, and at the failing one the rule, the facts and the holders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from counterfoil_oracles.actions.contexts import context_facts, node_facts, routine_facts
from counterfoil_oracles.compare import Divergence, Pair
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.environment import OpenClaims
from counterfoil_oracles.observe import role
from counterfoil_oracles.wording import outcome_words, words
from counterfoil_spec.answers import DOOR_ORDER, Answer
from counterfoil_spec.commands import Command, Outcome, Trace, references
from counterfoil_spec.rules import Rule, operations, registry, rule_of


def explain_rule(rule: Rule) -> list[str]:
    """A rule's page: statement, reason, what a refusal names and says, the way out, its place in the order, sources."""
    lines = [rule.id, "", f"  {rule.statement}", f"  Why: {rule.why}"]
    if rule.kind == "refusal":
        lines += [f"  Raises: {rule.raises}: {rule.message}", f"  Names: {', '.join(rule.names) or 'the operands'}"]
        lines += [f"  Way out: {rule.fix}", f"  Order: {_order(rule)}"]
        users = [name for name, ids in operations().items() if rule.id in ids]
        lines += [f"  Looked for by: {', '.join(users)}"] if users else []
    return [*lines, f"  Source: {', '.join(rule.seed)}"]


def _order(rule: Rule) -> str:
    for at, answer in enumerate(DOOR_ORDER):
        if answer.rule == rule.id:
            return f"{at + 1} of {len(DOOR_ORDER)} at the door; the first that applies is the answer"
    return f"{rule.order} outside the door (lower is looked for first)"


def explain_trace(trace: Trace, reference: Any, subject: Any | None = None) -> list[str]:
    """A trace step by step; refusals with their rule; at the last step, or where the subject parts, all the facts.

    Without a subject the reference alone is run.
    """
    lines = [trace.header.title or "a trace", ""]
    with Pair(reference, subject) if subject is not None else Driver(reference) as runner:
        for at, step in enumerate(trace.steps):
            last = at == len(trace.steps) - 1
            driver = runner.reference if isinstance(runner, Pair) else runner
            facts = list(facts_of(driver, step.command))
            outcome, divergence = _run(runner, step.command)
            lines.append(f"{at + 1:3}. {words(step.command)} -> {outcome_words(step.command, outcome)}")
            rule = rule_of_outcome(step.command, outcome)
            if divergence is not None or (last and rule is not None):
                return [*lines, "", *_failing(rule, facts, divergence)]
            if rule is not None:
                lines.append(f"       {rule}: {rule_of(rule).statement}")
    return lines


def _run(runner: Pair | Driver, command: Command) -> tuple[Outcome, Divergence | None]:
    return runner.step(command) if isinstance(runner, Pair) else (runner.execute(command), None)


def _failing(rule: str | None, facts: list[str], divergence: Divergence | None) -> list[str]:
    lines = ["Before this step:", *(f"  {fact}" for fact in facts)] if facts else []
    if divergence is not None:
        lines += ["The halves part here:", f"  {divergence.difference}"]
    for found in dict.fromkeys(found for found in (rule, _actual_rule(divergence)) if found is not None):
        lines += ["", *explain_rule(registry()[found])]
    return lines


def _actual_rule(divergence: Divergence | None) -> str | None:
    if divergence is None or not hasattr(divergence.actual, "__struct_fields__"):
        return None
    actual: Any = divergence.actual
    rule = rule_of_outcome(divergence.command, actual)
    return rule if rule in registry() else None


# --- facts -----------------------------------------------------------------------------------------------------------


def facts_of(driver: Driver, command: Command) -> Iterator[str]:
    """What each object that the command names is, and who holds its memory."""
    for name in dict.fromkeys(references(command.args)):
        thing: Any = driver.names.get(name)
        if hasattr(thing, "layout"):
            layout: Any = thing.layout
            yield (
                f"{name} is {thing.dtype.name} {list(layout.shape)}, strides {list(layout.strides)}, "
                f"offset {layout.offset}, on {thing.device.name}"
            )
            yield from _memory(driver, name, thing.buffer)
        elif hasattr(thing, "overlaps"):
            yield from _memory(driver, name, thing)
        elif role(thing) == "context":
            yield from _context(driver, name, thing)
        elif hasattr(thing, "execution_deps"):
            facts = routine_facts(driver.environment, thing)
            told = (f"{what.replace('_', ' ')} {value}" for what, value in facts.items())
            yield f"{name} is a routine: {', '.join(told)}"
        elif hasattr(thing, "submitted"):
            yield f"device {name} ({thing.name}) has performed {thing.reached} of {thing.submitted} submissions"


def _context(driver: Driver, name: str, context: Any) -> Iterator[str]:
    facts = context_facts(context)
    yield f"{name} is {facts['name']} at depth {facts['lifecycle_depth']}, with {facts['ledger_records']} records"
    for label, node in driver.names.items():
        if role(node) == "node":
            told = ", ".join(f"{what.replace('_', ' ')} {value}" for what, value in node_facts(context, node).items())
            yield f"  {node.label} ({label}): {told}"


def _memory(driver: Driver, name: str, buffer: Any) -> Iterator[str]:
    count, exclusive, exported = buffer.claims
    dead = f"dead: it was {buffer.dead}" if buffer.dead is not None else "live"
    held = f"{count} claims" + (", held exclusive" if exclusive else "") + (", exported" if exported else "")
    yield f"  the buffer of {name}: {buffer.nbytes} bytes, {buffer.access.value}, {dead}, {held}"
    if buffer.dead is None:
        yield f"  its bytes: {bytes(driver.half.inspection.memory_bytes(buffer)).hex() or 'none'}"
    sharers = [other for other, thing in driver.names.items() if other != name and _shares(buffer, thing)]
    if sharers:
        yield f"  sharing its bytes: {', '.join(sharers)}"
    if count or exclusive:
        blocks = [other for other, thing in driver.names.items() if isinstance(thing, OpenClaims) and thing.is_open]
        yield f"  open claims: {', '.join(blocks) or 'none by name'}"
    device = buffer.device
    if device.submitted > device.reached:
        yield f"  {device.name} has {device.submitted - device.reached} submissions to perform"


def _shares(buffer: Any, thing: Any) -> bool:
    other = thing.buffer if hasattr(thing, "layout") else thing
    return hasattr(other, "overlaps") and bool(buffer.overlaps(other))


def answer_rules() -> dict[str, str]:
    """The rule of each answer's name."""
    return {answer.name: answer.rule for answer in Answer}
