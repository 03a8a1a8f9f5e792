"""What comes before a refused command on contexts: runs, uploads, bindings, fills, releases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from counterfoil_oracles.explaining.situation import Repair, Situation, do, in_place, ref
from counterfoil_oracles.observe import role
from counterfoil_spec.commands import Command

_FILL: Final = "copy of "
"""How a fill of the merge buffer is named among what a routine depends on."""


def repairs(situation: Situation) -> Iterator[Repair]:
    """What the rule asks for, where this module knows it; nothing where it does not."""
    found = _REPAIRS.get(situation.rule)
    if found is not None:
        yield from found(situation)


def _name(situation: Situation, key: str) -> str:
    """The name an argument refers to."""
    data = situation.command.args.get(key)
    return str(data["ref"]) if isinstance(data, dict) and "ref" in data else ""


def _home(situation: Situation) -> str:
    """The context a routine was compiled with, where it still has its name; else the command's."""
    home = _name(situation, "routine").removesuffix(".routine")
    return home if role(situation.named(home)) == "context" else _name(situation, "context")


def node_ref(situation: Situation, label: str) -> tuple[Any, Any] | None:
    """How commands name the node of a label, and the node; None where they cannot."""
    for name, thing in reversed(situation.driver.names.items()):
        if role(thing) == "node" and thing.label == label:
            return ref(name), thing
        if role(thing) == "tensor" and thing.value.label == label:
            return ref(name), thing.value
        if role(thing) == "tensor" and thing.grad is not None and thing.grad.label == label:
            return {"grad": name}, thing.grad
    return None


def _uploads(situation: Situation, context: str, labels: Sequence[str], value: int = 1) -> Iterator[Repair]:
    """Values uploaded into nodes, one after the other, and the context that has them all."""
    steps: list[Command] = []
    latest = context
    for label in labels:
        found = node_ref(situation, label)
        if found is None:
            return
        made = situation.free(f"{context}_with_{label}".replace(".", "_"))
        steps.append(
            do("set_values", made, context=ref(latest), node=found[0], values=[value] * found[1].size)
        )  # fmt: skip
        latest = made
    if steps and context:
        yield Repair(tuple(steps), {context: latest})


def _routines(situation: Situation, name: str) -> list[str]:
    """The names of the routines called so."""
    return situation.all(lambda thing: hasattr(thing, "execution_deps") and thing.name == name)


def _runs(situation: Situation, names: Sequence[str], context: str | None = None) -> Iterator[Repair]:
    """Routines run, in the order of their ids, each from its own context or from one for all."""
    found = [next(iter(reversed(_routines(situation, name))), None) for name in dict.fromkeys(names)]
    if not found or None in found:
        return
    ordered = sorted((name for name in found if name), key=lambda name: int(situation.named(name).routine_id))
    yield Repair(
        tuple(do("run", context=ref(context or name.removesuffix(".routine")), routine=ref(name)) for name in ordered)
    )


def _inputs(situation: Situation) -> Iterator[Repair]:
    """Values for what nothing wrote."""
    yield from _uploads(situation, _home(situation), situation.subjects["nodes"])


def _dependencies(situation: Situation) -> Iterator[Repair]:
    """What the routine depends on, run first; a fill of the merge buffer that is gone, made again."""
    missing = situation.subjects["missing"]
    for name in missing:
        if name.startswith(_FILL):
            yield from _compiled_again(situation, name.removeprefix(_FILL))
    yield from _runs(situation, missing, _name(situation, "context"))


def _bindings(situation: Situation) -> Iterator[Repair]:
    """Every symbol bound within its range: to 0, or to its greatest value."""
    symbols = {thing.label: name for name, thing in situation.driver.names.items() if hasattr(thing, "greatest")}
    labels = [label for label, _, _ in situation.subjects["bindings"]]
    if not all(label in symbols for label in labels):
        return
    for end in (0, None):
        steps = []
        for label in labels:
            greatest = situation.named(symbols[label]).greatest
            value = 0 if end == 0 else greatest if greatest is not None else 1
            steps.append(do("symbol.set", symbol=ref(symbols[label]), value=value))
        yield Repair(tuple(steps))


def _resets(situation: Situation) -> Iterator[Repair]:
    """The gradients zeroed by their routine; or from outside; or the run before taken back."""
    gradients = situation.subjects["gradients"]
    zeroing = [name for _, name in gradients if name is not None]
    if len(zeroing) == len(gradients):
        yield from _runs(situation, zeroing, _name(situation, "context"))
    yield from _uploads(situation, _home(situation), [label for label, _ in gradients], 0)
    yield Repair((do("rollback", context=ref(_name(situation, "context")), routine=situation.command.args["routine"]),))


def _adoptions(situation: Situation) -> Iterator[Repair]:
    """What another root wrote, copied from one of its contexts; or written anew."""
    labels, target = situation.subjects["nodes"], _home(situation)
    nodes = [node_ref(situation, label) for label in labels]
    for source in reversed(situation.of_role("context")):
        if None not in nodes and all(node is not None and node[1] in situation.named(source).buffers for node in nodes):
            if situation.named(source).ledger is not situation.named(target).ledger:
                steps = [
                    do("copy_from", situation.free(f"{target}_adopted"), context=ref(target), source=ref(source),
                       node=node[0])
                    for node in nodes if node is not None
                ]  # fmt: skip
                yield Repair(tuple(steps))
    yield from _uploads(situation, target, labels)


def _filled(situation: Situation, label: str, context: str) -> Iterator[tuple[Command, str]]:
    """The merge buffer of a context filled with a node, from any context that binds it, and the context behind it."""
    found = node_ref(situation, label)
    if found is None:
        return
    for source in reversed(situation.of_role("context")):
        if found[1] in situation.named(source).buffers:
            made = situation.free(f"{context}_filled")
            args = {"context": ref(context), "source": ref(source), "node": found[0], "into_merge_buffer": True}
            yield Command(do="copy_from", args=args, bind=made), made


def _refills(situation: Situation) -> Iterator[Repair]:
    """The merge buffer filled with what the code reads; a compile then starts from there."""
    context = _name(situation, "context")
    for step, made in _filled(situation, situation.subjects["reads"], context):
        yield Repair((step,), {context: made})


def _slab(situation: Situation) -> Iterator[Repair]:
    """What the merge buffer no longer holds."""
    yield from _compiled_again(situation, situation.subjects["node"])


def _compiled_again(situation: Situation, label: str) -> Iterator[Repair]:
    """The merge buffer filled again with a node, and the routine compiled again behind that."""
    home = _home(situation)
    maker = situation.maker(home)
    if maker is None or maker.do != "compile":
        return
    origin = maker.args["context"]["ref"]
    for step, made in _filled(situation, label, origin):
        again = situation.free(f"{home}_again")
        compiled = Command(do="compile", args={**maker.args, "context": ref(made)}, bind=again)
        yield Repair((step, compiled), in_place(home, again))


def _consumers(situation: Situation) -> Iterator[Repair]:
    """What still has to read the merge buffer run, or released."""
    consumers = situation.subjects["consumers"]
    yield from _runs(situation, consumers)
    found = [_routines(situation, name) for name in consumers]
    if all(found):
        homes = [names[-1].removesuffix(".routine") for names in found]
        yield Repair(tuple(do("context.release", context=ref(home)) for home in homes))


def _writer(situation: Situation) -> Iterator[Repair]:
    """The source's writer run; or the source written from outside."""
    writer = situation.subjects["writer"]
    if writer is not None:
        yield from _runs(situation, [writer])
    yield from _uploads(situation, _name(situation, "source"), [situation.subjects["node"]])


def _into(key: str, subject: str) -> Callable[[Situation], Iterator[Repair]]:
    """Nodes that a subject names uploaded into the context of an argument."""

    def found(situation: Situation) -> Iterator[Repair]:
        labels = situation.subjects[subject]
        if isinstance(labels, list) and labels and subject == "path":
            labels = labels[-1:]
        yield from _uploads(situation, _name(situation, key), [labels] if isinstance(labels, str) else labels)

    return found


def _rewound(situation: Situation) -> Iterator[Repair]:
    yield Repair((do("session.rewind"),))


_REPAIRS: Final[dict[str, Callable[[Situation], Iterator[Repair]]]] = {
    "run/unwritten-inputs": _inputs, "run/dependencies": _dependencies, "run/launch-binding": _bindings,
    "run/foreign-write": _adoptions, "run/merge-slab": _slab, "gradients/without-reset": _resets,
    "compile/lacks-nodes": _into("context", "nodes"), "compile/merge-mismatch": _refills,
    "compile/tainted-session": _rewound, "transfers/pending-consumers": _consumers,
    "transfers/source-pending": _writer, "transfers/not-in-source": _into("source", "node"),
    "transfers/absent": _into("context", "node"), "transfers/unwritten-value": _into("context", "node"),
    "observability/needs-context": _into("context", "path"),
}  # fmt: skip
"""What each rule asks for before the command."""
