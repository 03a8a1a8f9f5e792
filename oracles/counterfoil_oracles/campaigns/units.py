"""What travels between the driver and its workers: units of work and their results, as JSON, never as objects."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from counterfoil_oracles.targets.operands import NONE
from counterfoil_spec import __version__
from counterfoil_spec.protocol import Identity, Profile, TargetOutcome

UNIT_SECONDS: Final = 5.0
"""How long one unit should take."""

Case = tuple[str, str | None]
"""What findings are told apart by: the command with its kind of difference, and the rule concerned."""


class Checked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a campaign checks: a half by its module (``subject``), else a target by name or as a program.

    ``device`` and ``mode``: of a half, as ``counterfoil check`` has them.
    """

    subject: str | None = None
    device: str | None = None
    mode: str | None = None
    target: str | None = None
    program: tuple[str, ...] = ()
    in_process: bool = False
    validated: bool = False
    reply_seconds: float = 10.0
    memory_bytes: int = 4 << 30
    profile: Profile = msgspec.field(default_factory=Profile)
    mapper: tuple[tuple[str, str, str | None], ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the findings are kept under: those of one device are not replayed on another."""
        if self.subject is not None:
            return " ".join(filter(None, (self.subject, self.device, self.mode)))
        return self.target or " ".join(self.program)


class Unit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Programs ``first``, ``first`` + 1, ... of a stream (a machine, or a chapter of a target; "all": every chapter).

    ``vectors``: the shipped vectors come first. ``replayed``: traces to run again, instead of anything else.
    ``known``: cases that need no shrinking, because a program that shows them is kept already.
    """

    number: int
    checked: Checked
    stream: str
    first: int = 0
    programs: int = 0
    vectors: bool = False
    replayed: tuple[bytes, ...] = ()
    known: tuple[Case, ...] = ()
    version: str = __version__

    @property
    def name(self) -> str:
        """How a report calls it."""
        if self.replayed:
            return f"replay of {len(self.replayed)} known traces"
        return f"{self.stream}, programs {self.first} to {self.first + self.programs - 1}"


class Shown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding in words and bytes: its case, the kind's name, the words, the last command and the trace as JSON.

    ``looked``, ``seen`` and ``operands``: those of the finding, the first as JSON too.
    """

    case: Case
    kind: str
    words: str
    command: bytes
    trace: bytes
    looked: bytes = b""
    seen: TargetOutcome | None = None
    operands: str = NONE


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What came of a unit. ``met``: each case with how often; ``healed``: traces that show nothing any more;
    ``breaking``: the trace under which the harness broke."""

    steps: int = 0
    programs: int = 0
    vectors: int = 0
    seconds: float = 0.0
    rules: dict[str, int] = {}
    skipped: dict[str, int] = {}
    met: list[tuple[Case, int]] = []
    found: list[Shown] = []
    healed: list[bytes] = []
    identity: Identity | None = None
    broken: str | None = None
    breaking: bytes = b""


def digest(*parts: Any) -> str:
    """A short name for what a campaign is about."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def size_of(trace: bytes) -> tuple[int, int, bytes]:
    """What "shorter" means between traces: commands, then bytes, then their order."""
    return trace.count(b"\n"), len(trace), trace
