"""Targets that speak the protocol: a program on its standard streams, or whoever listens on a Unix socket."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from counterfoil_oracles.targets.channel import Channel
from counterfoil_oracles.targets.family import Family
from counterfoil_oracles.targets.target import Bounds, HarnessBroken
from counterfoil_spec import __version__
from counterfoil_spec.protocol import (
    PROTOCOL,
    Adopt,
    Adopted,
    Identity,
    Profile,
    Ran,
    Request,
    Run,
    Start,
    Started,
    Stop,
    Stopped,
    TargetOutcome,
    TargetStep,
)

_Reply = TypeVar("_Reply", Started, Adopted, Ran, Stopped)
_LAST_SECONDS: Final = 2.0


class SpokenTarget:
    """A target at the other end of a channel. ``watch`` sees every line of both directions, for whoever validates."""

    def __init__(
        self, channel: Channel, ended: Callable[[float], None], watch: Callable[[str, bytes], None] | None = None
    ) -> None:
        self._channel = channel
        self._ended = ended
        self._watch = watch
        self._sequence = 0
        self._is_open = True
        self._is_sound = True
        try:
            started = self._asked(Start(seq=0, counterfoil=__version__), Started)
            if started.protocol != PROTOCOL:
                raise HarnessBroken(f"the target speaks protocol {started.protocol}, not {PROTOCOL}")
        except BaseException:
            self._end()
            raise
        fields = {name: getattr(started, name) for name in Identity.__struct_fields__}
        self.identity: Identity = Identity(**fields)

    def adopt(self, profile: Profile) -> str | None:
        """Ask it to keep to a profile."""
        reply = self._asked(Adopt(seq=self._next(), profile=profile), Adopted)
        return None if reply.ok else reply.reason or "no reason given"

    def run(self, steps: Sequence[TargetStep], fresh: bool) -> list[TargetOutcome]:
        """One request for all the steps."""
        reply = self._asked(Run(seq=self._next(), steps=list(steps), fresh=fresh), Ran)
        if len(reply.outcomes) != len(steps):
            raise self._channel.broken(f"{len(reply.outcomes)} outcomes for {len(steps)} steps")
        return reply.outcomes

    def close(self) -> None:
        """Ask it to stop, and make sure that it does."""
        if not self._is_open:
            return
        try:
            if self._is_sound:
                self._asked(Stop(seq=self._next()), Stopped)
        except HarnessBroken:
            pass  # it ends now in any case; everything that was asked has been answered
        finally:
            self._end()

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    def _end(self) -> None:
        self._is_open = False
        self._channel.close()
        self._ended(_LAST_SECONDS if self._is_sound else 0.0)

    def _asked(self, request: Request, kind: type[_Reply]) -> _Reply:
        """The reply to a request; a target that broke the harness once is asked nothing more."""
        try:
            return self._exchanged(request, kind)
        except BaseException:
            self._is_sound = False
            raise

    def _exchanged(self, request: Request, kind: type[_Reply]) -> _Reply:
        line = msgspec.json.encode(request)
        if self._watch is not None:
            self._watch("request", line)
        answer = self._channel.exchange(line)
        if self._watch is not None:
            self._watch("reply", answer)
        try:
            reply = msgspec.json.decode(answer, type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self._channel.broken(f"{answer[:200]!r} is no reply to {type(request).__name__}: {error}") from None
        if reply.seq != request.seq:
            raise self._channel.broken(f"it answered request {reply.seq} when {request.seq} was asked")
        return reply


def program(
    command: Sequence[str], bounds: Bounds | None = None, watch: Callable[[str, bytes], None] | None = None
) -> SpokenTarget:
    """Start a program in a session and under limits of its own; HarnessBroken if it cannot be started.

    It inherits the environment, with a mark by which what it starts is found, and nothing else: what it writes is data,
    whatever it holds.
    """
    limits = bounds or Bounds()
    if shutil.which(command[0]) is None:
        raise HarnessBroken(f"there is no program {command[0]}")
    family = Family()
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=family.environment,
    )
    _limit(process.pid, limits)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    sending, receiving, errors = (os.dup(each.fileno()) for each in (process.stdin, process.stdout, process.stderr))
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    channel = Channel(sending, receiving, errors, limits, lambda: _death(process), lambda: _excess(family, limits))
    return SpokenTarget(channel, lambda seconds: _kill(process, family, seconds), watch)


def listener(
    path: str, bounds: Bounds | None = None, watch: Callable[[str, bytes], None] | None = None
) -> SpokenTarget:
    """Connect to whoever listens on a Unix socket; HarnessBroken if nobody does, or nobody takes the connection."""
    limits = bounds or Bounds()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    whole, part = divmod(round(limits.seconds * 1_000_000), 1_000_000)
    # Python's own time limit does not hold here: where too many wait, a connection that may not block fails at once.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", whole, part))
    try:
        connection.connect(path)
    except BlockingIOError:
        connection.close()
        raise HarnessBroken(f"nobody took a connection to {path} within {limits.seconds:g} s") from None
    except (OSError, ValueError) as error:
        connection.close()
        raise HarnessBroken(f"nobody listens on {path}: {error}") from None
    descriptor = connection.detach()
    return SpokenTarget(Channel(descriptor, descriptor, None, limits, lambda: None), lambda _: None, watch)


def _limit(process: int, bounds: Bounds) -> None:
    """Bound its memory, and let it leave no core behind; it has hardly begun."""
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(process, resource.RLIMIT_AS, (bounds.memory_bytes, bounds.memory_bytes))
        resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))


def _death(process: subprocess.Popen[bytes]) -> str | None:
    """How the program ended, in words, if it does so now."""
    try:
        code = process.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        return None
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def _excess(family: Family, bounds: Bounds) -> str | None:
    """What the processes of a target hold too much of together, in words."""
    if not family.holds_more(bounds.memory_bytes):
        return None
    return f"its processes hold more than {bounds.memory_bytes / 2**30:g} GiB of memory together"


def _kill(process: subprocess.Popen[bytes], family: Family, seconds: float) -> None:
    """Let it end within some seconds, else end it; and all it started, in any case."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    family.end()
