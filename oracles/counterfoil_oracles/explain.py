"""Explaining a rule, or a trace: what each step did, and at the failing one the rule, the facts, the holders, and what
would have been allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil_oracles.actions.contexts import context_facts, node_facts, routine_facts
from counterfoil_oracles.compare import Divergence, Pair
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.environment import OpenClaims
from counterfoil_oracles.explaining import Suggestion, allowed
from counterfoil_oracles.explaining.facts import context_lines, routine_lines
from counterfoil_oracles.observe import role
from counterfoil_oracles.targets.target import legible
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
    """A trace step by step; refusals with their rule; at the last step, or where the subject parts, all the facts, and
    what the reference would have accepted there instead.

    Without a subject the reference alone is run.
    """
    lines, failing = _told(trace, reference, subject)
    if failing is None:
        return lines
    lines += ["", *failing.lines()]
    if failing.rule is not None:
        ran = [step.command for step in trace.steps]
        lines += ["", *allowed_lines(allowed(ran[: failing.at], ran[failing.at], reference))]
    return lines


@dataclass(frozen=True)
class _Failing:
    """The step at which a trace ends badly: the reference's rule, what there was before it, where the halves part."""

    at: int
    rule: str | None
    facts: list[str]
    divergence: Divergence | None

    def lines(self) -> list[str]:
        """The facts, where the halves part, and the rules concerned."""
        lines = ["Before this step:", *(f"  {fact}" for fact in self.facts)] if self.facts else []
        if self.divergence is not None:
            lines += ["The halves part here:", f"  {self.divergence.difference}"]
        rules = (found for found in (self.rule, _actual_rule(self.divergence)) if found is not None)
        for found in dict.fromkeys(rules):
            lines += ["", *explain_rule(registry()[found])]
        return lines


def _told(trace: Trace, reference: Any, subject: Any | None) -> tuple[list[str], _Failing | None]:
    """The steps in words, up to the one that fails."""
    lines = [legible(trace.header.title) or "a trace", ""]
    commands = [step.command for step in trace.steps]
    with Pair(reference, subject) if subject is not None else Driver(reference) as runner:
        if isinstance(runner, Pair):
            runner.settle_fresh()
        for at, command in enumerate(commands):
            driver = runner.reference if isinstance(runner, Pair) else runner
            facts = list(facts_of(driver, command, commands[:at]))
            outcome, divergence = _run(runner, command)
            lines.append(f"{at + 1:3}. {words(command)} -> {outcome_words(command, outcome)}")
            rule = rule_of_outcome(command, outcome)
            if divergence is not None or (at == len(commands) - 1 and rule is not None):
                return lines, _Failing(at, rule, facts, divergence)
            if rule is not None:
                lines.append(f"       {rule}: {rule_of(rule).statement}")
    return lines, None


def allowed_lines(found: Sequence[Suggestion]) -> list[str]:
    """What would have been allowed, a line for each; that nothing tried was, where it is so."""
    if not found:
        return ["Nothing else that was tried here is accepted: the way out is the rule's own."]
    return ["Allowed here instead, each tried on the reference:", *(f"  - {each.words}" for each in found)]


def _run(runner: Pair | Driver, command: Command) -> tuple[Outcome, Divergence | None]:
    return runner.step(command) if isinstance(runner, Pair) else (runner.execute(command), None)


def _actual_rule(divergence: Divergence | None) -> str | None:
    if divergence is None or not hasattr(divergence.actual, "__struct_fields__"):
        return None
    actual: Any = divergence.actual
    rule = rule_of_outcome(divergence.command, actual)
    return rule if rule in registry() else None


# --- facts -----------------------------------------------------------------------------------------------------------


def facts_of(driver: Driver, command: Command, ran: Sequence[Command] = ()) -> Iterator[str]:
    """What each object that the command names is, and who holds its memory; ``ran``: the commands before it."""
    for name in dict.fromkeys(references(command.args)):
        thing: Any = driver.names.get(name)
        if hasattr(thing, "layout"):
            layout: Any = thing.layout
            yield (
                f"{name} is {thing.dtype.name} {list(layout.shape)}, strides {list(layout.strides)}, "
                f"offset {layout.offset}, on {thing.device.name}"
            )
            yield from _memory(driver, name, thing.buffer, ran)
        elif hasattr(thing, "overlaps"):
            yield from _memory(driver, name, thing, ran)
        elif role(thing) == "context":
            yield from _context(driver, name, thing)
        elif hasattr(thing, "execution_deps"):
            facts = routine_facts(driver.environment, thing)
            told = (f"{what.replace('_', ' ')} {value}" for what, value in facts.items())
            yield f"{name} is a routine: {', '.join(told)}"
            yield from (f"  {line}" for line in routine_lines(thing))
        elif hasattr(thing, "submitted"):
            yield f"device {name} ({thing.name}) has performed {thing.reached} of {thing.submitted} submissions"


def _context(driver: Driver, name: str, context: Any) -> Iterator[str]:
    facts = context_facts(context)
    yield f"{name} is {facts['name']} at depth {facts['lifecycle_depth']}, with {facts['ledger_records']} records"
    yield from (f"  {line}" for line in context_lines(context))
    for label, node in _nodes(driver, context):
        told = ", ".join(f"{what.replace('_', ' ')} {value}" for what, value in node_facts(context, node).items())
        yield f"  {node.label} ({label}): {told}"


def _nodes(driver: Driver, context: Any) -> Iterator[tuple[str, Any]]:
    """The nodes that have names, and those of tensors that the context binds, with how commands name them."""
    for name, thing in driver.names.items():
        if role(thing) == "node":
            yield name, thing
        elif role(thing) == "tensor":
            for label, node in ((name, thing.value), (f"the gradient of {name}", thing.grad)):
                if node is not None and node in context.buffers:
                    yield label, node


def _memory(driver: Driver, name: str, buffer: Any, ran: Sequence[Command]) -> Iterator[str]:
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
        yield f"  held by: {', '.join(_holders(driver, buffer, ran)) or 'nobody that has a name'}"
    device = buffer.device
    if device.submitted > device.reached:
        yield f"  {device.name} has {device.submitted - device.reached} submissions to perform"


def _holders(driver: Driver, buffer: Any, ran: Sequence[Command]) -> Iterator[str]:
    """The open claims on a buffer's memory, by name, with what they read or donate of it."""
    for name, thing in driver.names.items():
        entered = next((each for each in reversed(ran) if each.bind == name and each.do == "claims.enter"), None)
        if not (isinstance(thing, OpenClaims) and thing.is_open) or entered is None:
            continue
        for key, does in (("read", "reads"), ("donate", "donates")):
            for other in references(entered.args.get(key)):
                if _memory_of(driver.names.get(other)) is buffer.memory:
                    yield f"{name}, which {does} {other}"


def _memory_of(thing: Any) -> Any:
    return getattr(thing.buffer if hasattr(thing, "layout") else thing, "memory", None)


def _shares(buffer: Any, thing: Any) -> bool:
    other = thing.buffer if hasattr(thing, "layout") else thing
    return hasattr(other, "overlaps") and bool(buffer.overlaps(other))


def answer_rules() -> dict[str, str]:
    """The rule of each answer's name."""
    return {answer.name: answer.rule for answer in Answer}
