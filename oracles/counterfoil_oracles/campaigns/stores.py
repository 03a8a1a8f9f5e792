"""What outlives a campaign's driver: failing traces in Hypothesis' own database, and a journal of units beside them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase

from counterfoil_oracles.campaigns.units import Case, size_of
from counterfoil_oracles.environment import HarnessError

_KEY: Final = "counterfoil/1"


class Failures:
    """The failing traces of one target: under one key for each case, the shortest only. Others may share them."""

    def __init__(self, examples: ExampleDatabase, target: str) -> None:
        self._examples = examples
        self._cases = f"{_KEY}/{target}/cases".encode()
        self._target = target

    def known(self) -> list[tuple[Case, bytes]]:
        """Every case with its shortest trace; what cannot be read as a case is left alone."""
        return [(case, traces[0]) for case in self._listed() if (traces := self._traces(case))]

    def shortest(self, case: Case) -> bytes | None:
        """The shortest trace of a case."""
        return next(iter(self._traces(case)), None)

    def keep(self, case: Case, trace: bytes) -> None:
        """Keep a trace if it is the shortest of its case; longer ones go."""
        held = self._traces(case)
        if not held or size_of(trace) < size_of(held[0]):
            self._examples.save(self._cases, msgspec.json.encode(case))
            self._examples.save(self._key(case), trace)
            held.insert(0, trace)
        for longer in held[1:]:
            self._examples.delete(self._key(case), longer)

    def heal(self, case: Case, trace: bytes) -> None:
        """Forget a trace that shows nothing any more."""
        self._examples.delete(self._key(case), trace)
        if not self._traces(case):
            self._examples.delete(self._cases, msgspec.json.encode(case))

    def _listed(self) -> list[Case]:
        cases = []
        for data in self._examples.fetch(self._cases):
            try:
                cases.append(msgspec.json.decode(data, type=Case))
            except msgspec.DecodeError:
                continue
        return sorted(cases, key=lambda case: (case[0], case[1] or ""))

    def _traces(self, case: Case) -> list[bytes]:
        return sorted(self._examples.fetch(self._key(case)), key=size_of)

    def _key(self, case: Case) -> bytes:
        return f"{_KEY}/{self._target}/{case[0]}/{case[1] or ''}".encode()


class Journal(Protocol):
    """Lines that are appended whole or not at all."""

    def lines(self) -> Iterator[bytes]:
        """All lines so far, without their ends."""

    def append(self, line: bytes) -> None:
        """Add one."""

    def close(self) -> None:
        """Let another driver have it."""


class FileJournal:
    """A file of JSON lines. One driver at a time has it: HarnessError for a second."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise HarnessError(f"another driver runs this campaign: it has {path}") from None
        data = path.read_bytes()
        os.ftruncate(self._file, data.rfind(b"\n") + 1)  # a line cut short by a power failure was never written

    def lines(self) -> Iterator[bytes]:
        """All lines so far."""
        yield from self._path.read_bytes().splitlines()

    def append(self, line: bytes) -> None:
        """One write at the file's end, on the disk when this returns."""
        os.write(self._file, line + b"\n")
        os.fdatasync(self._file)

    def close(self) -> None:
        """Close the file, and with it the lock."""
        os.close(self._file)


class MemoryJournal:
    """A list, for what need not be resumed."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def lines(self) -> Iterator[bytes]:
        """All lines so far."""
        yield from self._written

    def append(self, line: bytes) -> None:
        """One more entry."""
        self._written.append(line)

    def close(self) -> None:
        """Nothing is held."""


class RedisJournal:
    """A list in Redis. Only one driver may run a campaign of that name at a time; nothing here enforces it."""

    def __init__(self, client: Any, key: str) -> None:
        self._client = client
        self._key = key

    def lines(self) -> Iterator[bytes]:
        """All lines so far."""
        yield from self._client.lrange(self._key, 0, -1)

    def append(self, line: bytes) -> None:
        """One command of the server."""
        self._client.rpush(self._key, line)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def opened(where: str, target: str, campaign: str) -> tuple[Failures, Journal]:
    """The database at ``where``, a directory or ``redis://HOST:PORT/N``; HarnessError where it cannot be used."""
    if where.startswith(("redis://", "rediss://", "unix://")):
        return _redis(where, target, campaign)
    try:
        journal = FileJournal(Path(where) / f"campaign-{campaign}.jsonl")
    except OSError as error:
        raise HarnessError(f"{where} is no directory to keep a campaign in: {error.strerror}") from error
    return Failures(DirectoryBasedExampleDatabase(where), target), journal


def _redis(where: str, target: str, campaign: str) -> tuple[Failures, Journal]:
    try:
        import redis
        from hypothesis.extra.redis import RedisExampleDatabase
    except ImportError:
        raise HarnessError("a database in Redis needs its client: pip install redis") from None
    client = redis.Redis.from_url(where)
    try:
        client.ping()
    except redis.RedisError as error:
        raise HarnessError(f"no Redis answers at {where}: {error}") from error
    return Failures(RedisExampleDatabase(client), target), RedisJournal(client, f"{_KEY}/campaign-{campaign}")
