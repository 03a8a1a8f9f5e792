"""A target that listens on a Unix socket is asked like any other."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from counterfoil_oracles.targets import spoken
from counterfoil_oracles.targets.target import Bounds, HarnessBroken
from counterfoil_spec.protocol import TargetStep, Value

SOUND = "counterfoil_oracles.targets.ours:fast"


def test_a_listening_target_answers(tmp_path: Path) -> None:
    """It says who it is, makes an array and shows its elements as bits."""
    path = tmp_path / "socket"
    command = [sys.executable, "-m", "counterfoil_oracles.targets.serve", SOUND, "--socket", str(path)]
    with subprocess.Popen(command) as server:
        while not path.exists() and server.poll() is None:
            time.sleep(0.02)
        target = spoken.listener(str(path))
        made = TargetStep(do="from_values", args={"dtype": "int32", "shape": [2], "values": [1, -1]}, bind="x")
        read = TargetStep(do="array.to_values", args={"array": {"ref": "x"}})
        _, shown = target.run([made, read], fresh=True)
        target.close()
        assert server.wait(timeout=20) == 0
    assert target.identity.name == "counterfoil"
    assert shown == Value({"dtype": "int32", "bits": ["00000001", "ffffffff"]})


def test_a_connection_that_nobody_takes_breaks_the_harness(tmp_path: Path) -> None:
    """Where others wait already, the checker waits no longer than for a reply."""
    path = str(tmp_path / "full")
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as waiting:
        listening.bind(path)
        listening.listen(0)
        waiting.connect(path)
        with pytest.raises(HarnessBroken, match=r"nobody took a connection to .* within 0.2 s"):
            spoken.listener(path, Bounds(seconds=0.2))


def test_nobody_listening_breaks_the_harness(tmp_path: Path) -> None:
    """The path is said."""
    with pytest.raises(HarnessBroken, match="nobody listens"):
        spoken.listener(str(tmp_path / "none"))
