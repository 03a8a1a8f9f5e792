"""``counterfoil histories``: explore the gradient rules' model; what the rules guarantee, need and cost."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from counterfoil_oracles.histories import clauses, discipline, explorer, named, price, walking
from counterfoil_oracles.histories.encoding import Codes, lineage_of
from counterfoil_oracles.histories.model import accounted, once


@dataclass(frozen=True)
class Size:
    """How far to go: routines of a lineage for T2 and T3, for clauses, for the price, and for T1; events; runs."""

    routines: int
    clauses: int
    price: int
    walked: int
    events: int
    cycle: int
    counted: int


SHORT = Size(routines=3, clauses=3, price=3, walked=2, events=3, cycle=3, counted=3)
LONG = Size(routines=4, clauses=4, price=4, walked=2, events=5, cycle=4, counted=4)


@dataclass
class Explored:
    """What became of the theorems: lineages and states walked, and each lineage that breaks one."""

    lineages: int = 0
    states: int = 0
    doubled: list[Codes] = field(default_factory=list)
    undelivered: list[Codes] = field(default_factory=list)


def explore(longest: int, allowance: int) -> Explored:
    """T2 and T3 on every lineage of at most so many routines, for histories of every length, from every state."""
    found = Explored()
    for codes in itertools.chain.from_iterable(explorer.lineages(n, allowance) for n in range(1, longest + 1)):
        if not explorer.propagates_safely(codes):
            continue
        reached = explorer.reachable(codes)
        found.lineages += 1
        found.states += len(reached.states)
        if reached.doubled:
            found.doubled.append(codes)
        elif explorer.allowances_are_spent(codes) and explorer.resets_stay_ahead(codes):
            if explorer.undelivered(codes, reached.states) is not None:
                found.undelivered.append(codes)
    return found


def histories_of(longest: int, allowance: int, events: int) -> int:
    """How many accepted histories of one to ``events`` events those lineages have."""
    every = itertools.chain.from_iterable(explorer.lineages(n, allowance) for n in range(1, longest + 1))
    return sum(explorer.reachable(codes, (), events).histories for codes in every)


def walked(longest: int, events: int) -> tuple[int, int]:
    """T1, and T2 on the bags themselves: histories of the model walked, and how many break one of them."""
    total = wrong = 0
    for codes in itertools.chain.from_iterable(explorer.lineages(n, 2) for n in range(1, longest + 1)):
        safe = explorer.propagates_safely(codes)
        for root, _, _ in walking.walk(codes, events):
            total += 1
            wrong += not accounted(root) or (safe and not all(map(once, root.bags.values())))
    return total, wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Explore and print; 0 if the theorems hold and the clauses' verdicts are those of the documentation."""
    description = "What the gradient rules guarantee, need and cost."
    parser = argparse.ArgumentParser(prog="counterfoil histories", description=description)
    parser.add_argument("--long", action="store_true", help="lineages of up to four routines (minutes)")
    size = LONG if parser.parse_args(argv).long else SHORT
    right = (_theorems(size), _clauses(size), _price(size), _named(), _discipline(size))
    return 0 if all(right) else 1


def _theorems(size: Size) -> bool:
    started = time.perf_counter()
    total, wrong = walked(size.walked, size.events)
    print(f"T1, T2 on the bags: {total} histories of up to {size.events} events, {size.walked} routines: {wrong} wrong")
    found = explore(size.routines, 2)
    print(f"T2, T3: {found.lineages} lineages of up to {size.routines} routines, {found.states} states, histories of")
    print(f"  every length: {len(found.doubled)} double, {len(found.undelivered)} deliver wrongly")
    counted = histories_of(size.counted, 2, 6)
    print(f"  {counted} accepted histories of up to 6 events over up to {size.counted} routines")
    print(f"  {time.perf_counter() - started:.1f} s")
    return not (wrong or found.doubled or found.undelivered)


def _clauses(size: Size) -> bool:
    right = True
    print(f"Clauses, on lineages of up to {size.clauses} routines:")
    for verdict in clauses.verdicts(size.clauses):
        name = " and ".join(verdict.dropped)
        broken = {found.broken for found in verdict.witnesses}
        needed = clauses.NEEDED.get(verdict.dropped[0])
        right = right and (needed in broken if needed else verdict.redundant)
        for witness in verdict.witnesses:
            print(f"  without {name}: {witness.broken} fails: {witness}")
        if verdict.redundant:
            print(f"  without {name}: nothing in {verdict.lineages} lineages: redundant given the others")
    return right


def _price(size: Size) -> bool:
    refused = list(price.price(size.price))
    print(
        f"Refused, yet right in compile order: {len(refused)} lineages of up to {size.price} routines, smallest first:"
    )
    for each in refused[:12]:
        print(f"  {each}: {', '.join(sorted(each.clauses))}")
    return bool(refused)


def _named() -> bool:
    print("Accepted and wrong:")
    right = True
    for each in named.NAMED:
        held = each.script().value(each.read)
        right = right and held == each.holds != each.meant
        print(f"  {each.name}: {each.lineage}: {each.events}: {held:g}, meant {each.meant:g}")
    return right


def _discipline(size: Size) -> bool:
    wrong = sum(1 for length in range(1, size.cycle + 1) for _ in discipline.wrong(length))
    print(f"Orderly cycles of up to {size.cycle} runs, from every state: {wrong} inexact; with one condition left out:")
    for condition in discipline.CONDITIONS:
        codes, _ = next(found for length in range(1, size.cycle + 1) for found in discipline.wrong(length, condition))
        print(f"  {condition}: {' '.join(map(str, lineage_of(codes)))}")
    return wrong == 0
