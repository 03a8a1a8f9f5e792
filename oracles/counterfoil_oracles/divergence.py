"""Where two halves part, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from counterfoil_oracles.observe import Observation
from counterfoil_spec.commands import Command


@dataclass(frozen=True)
class Divergence:
    """Where two halves part: the step, what the reference did, what the subject did, and the difference in words."""

    index: int
    command: Command
    expected: object
    actual: object
    difference: str


def guarded(look: Callable[[], Observation]) -> Observation:
    """What looking at the subject shows: that it failed, where it does."""
    try:
        return look()
    except Exception as error:
        return {"looking": f"failed with {type(error).__name__}: {error}"}


def parting(expected: object, actual: object) -> str:
    """Where two facts differ, in words."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        name = next(name for name in actual | expected if expected.get(name) != actual.get(name))
        return f"{name} is {actual.get(name)!r}, not {expected.get(name)!r}"
    return f"{actual!r}, not {expected!r}"


def observation(what: str, expected: Observation, actual: Observation) -> str:
    """How one observation differs, in words; of bytes, where."""
    before, after = expected.get(what), actual.get(what)
    if isinstance(before, bytes) and isinstance(after, bytes) and len(before) == len(after):
        at = next(index for index in range(len(before)) if before[index] != after[index])
        return f"{what}: byte {at} is {after[at]:02x}, not {before[at]:02x} ({after.hex()}, not {before.hex()})"
    if isinstance(before, dict) and isinstance(after, dict):
        return f"{what}: {parting(before, after)}"
    return f"{what}: {after!r}, not {before!r}"


def differing(index: int, command: Command, expected: Observation, actual: Observation) -> Divergence | None:
    """The divergence that two observations after a step show, or None."""
    if expected == actual:
        return None
    what = next(name for name in actual | expected if expected.get(name) != actual.get(name))
    words = observation(what, expected, actual)
    return Divergence(index, command, expected.get(what), actual.get(what), words)
