"""Every history of a few events of the model itself, with the explorer's encoding beside it."""

from __future__ import annotations

from collections.abc import Iterator

from counterfoil_oracles.histories.encoding import BOTH, ONLY_H, ONLY_W, START, Codes, lineage_of
from counterfoil_oracles.histories.explorer import Word
from counterfoil_oracles.histories.model import GRADIENTS, H, History, W, of_lineage
from counterfoil_oracles.histories.tables import extern, moves


def walk(codes: Codes, events: int) -> Iterator[tuple[History, int, tuple[Word, ...]]]:
    """Each accepted history of at most so many events along the path: the model's root, the encoded state, the events.

    A history in which the encoding finds a token doubled is given, with DOUBLED, and not gone on from.
    """
    along, tip = moves(codes), len(codes) - 1
    pending: list[tuple[History, int, tuple[Word, ...]]] = [(of_lineage(lineage_of(codes)), START, ())]
    while pending:
        root, state, words = pending.pop()
        yield root, state, words
        if len(words) == events or state < 0:
            continue
        for number, move in enumerate(along):
            if not root.run_faults(number, tip):
                after = root.copy()
                after.run(number)
                pending.append((after, move.after(state), (*words, number)))
        for at, gradient in enumerate(GRADIENTS):
            after = root.copy()
            after.extern(gradient)
            pending.append((after, extern(state, at), (*words, gradient.label)))


def kinds(root: History) -> int:
    """The kinds of tokens there are in the model's bags, as the encoding has them; no token doubled."""
    in_h, in_w = set(root.bags[H]), set(root.bags[W])
    found = ((ONLY_H, in_h - in_w), (ONLY_W, in_w - in_h), (BOTH, in_h & in_w))
    return sum(kind for kind, there in found if there)
