"""Exhaustive small scope over contexts: every short history of one gradient program, on both halves."""

from collections import Counter

import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles import exhaust_contexts
from counterfoil_spec.commands import Command

DEEPER = {"gradients/without-reset", "run/compile-context-released", "run/rollback-overtaken"}
"""What histories of three commands cannot be refused by."""


def test_every_short_history_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    """The halves part in no history of up to three commands; every action is accepted and, but release, refused."""
    result = exhaust_contexts.walk(counterfoil_reference, counterfoil, depth=3)
    with capsys.disabled():
        print("", *result.lines(), sep="\n")
    assert result.divergence is None, result.divergence
    assert result.histories >= 1000
    actions = {command.do for command in exhaust_contexts.letters(exhaust_contexts.State(routines=("v0.routine",)))}
    assert actions == set(+result.accepted)
    assert actions - {"context.release"} == set(+result.refused)
    assert actions == set(exhaust_contexts.ACTIONS)
    assert set(result.rules) == set(exhaust_contexts.RULES) - DEEPER
    few = f"{result.histories} histories, under {exhaust_contexts.LEAST_HISTORIES}"
    assert set(result.shortfalls()) == {few, *(f"{rule}: refused nothing" for rule in DEEPER)}


def test_a_walk_that_met_nothing_falls_short_of_everything() -> None:
    """Each action and each rule is asked for, and a rule that is not expected is told."""
    empty = exhaust_contexts.Walk(rules=Counter({"compile/unnamed": 1}))
    told = set(empty.shortfalls())
    assert {f"{action}: never accepted" for action in exhaust_contexts.ACTIONS} < told
    assert {f"{action}: never refused" for action in exhaust_contexts.ACTIONS if action != "context.release"} < told
    assert {f"{rule}: refused nothing" for rule in exhaust_contexts.RULES} < told
    assert "compile/unnamed: refused a history, and is not expected to" in told


def test_the_walk_notices_where_the_halves_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half that forgets a release is found out, with the history that shows it."""
    monkeypatch.setattr(counterfoil.Context, "release", lambda self: None)
    result = exhaust_contexts.walk(counterfoil_reference, counterfoil, depth=2)
    monkeypatch.undo()
    assert result.divergence is not None
    assert result.program is not None and "context.release" in [command.do for command in result.program]


def test_no_history_is_counted_twice() -> None:
    """The commands that may follow a history differ from each other."""
    state = exhaust_contexts.State()
    first = Command(do="compile", args={"context": {"ref": "v0"}, "comp": {"ref": "add"}}, bind="v1")
    for _ in range(2):
        commands = [str(command) for command in exhaust_contexts.letters(state)]
        assert len(commands) == len(set(commands))
        state = state.after(first)
