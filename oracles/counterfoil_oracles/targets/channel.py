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


class Channel:
    """Two file descriptors that a target reads from and writes to, and a third with what it says on the side.

    ``why`` tells how the target ended, where it did.
    """

    def __init__(
        self, sending: int, receiving: int, errors: int | None, bounds: Bounds, why: Callable[[], str | None]
    ) -> None:
        self._sending = sending
        self._receiving = receiving
        self._errors = errors
        self._bounds = bounds
        self._why = why
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
        with selectors.DefaultSelector() as writable:
            writable.register(self._sending, selectors.EVENT_WRITE)
            while left:
                self._check(deadline)
                self._take(0)
                if not writable.select(max(0.0, min(deadline - time.monotonic(), 0.1))):
                    continue
                try:
                    left = left[os.write(self._sending, left[:_CHUNK]) :]
                except BlockingIOError:
                    continue
                except ConnectionError:
                    raise self.broken(self._why() or "it closed its input") from None

    def _read(self, deadline: float) -> None:
        self._check(deadline)
        self._take(max(0.0, deadline - time.monotonic()))

    def _check(self, deadline: float) -> None:
        if time.monotonic() >= deadline:
            raise self.broken(f"no reply within {self._bounds.seconds:g} s")

    def _take(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            data = self._chunk(int(key.fd))
            if key.fd == self._receiving:
                if not data:
                    raise self.broken(self._why() or "it closed its output")
                self._waiting += data
                if len(self._waiting) > self._bounds.reply_bytes:
                    raise self.broken(f"its reply is longer than {self._bounds.reply_bytes} bytes")
            elif data:
                self.said += data
                del self.said[: max(0, len(self.said) - self._bounds.error_bytes)]
            else:
                self._selector.unregister(key.fd)

    def _chunk(self, descriptor: int) -> bytes:
        try:
            return os.read(descriptor, _CHUNK)
        except OSError:
            return b""
