"""Plain Python values as they are, whatever a subclass of theirs would say (A12, R1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

PLAIN: Final[dict[type, Callable[..., object]]] = {
    bool: bool, int: int.__pos__, float: float.__pos__, complex: complex.__pos__, str: str.__str__,
    bytes: bytes.__bytes__, type(None): lambda none: none,
}  # fmt: skip
"""The classes of plain values, and what makes an exact one of a subclass's without a call into the subclass."""


def exact(value: object) -> object:
    """A value of a subclass of a plain class as its base's; anything else as it is.

    So ``type(exact(value)) is int`` says whether ``value`` is an integer, also for an object that only claims to be.
    """
    cls = type(value)
    base = next((plain for plain in PLAIN if cls is not plain and issubclass(cls, plain)), None)
    return value if cls in PLAIN or base is None else PLAIN[base](value)


def words(error: BaseException) -> str:
    """An exception as the reason of a loss (A9): its class and its text, where it has one to show."""
    try:
        text = str.__str__(str(error))
    except Exception:
        text = "<no text>"
    return f"{type(error).__name__}: {text}"
