"""The explorer: every lineage of a few routines, and for each every history, of whatever length.

What a history leaves behind that can still matter is finite (``encoding``), so the states a lineage can reach are found
once each and the claims hold for histories without bound. Compiling all first loses nothing: a routine that is not
there yet cannot be run, and of all the checks only run/fragment-not-owned looks at later routines, to refuse less.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from counterfoil_oracles.histories.encoding import (
    AH,
    AW,
    BOTH,
    DOUBLED,
    KH2,
    KW2,
    ONLY_H,
    ONLY_W,
    START,
    ZH,
    ZW,
    Codes,
    P,
    adds,
    alphabet,
    zeroes,
)
from counterfoil_oracles.histories.tables import Move, compile_faults, extern, moves

Word = int | str
"""One event of a history: the number of a routine that runs, or the gradient that is written from outside."""


def lineages(length: int, allowance: int, dropped: Collection[str] = ()) -> Iterator[Codes]:
    """The lineages of that many routines, allowances up to ``allowance``, that compile without the dropped clauses."""
    letters, ignored = alphabet(allowance), set(dropped)

    def longer(path: Codes) -> Iterator[Codes]:
        if len(path) == length:
            yield path
            return
        for code in letters:
            if compile_faults(code, path) <= ignored:
                yield from longer((*path, code))

    return longer(())


@dataclass
class Reached:
    """The states a lineage can reach: each with the state and the event that first led to it; histories counted."""

    states: dict[int, tuple[int, Word] | None] = field(default_factory=lambda: {START: None})
    histories: int = 0
    doubled: tuple[int, Word] | None = None

    def history_to(self, state: int) -> list[Word]:
        """A shortest history that leads to the state."""
        words: list[Word] = []
        came = self.states[state]
        while came is not None:
            state, word = came
            words.append(word)
            came = self.states[state]
        return words[::-1]

    def doubling(self) -> list[Word]:
        """A shortest history that puts a token into W twice; there is one."""
        assert self.doubled is not None
        return [*self.history_to(self.doubled[0]), self.doubled[1]]


def reachable(codes: Codes, dropped: Collection[str] = (), steps: int | None = None) -> Reached:
    """Every state some accepted history of runs and outside writes leads to; stops at the first doubled token.

    With ``steps`` only histories of so many events, whose number is counted; without, of any number.
    """
    found = Reached()
    along = moves(codes, frozenset(dropped))
    layer = {START: 1}
    while layer and (steps is None or steps > 0):
        following: dict[int, int] = {}
        for state, ways in layer.items():
            for word, after in successors(along, state):
                found.histories += ways
                if after == DOUBLED:
                    found.doubled = found.doubled or (state, word)
                    continue
                if after not in found.states:
                    found.states[after] = (state, word)
                elif steps is None:
                    continue
                following[after] = following.get(after, 0) + ways
        if found.doubled:
            break
        layer, steps = following, None if steps is None else steps - 1
    return found


def successors(along: Iterable[Move], state: int) -> Iterator[tuple[Word, int]]:
    """Each accepted event in a state, with the state after it."""
    for number, move in enumerate(along):
        if not move.refused(state):
            yield number, move.after(state)
    yield "H", extern(state, 0)
    yield "W", extern(state, 1)


# --- delivery --------------------------------------------------------------------------------------------------------


def resets_stay_ahead(codes: Codes) -> bool:
    """The hypothesis of delivery: no routine that zeroes a gradient without adding to it follows its last adder."""
    for gradient in (0, 1):
        adders = [at for at, code in enumerate(codes) if adds(code, gradient)]
        only_zeroing = [at for at, code in enumerate(codes) if zeroes(code, gradient) and not adds(code, gradient)]
        if adders and only_zeroing and only_zeroing[-1] > adders[-1]:
            return False
    return True


def allowances_are_spent(codes: Codes) -> bool:
    """The hypothesis of delivery: whoever adds without zeroing is allowed one run, or the path zeroes the gradient."""
    for gradient, twice in ((0, KH2), (1, KW2)):
        if any(code & twice for code in codes) and not any(zeroes(code, gradient) for code in codes):
            return False
    return True


def propagates_safely(codes: Codes) -> bool:
    """The hypothesis of no double counting: whoever propagates zeroes H itself, or is allowed one run per reset."""
    return all(code & ZH or code & ZW or not code & KW2 for code in codes if code & P)


def delivers(codes: Codes, order: Iterable[int], kinds: int) -> bool:
    """Whether running the routines in that order, from those kinds of tokens, leaves exactly what the runs contributed.

    H must hold every token contributed to it since, once, W those and its own, once; neither an older one.
    """
    return delivered(codes, order, kinds) == (True, True)


def delivered(codes: Codes, order: Iterable[int], kinds: int) -> tuple[bool, bool]:
    """Whether H, and whether W, holds exactly what those runs contributed."""
    old_h, old_w = bool(kinds & (ONLY_H | BOTH)), bool(kinds & (ONLY_W | BOTH))
    in_h: list[int] = []  # of each contribution to H, how often it is in H
    in_w: list[int] = []  # and how often it is in W
    direct: list[int] = []  # of each contribution to W, how often it is in W
    for number in order:
        code = codes[number]
        if code & ZH:
            old_h, in_h = False, [0] * len(in_h)
        if code & ZW:
            old_w, in_w, direct = False, [0] * len(in_w), [0] * len(direct)
        if code & AH:
            in_h, in_w = [*in_h, 1], [*in_w, 0]
        if code & P:
            old_w = old_w or old_h
            in_w = [there + held for there, held in zip(in_w, in_h, strict=True)]
        if code & AW:
            direct = [*direct, 1]
    in_h_once = not old_h and all(held == 1 for held in in_h)
    return in_h_once, not old_w and all(held == 1 for held in (*in_w, *direct))


def cycle_is_accepted(codes: Codes, state: int, dropped: Collection[str] = ()) -> int | None:
    """The state after each routine ran once, in compile order, from that state; None where a run is refused."""
    for move in moves(codes, frozenset(dropped)):
        if move.refused(state):
            return None
        state = move.after(state)
        if state == DOUBLED:
            return DOUBLED
    return state


def undelivered(codes: Codes, states: Iterable[int], dropped: Collection[str] = ()) -> int | None:
    """A state from which an accepted cycle in compile order delivers wrongly, None if there is none."""
    order = range(len(codes))
    for state in states:
        after = cycle_is_accepted(codes, state, dropped)
        if after is not None and not delivers(codes, order, state & 7):
            return state
    return None
