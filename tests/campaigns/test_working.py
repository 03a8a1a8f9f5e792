"""One unit, from bytes to bytes, in this process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec

from counterfoil_oracles.campaigns.halving import shown, told
from counterfoil_oracles.campaigns.units import Checked, Result, Shown, Unit
from counterfoil_oracles.campaigns.working import work
from counterfoil_oracles.targets.verdicts import Finding, Kind
from counterfoil_spec.commands import Command, Header, Trace, decode_trace
from counterfoil_spec.protocol import Value

HOSTILE = Path(__file__).parents[1] / "targets" / "hostile.py"
FAKE = "counterfoil_oracles.targets.fakes:reach_forgiven"


def worked(**fields: object) -> Result:
    """The result of a unit."""
    unit = Unit(number=0, **fields)  # type: ignore[arg-type]
    return msgspec.json.decode(work(msgspec.json.encode(unit)), type=Result)


def test_a_finding_travels_as_a_trace_that_still_shows_it() -> None:
    """What a unit found is found again by a unit that replays it."""
    checked = Checked(target=FAKE, in_process=True)
    found = worked(checked=checked, stream="arrays", programs=4).found
    assert found and decode_trace(found[0].trace).steps
    again = worked(checked=checked, stream="all", replayed=(found[0].trace,))
    assert [each.case for each in again.found] == [found[0].case] and not again.healed


def test_a_finding_travels_whole() -> None:
    """What looked, what was seen and what it was about are in it too: a snippet is written from them."""
    command, looked = Command(do="kernel", args={"name": "add"}), Command(do="array.to_values")
    seen = Value({"dtype": "int8", "bits": ["01"]})
    finding = Finding(Kind.CONTENT, command, "door/overlapping", "words", looked, seen, "an operand")
    travelled = msgspec.json.decode(msgspec.json.encode(shown(finding, Trace(Header(), []))), type=Shown)
    assert told(travelled) == finding


def test_a_known_case_is_counted_and_not_shrunk_again() -> None:
    """A unit that is told of a case sends no trace of it."""
    checked = Checked(target=FAKE, in_process=True)
    first = worked(checked=checked, stream="arrays", programs=4)
    known = tuple(each.case for each in first.found)
    second = worked(checked=checked, stream="arrays", programs=4, known=known)
    assert second.found == [] and dict(second.met) == dict(first.met)


def test_a_hanging_target_breaks_its_unit_in_time() -> None:
    """It is asked in a process of its own, within bounds, and the unit says what it did."""
    program = (sys.executable, str(HOSTILE), "hangs")
    result = worked(checked=Checked(program=program, reply_seconds=1), stream="all", programs=1)
    assert result.broken is not None and "no reply within" in result.broken
    assert decode_trace(result.breaking).steps


def test_a_worker_of_another_version_runs_nothing() -> None:
    """Programs of another version are others under the same seed."""
    result = worked(checked=Checked(subject="counterfoil"), stream="arrays", programs=1, version="0.0.0")
    assert result.broken is not None and "the driver 0.0.0" in result.broken and result.steps == 0


def test_a_target_ends_with_its_worker() -> None:
    """A worker that is killed leaves no target behind, even one that never looks at its input."""
    sleeper = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    worker = (
        "import os, subprocess, sys, time\n"
        "leash = [sys.executable, '-m', 'counterfoil_oracles.campaigns.leash', str(os.getpid())]\n"
        f"subprocess.Popen([*leash, sys.executable, '-c', {sleeper!r}])\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", worker], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        target = Path(f"/proc/{int(parent.stdout.readline())}/stat")
        parent.kill()
    for _ in range(100):
        if not target.exists() or target.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the target is alive 5 seconds after its worker")


def test_a_worker_without_the_emulated_driver_breaks_its_unit() -> None:
    """The mode was asked for: another driver, or none, would check something else."""
    checked = Checked(subject="counterfoil", device="cuda", mode="lazy")
    result = worked(checked=checked, stream="arrays", programs=1)
    assert result.broken == "RuntimeError: the worker does not find the emulated driver in mode lazy"
    assert result.steps == 0


def test_findings_of_one_device_are_not_replayed_on_another() -> None:
    """What a campaign keeps them under names the device and the mode."""
    names = {Checked(subject="counterfoil", device=device, mode=mode).name
             for device, mode in ((None, None), ("cuda", None), ("cuda", "lazy"), ("cuda", "eager"))}  # fmt: skip
    assert len(names) == 4
