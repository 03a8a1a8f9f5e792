"""Targets that hang, die, flood or answer nonsense break the harness, in bounds; that is no divergence."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from counterfoil_oracles.targets import spoken, wire
from counterfoil_oracles.targets.inprocess import Adapter, Direct, command
from counterfoil_oracles.targets.target import Bounds, HarnessBroken
from counterfoil_spec.protocol import Errored, Profile, TargetStep, Value

HOSTILE = Path(__file__).with_name("hostile.py")
STEPS = [TargetStep(do="from_values", args={"dtype": "int32", "shape": [1], "values": [1]}, bind="x")] * 3

WAYS = {
    "hangs": "no reply within",
    "dies": "exit code 7",
    "crashes": "SIGABRT",
    "floods": "longer than",
    "mutters": "exit code 3; it said: y",
    "raves": "is no reply to Run",
    "answers another": "answered request 999",
    "answers too few": "0 outcomes for 3 steps",
    "answers a list": "is no reply to Run",
    "nests": "is no reply to Run",
    "invents an outcome": "is no reply to Run",
    "grows": "ended",
}


def opened(how: str, bounds: Bounds | None = None) -> spoken.SpokenTarget:
    bounds = bounds or Bounds(seconds=1.5, reply_bytes=1 << 20, memory_bytes=1 << 30)
    return spoken.program([sys.executable, str(HOSTILE), how], bounds)


@pytest.mark.parametrize("how", WAYS)
def test_each_way_to_misbehave_is_named(how: str) -> None:
    """The failure says what the target did, and it is no divergence."""
    target = opened(how)
    try:
        with pytest.raises(HarnessBroken, match=WAYS[how]):
            target.run(STEPS, fresh=True)
    finally:
        target.close()


def test_a_target_that_writes_and_does_not_read_is_bounded() -> None:
    """What it writes while a long request waits to be read is bounded as a reply is."""
    target = opened("talks and does not listen")
    values = list(range(2_000_000))
    long = [TargetStep(do="from_values", args={"dtype": "int32", "shape": [2_000_000], "values": values}, bind="x")]
    try:
        target.run(STEPS, fresh=True)
        with pytest.raises(HarnessBroken, match="longer than"):
            target.run(long, fresh=True)
        assert len(target._channel._waiting) < 2 << 20
    finally:
        target.close()


def test_a_reply_may_come_byte_by_byte() -> None:
    """A line is whole when it ends, wherever its bytes are cut, inside a character too."""
    target = opened("dribbles")
    try:
        assert target.run(STEPS[:1], fresh=True) == [Errored("é…")]
    finally:
        target.close()


def test_a_value_without_end_breaks_the_harness() -> None:
    """A value nested hundreds deep is no divergence, and no crash of the checker."""
    target = opened("nests a value")
    try:
        [outcome, *_] = target.run(STEPS, fresh=True)
        assert isinstance(outcome, Value)
        with pytest.raises(HarnessBroken, match="no end"):
            wire.received(outcome.value)
    finally:
        target.close()


def test_what_broke_the_harness_is_asked_nothing_more() -> None:
    """Closing a target that broke the harness sends it nothing."""
    sent: list[str] = []
    target = spoken.program(
        [sys.executable, str(HOSTILE), "raves"], Bounds(seconds=5), lambda way, line: sent.append(f"{way} {line!r}")
    )
    with pytest.raises(HarnessBroken):
        target.run(STEPS, fresh=True)
    before = list(sent)
    target.close()
    assert sent == before


def test_another_protocol_is_refused_at_the_start() -> None:
    """A target of another protocol is not asked anything."""
    with pytest.raises(HarnessBroken, match="speaks protocol 2"):
        opened("speaks another protocol")


def test_a_profile_may_be_declined_with_a_reason() -> None:
    """The reason comes back."""
    target = opened("wants another profile")
    try:
        assert target.adopt(Profile()) == "not mine"
    finally:
        target.close()


def test_children_end_with_the_target() -> None:
    """Nothing that the target started is left when it is closed."""
    target = opened("leaves children")
    target.run(STEPS, fresh=True)
    target.close()
    time.sleep(0.1)
    left = subprocess.run(["pgrep", "-f", f"{HOSTILE} leaves children"], capture_output=True, text=True).stdout
    assert left == ""


def test_children_in_sessions_of_their_own_end_too() -> None:
    """What left the target's process group, and whose parent is gone, is found by its environment."""
    target = opened("leaves a child in a session of its own")
    target.run(STEPS, fresh=True)
    target.close()
    left = subprocess.run(["pgrep", "-f", f"{HOSTILE} leaves a child in"], capture_output=True, text=True).stdout
    assert left == ""


def test_memory_of_all_processes_is_bounded_together() -> None:
    """Four children, each within the bound, are past it together."""
    target = opened("grows in its children", Bounds(seconds=60, memory_bytes=400 << 20))
    try:
        with pytest.raises(HarnessBroken, match=r"more than 0\.390625 GiB of memory together"):
            target.run(STEPS, fresh=True)
    finally:
        target.close()


def test_an_adapter_that_grows_without_end_breaks_the_harness() -> None:
    """Having no memory is no failure of the command that was asked."""

    class Grows(Adapter):
        @command("host")
        def host(self) -> str:
            raise MemoryError("past the bound")

    with pytest.raises(HarnessBroken, match="MemoryError: past the bound"):
        Direct(Grows()).run([TargetStep(do="host", bind="h")], fresh=True)


def test_a_program_that_is_not_there_breaks_the_harness() -> None:
    """Its name is said."""
    with pytest.raises(HarnessBroken, match="no-such-program"):
        spoken.program(["no-such-program"])


def test_what_is_kept_of_standard_error_is_bounded() -> None:
    """Ten million bytes are read, and no more than the bound is kept."""
    target = opened("mutters", Bounds(seconds=5, error_bytes=1000, memory_bytes=1 << 30))
    try:
        with pytest.raises(HarnessBroken):
            target.run(STEPS, fresh=True)
        assert len(target._channel.said) <= 1000
    finally:
        target.close()
