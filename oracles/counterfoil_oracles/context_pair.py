"""The contexts of two halves side by side: what both show after each step, and the laws that a pair of steps shows.

Looked at are the contexts a step names or makes, and one other in turn. Laws: a question changes nothing, nor does a
refusal (R3); check_runnable refuses exactly what run would, short of what only its dispatch sees
(run/checks-agree); what was accepted breaks no gradient theorem (C21).
"""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.actions.contexts import routine_facts
from counterfoil_oracles.divergence import Divergence, differing, guarded, observation, parting
from counterfoil_oracles.environment import Environment
from counterfoil_oracles.observe import Observation
from counterfoil_oracles.observe_contexts import ContextObserver, comparable, lasting
from counterfoil_oracles.token_watch import TokenWatch
from counterfoil_spec.commands import Command, Outcome, Refused, Returned, references

QUESTIONS: Final = frozenset(
    {
        "check_runnable", "check_lineage_runnable", "check_launch_bindings", "can_run", "poisoned", "to_host",
        "to_host_all", "get_values", "get_value", "points_1d", "points_2d", "same_release_unit", "context.facts",
        "explain_observability", "routine.facts", "census", "compile_count", "save_history", "comp.facts",
    }
)  # fmt: skip
"""Commands that leave every record, buffer and placement as it was."""

_RUN_ALONE: Final = ("gradients/without-reset", "run/merge-slab", "door/", "memory/lost")
"""What run refuses and check_runnable does not look for."""


class ContextPair:
    """The contexts of the reference and of the subject; ``before`` and ``after`` frame each step."""

    def __init__(self, reference: Environment, subject: Environment) -> None:
        self._environments = (reference, subject)
        self._observers = (ContextObserver(reference), ContextObserver(subject))
        self._tokens = TokenWatch(reference)
        self._before: Observation = {}
        self._checked: tuple[Command, Outcome] | None = None
        self._turn = 0

    def learn(self, name: str) -> None:
        """Watch what a step bound to that name, if it is a context, a node or a tensor."""
        for env, observer in zip(self._environments, self._observers, strict=True):
            observer.learn(name, env.names[name])

    def forget(self, name: str) -> None:
        """Watch a name no longer."""
        for observer in self._observers:
            observer.forget(name)

    def start_over(self) -> None:
        """Every context was released and forgotten: token bags begin anew."""
        self._tokens = TokenWatch(self._environments[0])
        self._checked = None

    def lasting(self) -> tuple[Observation, Observation]:
        """All that both halves show of every context now and that a question may not change."""
        names = self._observers[0].contexts
        return lasting(self._observers[0].look(names)), lasting(guarded(lambda: self._observers[1].look(names)))

    def routines(self, name: str) -> str | None:
        """How the facts of a routine that both halves just made differ, in words; None if they do not."""
        if name not in self._environments[0].names:
            return None
        ours, theirs = (routine_facts(env, env.names[name]) for env in self._environments)
        return None if ours == theirs else f"made {name}: {parting(ours, theirs)}"

    def before(self, command: Command) -> None:
        """Look at the contexts that a step is about to name."""
        for observer in self._observers:
            observer.turn += 1
        if self._observers[0].contexts:
            self._before = self._observers[0].look(self._named(command))
            self.about(command)

    def about(self, command: Command) -> None:
        """Note what the token bags must know before a step."""
        self._tokens.before(command)

    def follow(self, command: Command, outcome: Outcome) -> list[str]:
        """Carry a step out on the token bags; what is wrong, in words."""
        return self._tokens.follow(command, outcome)

    def after(self, index: int, command: Command, outcome: Outcome) -> Divergence | None:
        """Where the subject differs from the reference after a step, or the reference breaks a law; None if nowhere."""
        if not self._observers[0].contexts:
            return None
        names = list(dict.fromkeys([*self._named(command), *self._in_turn()]))
        expected = self._observers[0].look(names)
        actual = guarded(lambda: self._observers[1].look(names))
        found = differing(index, command, comparable(expected, actual), comparable(actual, expected))
        return (
            found
            or self._changed(index, command, outcome, expected)
            or self._unlike_check(index, command, outcome)
            or self._against_a_theorem(index, command, outcome)
        )

    def _against_a_theorem(self, index: int, command: Command, outcome: Outcome) -> Divergence | None:
        wrong = self.follow(command, outcome)
        return Divergence(index, command, None, wrong, f"accepted against a theorem: {wrong[0]}") if wrong else None

    def _named(self, command: Command) -> list[str]:
        """The contexts that a command names: those of routines too, and the one it binds."""
        names = list(references(command.args))
        names += [name.removesuffix(".routine") for name in names if name.endswith(".routine")]
        return [*names, command.bind] if command.bind is not None else names

    def _in_turn(self) -> list[str]:
        self._turn += 1
        names = self._observers[0].contexts
        return [names[self._turn % len(names)]]

    def _changed(self, index: int, command: Command, outcome: Outcome, after: Observation) -> Divergence | None:
        asked = isinstance(outcome, Returned) and command.do in QUESTIONS
        if not asked and not isinstance(outcome, Refused):
            return None
        before = lasting(self._before)
        now = {what: after.get(what) for what in before}
        if before == now:
            return None
        what = next(name for name in before if before[name] != now[name])
        why = "a refusal" if isinstance(outcome, Refused) else "a question"
        words = f"{why} changed {observation(what, before, now)}"
        return Divergence(index, command, before[what], now[what], words)

    def _unlike_check(self, index: int, command: Command, outcome: Outcome) -> Divergence | None:
        checked, self._checked = self._checked, None
        if command.do == "check_runnable":
            self._checked = (command, outcome)
        elif command.do == "run" and checked is not None and _same_call(checked[0], command):
            told, ran = _verdict(checked[1]), _verdict(outcome)
            if told != ran and not (told is None and _is_of_run_alone(outcome)):
                return Divergence(index, command, told, ran, f"run says {ran}, and check_runnable said {told}")
        return None


def _same_call(check: Command, run: Command) -> bool:
    return all(check.args[key] == run.args[key] for key in ("context", "routine"))


def _verdict(outcome: Outcome) -> Any:
    """What a check or a run refused, the operation's name apart; None if nothing."""
    if not isinstance(outcome, Refused):
        return None
    subjects = {name: value for name, value in (outcome.subjects or {}).items() if name != "operation"}
    return outcome.rule, subjects


def _is_of_run_alone(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused) and outcome.rule.startswith(_RUN_ALONE)
