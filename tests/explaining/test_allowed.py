"""What would have been allowed: every suggestion is accepted by both halves, and most refusals have one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.explain import explain_trace
from counterfoil_oracles.explaining import Suggestion, allowed
from counterfoil_oracles.explaining.trying import is_accepted
from counterfoil_oracles.page import page
from counterfoil_oracles.targets.vectors import named
from counterfoil_spec.commands import Command, Header, Step, Trace, decode_trace

TRACES = Path(__file__).parents[1] / "traces"
PARTS = 8
LEAST = 0.85
"""The share of refusals in each part of the vectors that have a suggestion, at least; of all together it is 0.94."""


@pytest.fixture(scope="module", autouse=True)
def settled() -> None:
    """What is imported by now is collected no more: garbage is, after each question."""
    settle_imports()


@functools.cache
def refusals() -> list[tuple[str, list[Command], Command]]:
    """Every refused step of the vectors, but for refusals asked for: its vector, what ran before, the command."""
    found = []
    for name, trace in named():
        commands = [step.command for step in trace.steps]
        for at, step in enumerate(trace.steps):
            refused = step.outcome is not None and rule_of_outcome(step.command, step.outcome) is not None
            if refused and step.command.do != "refused":
                found.append((f"{name}, step {at + 1}", commands[:at], step.command))
    return found


def is_followed(half: object, ran: Sequence[Command], commands: Sequence[Command]) -> bool:
    """Whether a half accepts commands after a program."""
    with Driver(half) as driver:
        driver.run(ran)
        return all(is_accepted(command, driver.execute(command)) for command in commands)


def check_form(refused: Command, found: Sequence[Suggestion]) -> None:
    """Four at most, no two alike; the last command stands where the refused one did, and binds the same name."""
    assert len(found) <= 4
    assert len({each.words for each in found}) == len(found)
    assert {(each.commands[-1].do, each.commands[-1].bind) for each in found} <= {(refused.do, refused.bind)}


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, PARTS))])
def test_every_suggestion_is_accepted_by_both_halves(part: int) -> None:
    """Appended to what ran before the refusal, over all refusals of the vectors; hardly one has none."""
    mine, wrong, lacking = refusals()[part::PARTS], [], []
    for name, ran, refused in mine:
        found = allowed(ran, refused, counterfoil_reference)
        lacking += [] if found else [name]
        check_form(refused, found)
        for half in (counterfoil_reference, counterfoil):
            wrong += [(name, each.words) for each in found if not is_followed(half, ran, each.commands)]
    print(f"{len(mine) - len(lacking)} of {len(mine)} refusals have a suggestion; none: {', '.join(lacking)}")
    assert wrong == []
    assert len(mine) - len(lacking) >= LEAST * len(mine)


def at_the_end(name: str, steps: int) -> tuple[list[Command], Command]:
    """A vector up to a step, which is refused."""
    commands = [step.command for step in dict(named())[name].steps]
    return commands[: steps - 1], commands[steps - 1]


TOLD = {
    ("arrays/get-exclusive", 6, "memory/exclusive"): ["first leave the claims c; then the same"],
    ("arrays/door-overlapping", 11, "door/overlapping"): [
        "first copy x as x_copy; then pass the door writing [x_copy], reading [rows], to do nothing",
        "first copy rows as rows_copy; then pass the door writing [x], reading [rows_copy], to do nothing",
    ],
    ("arrays/transfer-shapes-and-dtypes", 4, "arrays/shapes-differ"): [
        "first make an uninitialised int32 array of shape [2, 1] on the host as y_fresh; then transfer x into y_fresh"
    ],
    ("arrays/get-index", 6, "arrays/index-range"): ["the same with [0, 0] in place of [-1, 0] as index"],
    ("arrays/empty-memory-kinds", 3, "memory/off-host"): [
        "first take the host as host, then copy own to host as own_on_host; then set own_on_host at [0] to 7"
    ],
    ("contexts/binding-of-every-kind", 12, "run/launch-binding"): [
        "first bind i to 0, then bind j to 0; then the same",
        "first bind i to 3, then bind j to 1; then the same",
    ],
    ("contexts/depends-on-readers-of-what-it-writes", 12, "run/dependencies"): [
        "first run a.routine from c, then run b.routine from c; then the same"
    ],
    ("contexts/foreign-write-of-a-shared-literal", 14, "run/foreign-write"): [
        "first copy c from a2 into cb as cb_adopted; then the same"
    ],
    ("contexts/compile-failure-leaves-nothing", 17, "compile/owned-twice"): [
        "the same with r in place of c as context"
    ],
    ("contexts/gradient-counts-per-routine", 19, "gradients/without-reset"): [
        "first run z.routine from b; then the same"
    ],
    ("contexts/compile-names-from-labels", 6, "run/unwritten-inputs"): [
        "first upload [1, 1] into x of ca as ca_with_x; then run ca.routine from ca_with_x"
    ],
    ("contexts/release-adopted-deepest-first", 20, "release/dead-handle"): [
        "first compile init from v as i_again; then read s from i_again"
    ],
}  # fmt: skip
"""By vector, step and rule: what must be among what is told."""


@pytest.mark.parametrize("where", TOLD, ids=lambda where: str(where[2]))
def test_what_a_rule_asks_for_is_told(where: tuple[str, int, str]) -> None:
    """In words that name what there is: the claims to leave, the routines to run, the operand to copy."""
    name, steps, rule = where
    ran, refused = at_the_end(name, steps)
    with Driver(counterfoil_reference) as driver:
        driver.run(ran)
        assert rule_of_outcome(refused, driver.execute(refused)) == rule
    told = [each.words for each in allowed(ran, refused, counterfoil_reference)]
    assert set(TOLD[where]) <= set(told), told


def test_the_same_is_told_again() -> None:
    """What is suggested depends on the trace alone."""
    for name, ran, refused in refusals()[::90]:
        first, second = (allowed(ran, refused, counterfoil_reference) for _ in range(2))
        assert first == second, name


def test_nothing_is_told_of_what_is_accepted() -> None:
    """Where no rule refuses, there is nothing to suggest."""
    assert allowed([], Command(do="host", bind="h"), counterfoil_reference) == []


def read(name: str) -> Trace:
    return decode_trace((TRACES / f"{name}.jsonl").read_bytes())


def cut(trace: Trace, steps: int) -> Trace:
    return Trace(Header(title=trace.header.title), [Step(command=step.command) for step in trace.steps[:steps]])


def test_the_text_ends_with_what_was_allowed() -> None:
    """After the rule: its way out is general, these are not."""
    lines = explain_trace(read("defects/ledger-allowance"), counterfoil_reference, counterfoil)
    begins = lines.index("Allowed here instead, each tried on the reference:")
    assert lines[begins + 1] == "  - first run c26.routine from c27; then the same"
    assert "  Way out: Run the zeroing routine, write the buffer, or build it with accum_steps." in lines[:begins]


def test_the_text_says_where_nothing_was() -> None:
    """A CUDA device that is not there has no alternative."""
    trace = Trace(Header(), [Step(command=Command(do="cuda", args={"ordinal": 0}, bind="g"))])
    lines = explain_trace(trace, counterfoil_reference)
    assert lines[-1] == "Nothing else that was tried here is accepted: the way out is the rule's own."


def test_the_text_tells_the_counts_a_rule_looked_at() -> None:
    """How often a routine added, and how often it may."""
    lines = explain_trace(read("defects/ledger-allowance"), counterfoil_reference)
    assert "    since the last reset it added to p1.grad 1 of 1 times" in lines
    assert "    its unit holds 4 bytes: einsum6" in lines


def test_the_text_tells_who_holds_a_buffer() -> None:
    """The open claims on its memory by name, and no others."""
    lines = explain_trace(cut(read("arrays/get-exclusive"), 6), counterfoil_reference)
    assert "    held by: c, which donates x" in lines


def test_the_page_shows_what_was_allowed_at_the_refused_step() -> None:
    """In the section of that step, escaped."""
    made = page(cut(read("arrays/get-exclusive"), 6), counterfoil_reference)
    section = made.partition('<section data-step="5">')[2].partition("</section>")[0]
    assert "<h3>Allowed here instead</h3><ul><li>first leave the claims c; then the same</li></ul>" in section
    refused = made.count('class="refused"')
    assert made.count('<div class="allowed">') == refused == 3
