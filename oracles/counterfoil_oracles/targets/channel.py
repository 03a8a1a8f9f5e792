"""Lines to and from a target, within bounds: a deadline for each, and a size."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Callable
from typing import Final

from counterfoil_oracles.targets.target import Bounds, HarnessBroken, legible

_CHUNK: Final = 1 << 16
_SHOWN: Final = 2000
_LOOK_SECONDS: Final = 0.5


class Channel:
    """Two file descriptors that a target reads from and writes to, and a third with what it says on the side.

    ``why`` tells how the target ended, where it did; ``excess`` what it takes too much of, asked now and then.
    """

    def __init__(
        self,
        sending: int,
        receiving: int,
        errors: int | None,
        bounds: Bounds,
        why: Callable[[], str | None],
        excess: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._sending = sending
        self._receiving = receiving
        self._errors = errors
        self._bounds = bounds
        self._why = why
        self._excess = excess
        self._next_look = time.monotonic() + _LOOK_SECONDS
        self._waiting = bytearray()
        self.said = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(receiving, selectors.EVENT_READ)
        if errors is not None:
            self._selector.register(errors, selectors.EVENT_READ)
        for descriptor in {sending, receiving, *([] if errors is None else [errors])}:
            os.set_blocking(descriptor, False)

    def exchange(self, line: bytes) -> bytes:
        """Send a line and wait for one; HarnessBroken past a bound, or where the target ended."""
        deadline = time.monotonic() + self._bounds.seconds
        self._send(memoryview(line + b"\n"), deadline)
        looked = 0
        while True:
            end = self._waiting.find(b"\n", looked)
            if end >= 0:
                reply = bytes(self._waiting[:end])
                del self._waiting[: end + 1]
                return reply
            looked = len(self._waiting)
            self._read(deadline)

    def broken(self, what: str) -> HarnessBroken:
        """The failure in words, with the end of what the target said on its standard error."""
        said = legible(bytes(self.said[-_SHOWN:]).decode(errors="replace").strip(), _SHOWN)
        return HarnessBroken(f"the target broke the harness: {what}" + (f"; it said: {said}" if said else ""))

    def close(self) -> None:
        """Close the descriptors."""
        self._selector.close()
        for descriptor in {self._sending, self._receiving, *([] if self._errors is None else [self._errors])}:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _send(self, left: memoryview, deadline: float) -> None:
        """Write it all, reading meanwhile: a target that answers before it has read must not stop both."""
        self._expect_room(True)
        try:
            while left:
                self._check(deadline)
                if self._take(max(0.0, deadline - time.monotonic())):
                    left = left[self._written(left[:_CHUNK]) :]
        finally:
            self._expect_room(False)

    def _expect_room(self, wanted: bool) -> None:
        """Wait for room to write too, or no longer; a socket is written to and read from by one descriptor."""
        if self._sending == self._receiving:
            self._selector.modify(self._sending, selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0))
        elif wanted:
            self._selector.register(self._sending, selectors.EVENT_WRITE)
        else:
            self._selector.unregister(self._sending)

    def _written(self, data: memoryview) -> int:
        try:
            return os.write(self._sending, data)
        except BlockingIOError:
            return 0
        except ConnectionError:
            raise self.broken(self._why() or "it closed its input") from None

    def _read(self, deadline: float) -> None:
        self._check(deadline)
        self._take(max(0.0, deadline - time.monotonic()))

    def _check(self, deadline: float) -> None:
        now = time.monotonic()
        if now >= deadline:
            raise self.broken(f"no reply within {self._bounds.seconds:g} s")
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            excess = self._excess()
            if excess is not None:
                raise self.broken(excess)

    def _take(self, seconds: float) -> bool:
        """Take what is there to be read, waiting so long for anything; whether there is room to write."""
        has_room = False
        for key, events in self._selector.select(min(seconds, _LOOK_SECONDS)):
            has_room = has_room or bool(events & selectors.EVENT_WRITE)
            if events & selectors.EVENT_READ:
                self._heard(int(key.fd), self._chunk(int(key.fd)))
        return has_room

    def _heard(self, descriptor: int, data: bytes) -> None:
        if descriptor == self._receiving:
            if not data:
                raise self.broken(self._why() or "it closed its output")
            self._waiting += data
            if len(self._waiting) > self._bounds.reply_bytes:
                raise self.broken(f"its reply is longer than {self._bounds.reply_bytes} bytes")
        elif data:
            self.said += data
            del self.said[: max(0, len(self.said) - self._bounds.error_bytes)]
        else:
            self._selector.unregister(descriptor)

    def _chunk(self, descriptor: int) -> bytes:
        try:
            return os.read(descriptor, _CHUNK)
        except OSError:
            return b""
