"""Random programs of the context machine on the reference and a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.machines.choices import RandomChooser, weighted
from counterfoil_oracles.machines.contexts.machine import PLANS, interlude
from counterfoil_oracles.machines.contexts.plans import (
    asking,
    compiling,
    computing,
    merging,
    moving,
    networks,
    releasing,
    running,
    stories,
)
from counterfoil_oracles.machines.contexts.world import ContextPlan, ContextWorld, accepted
from counterfoil_oracles.machines.world import Plan, do, ref
from counterfoil_oracles.targets.pair import Skip, TargetPair
from counterfoil_oracles.targets.program import Parted, TargetProgram
from counterfoil_spec.commands import Command, Outcome

NEEDED: Final = frozenset({"node", "comp", "context", "compile"})
"""What a target must list, or there is nothing to draw."""

_NEEDS: Final[dict[ContextPlan, frozenset[str]]] = {
    releasing.budget: frozenset({"host", "device.set_budget"}), releasing.inject: frozenset({"inject"}),
    releasing.donate: frozenset({"context.buffer", "claims.enter"}), networks.train: frozenset({"tensor"}),
    networks.session: frozenset({"tensor", "session.closure"}),
}  # fmt: skip
"""Plans that mean nothing where a target lacks one of these."""

_ROOMS: Final = {
    compiling: {"programs", "contexts", "compile", "placement", "gradients"}, running: {"run", "gradients"},
    moving: {"transfers", "observability"}, merging: {"transfers", "compile", "run"},
    releasing: {"release", "transfers", "memory"}, asking: {"placement", "observability", "contexts"},
    computing: {"compile", "programs", "run", "placement"}, stories: {"gradients", "release", "run"},
    networks: {"frontend", "gradients", "programs"},
}  # fmt: skip
"""The chapters that each room of plans is about; a room that is not here is drawn from, and never more often."""

CHAPTERS: Final = frozenset().union(*_ROOMS.values()) - {"memory"}
"""The chapters for which context programs are drawn."""

_EMPHASIS: Final = 3
_TAKEN_BACK: Final = 12

Plans = Sequence[tuple[int, ContextPlan]]


def plans(commands: frozenset[str], chapters: frozenset[str]) -> Plans:
    """The machine's plans that a target can carry out; those about the chapters wanted more often, none never: a
    context has to be made before it is released."""
    rooms = {module.__name__: about for module, about in _ROOMS.items()}
    able = [(weight, plan) for weight, plan in PLANS if _NEEDS.get(plan, frozenset()) <= commands]
    drawn = [
        (weight * (_EMPHASIS if rooms.get(plan.__module__, set()) & chapters else 1), plan) for weight, plan in able
    ]
    return [*drawn, (_TAKEN_BACK, taken_back)]


def taken_back(world: ContextWorld) -> Plan[None]:
    """A routine that adds to a gradient run, taken back, and run again: as if it had not run."""
    adding = [name for name in world.routines if _only_adds(world.named(f"{name}.routine"))]
    for context in adding[-4:]:
        routine = f"{context}.routine"
        yield from running.prepare(world, context, routine)
        if world.would_run(context, routine) and accepted((yield from running.checked_run(world, context, routine))):
            yield from do("rollback", context=ref(context), routine=ref(routine))
            yield from running.checked_run(world, context, routine)
            return


def _only_adds(routine: Any) -> bool:
    return bool(set(routine.entry.accumulates) - set(routine.entry.zeroes))


class _Unmade(Exception):
    """Nobody made what a plan is about."""


class ContextProgram(TargetProgram):
    """Runs plans on a pair. Whatever makes something and is run by nobody ends its plan: nodes, comps and roots are
    what the rest of it names."""

    def run(self, plan: Any) -> None:
        """Run a plan to its end, or as far as the target does what it asks; raises Parted."""
        try:
            super().run(plan)
        except _Unmade:
            plan.close()

    def passed_over(self, command: Command, skip: Skip) -> Outcome:
        """What a plan is told of a command that nobody ran."""
        if command.bind is not None and command.do != "host":
            raise _Unmade
        return super().passed_over(command, skip)


def run_context_program(
    make_pair: Callable[[], TargetPair],
    drawn: Plans,
    seed: int,
    length: int,
    observe: Callable[[Command, Outcome], None],
    reference: Any,
) -> int:
    """A program of about ``length`` steps drawn from ``seed``, everything released at its end; the steps it took.

    Raises Parted.
    """
    chooser = RandomChooser(seed)
    with between_programs(reference):
        pair = make_pair()
        try:
            world = ContextWorld(pair.reference, chooser)
            world.interlude = lambda: interlude(world)
            program = ContextProgram(pair, world, observe)
            program.run(compiling.begin(world))
            attempts = 0 if world.contexts else 4 * length  # without a root there is nothing to draw
            while len(program.steps) < length and attempts < 4 * length:
                attempts += 1
                program.run(weighted(chooser, drawn)(world))
            finding = pair.look()
            if finding is not None:
                raise Parted(finding, program.trace)
            program.run(releasing.finish(world))
            return len(program.steps)
        finally:
            pair.close()
