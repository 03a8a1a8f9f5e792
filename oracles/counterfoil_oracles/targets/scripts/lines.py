"""A finding as a shell script that pipes the protocol's lines into a program."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles.targets.campaign import Found
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.scripts.asking import asked
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec import __version__
from counterfoil_spec.commands import Trace
from counterfoil_spec.protocol import Adopt, Identity, Profile, Ran, Request, Run, Start, Stop

_SECONDS: Final = 20.0


def write(path: Path, found: Found, identity: Identity, target: Named, profile: Profile, is_late: bool) -> Path:
    """Write the script; where it showed the finding, it says so by its exit code from then on."""
    sent = requests(found.trace, found.finding, identity, profile)
    path.write_text(_text(found.finding, sent, target, None), encoding="utf-8")
    path.chmod(0o755)
    reply = None if is_late or (target.name or "").startswith("unix:") else _replied(path)
    if reply is not None and _shows(reply, found.finding):
        path.write_text(_text(found.finding, sent, target, reply), encoding="utf-8")
    return path


def requests(trace: Trace, finding: Finding, identity: Identity, profile: Profile) -> list[Request]:
    """What the checker asks of a target to see the finding."""
    adopted: list[Request] = [] if profile == Profile() else [Adopt(seq=1, profile=profile)]
    run = Run(seq=2, steps=asked(trace, finding, identity), fresh=True)
    return [Start(seq=0, counterfoil=__version__), *adopted, run, Stop(seq=3)]


def _text(finding: Finding, sent: list[Request], target: Named, shown: str | None) -> str:
    texts = (shlex.quote(msgspec.json.encode(request).decode()) for request in sent)
    lines = " \\\n  ".join(texts)
    head = ["#!/bin/sh", f"# {finding.case}: {finding.words}"]
    reply = [f"reply=$(printf '%s\\n' \\\n  {lines} |", f"  {_spoken(target)} | sed -n {len(sent) - 1}p)"]
    said = f'printf \'%s\\n\' {shlex.quote(finding.words)} "its reply, of which the last outcome tells:" "$reply"'
    if shown is None:
        return "\n".join([*head, *reply, said]) + "\n"
    head.append("# exit code 1: it shows itself again; 0: it does not")
    return "\n".join([*head, f"shown={shlex.quote(shown)}", *reply, said, '[ "$reply" != "$shown" ]']) + "\n"


def _spoken(target: Named) -> str:
    """The command that reads the lines."""
    if target.name is None:
        return shlex.join(target.program)
    if target.name.startswith("unix:"):
        return f"nc -U {shlex.quote(target.name.removeprefix('unix:'))}"
    return f"python -m counterfoil_oracles.targets.serve {shlex.quote(target.name)}"


def _replied(path: Path) -> str | None:
    """The last line a script prints; None where it does not end by itself."""
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"  # its `python` is ours
    process = subprocess.Popen(
        ["sh", str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True, env={**os.environ, "PATH": places},
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    lines = output.decode(errors="replace").splitlines()
    return lines[-1] if process.returncode == 0 and lines else None


def _shows(reply: str, finding: Finding) -> bool:
    """Whether a reply's last outcome is what was seen."""
    try:
        outcomes = msgspec.json.decode(reply.encode(), type=Ran).outcomes
    except msgspec.MsgspecError:
        return False
    return bool(outcomes) and outcomes[-1] == finding.seen
