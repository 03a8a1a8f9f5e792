"""Exhaustive small scope: every short program over two memories, on both halves."""

import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles import exhaust

SEQUENCES_OF_THREE = 4_000


@pytest.mark.long
def test_every_short_program_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    """The halves part in no sequence of four commands out of 24, modulo renaming; there are tens of thousands."""
    result = exhaust.walk(counterfoil_reference, counterfoil)
    with capsys.disabled():
        print(f"\n{result.sequences} sequences in {result.executions} executions")
    assert result.divergence is None, result.divergence
    assert result.sequences >= exhaust.LEAST_SEQUENCES


def test_every_program_of_three_agrees() -> None:
    """The same of three commands."""
    result = exhaust.walk(counterfoil_reference, counterfoil, 3)
    assert result.divergence is None, result.divergence
    assert result.sequences >= SEQUENCES_OF_THREE


def test_there_are_enough_commands_and_memories() -> None:
    """Twelve commands about each of two memories, over a handful of layouts."""
    commands = [command for command, _ in exhaust.letters(1)]
    assert len(exhaust.ALPHABET) == 12 and len(commands) == 24
    assert len({str(command) for command in commands}) == 24


def test_renaming_the_memories_gives_no_new_program() -> None:
    """The first memory that a program names is memory 0."""
    assert [used for _, used in exhaust.letters(0)] == [1] * 12
