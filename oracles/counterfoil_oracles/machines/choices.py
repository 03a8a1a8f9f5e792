"""Where the machine's choices come from: a seeded generator, or Hypothesis, which can shrink them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")


class Chooser(Protocol):
    """A source of integers; every other choice is made of them."""

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]."""


class RandomChooser:
    """Choices of a seeded generator: as fast as choices come."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high], all alike."""
        return low + int(self._random.random() * (high - low + 1))


class HypothesisChooser:
    """Choices that Hypothesis draws, records and shrinks. Imported here alone: it is a third of a command's start."""

    def __init__(self, data: Any) -> None:
        from hypothesis import strategies

        self._draw, self._integers = data.draw, strategies.integers

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]; smaller ones are simpler."""
        return int(self._draw(self._integers(low, high)))


def chance(chooser: Chooser, percent: int) -> bool:
    """True in about ``percent`` of 100 cases; False is the simpler case."""
    return chooser.integer(0, 99) >= 100 - percent


def pick(chooser: Chooser, options: Sequence[_T]) -> _T:
    """One of the options, all alike; earlier ones are simpler."""
    return options[chooser.integer(0, len(options) - 1)]


def weighted(chooser: Chooser, options: Sequence[tuple[int, _T]]) -> _T:
    """One of the options (weight, option), in proportion to its weight."""
    at = chooser.integer(0, sum(weight for weight, _ in options) - 1)
    for weight, option in options:
        at -= weight
        if at < 0:
            return option
    raise AssertionError("the weights add up")


def some(chooser: Chooser, options: Sequence[_T], most: int) -> list[_T]:
    """Up to ``most`` of the options, each at most once, in some order."""
    left, chosen = list(options), []
    for _ in range(chooser.integer(0, min(most, len(left)))):
        chosen.append(left.pop(chooser.integer(0, len(left) - 1)))
    return chosen


def permutation(chooser: Chooser, count: int) -> list[int]:
    """The numbers below ``count`` in some order."""
    left = list(range(count))
    return [left.pop(chooser.integer(0, len(left) - 1)) for _ in range(count)]
