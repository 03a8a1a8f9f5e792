"""What a target is to the checker, whatever road leads to it; and what breaks a harness."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from counterfoil_oracles.environment import HarnessError
from counterfoil_spec.protocol import Identity, Profile, TargetOutcome, TargetStep


class HarnessBroken(HarnessError):
    """The target hung, died, flooded, or answered what is no answer: told apart from any divergence (exit code 3)."""


@dataclass(frozen=True)
class Bounds:
    """What a target may take: seconds for a reply, bytes of a reply and of kept standard error, bytes of memory."""

    seconds: float = 10.0
    reply_bytes: int = 16 << 20
    error_bytes: int = 64 << 10
    memory_bytes: int = 4 << 30


_UNSHOWN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


_COMMANDS: Final = re.compile(r"(?:^|(?<=[\r\n]))(\s*):(?=:)")
_OLD_COMMANDS: Final = re.compile(r"#(?=#\[)")


def legible(text: str, most: int = 600) -> str:
    """Foreign words as reports print them: on one line, nothing in them that a terminal, a CI log or XML acts on."""
    shown = text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
    return harmless(_UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", re.sub(r"[ \t\r\n]+", " ", shown)))


def harmless(text: str) -> str:
    """Lines that no CI log takes for commands: GitHub's begin with ``::``, blanks before it or not, older ones hold
    ``##[``."""
    return _OLD_COMMANDS.sub(r"\\u0023", _COMMANDS.sub(r"\1\\u003a", text))


def harmless_json(text: str) -> str:
    """JSON text with the same data, that no CI log takes for commands; its lines begin with signs of JSON."""
    return text.replace("##[", "\\u0023#[")


def harmless_xml(text: str) -> str:
    """XML text with the same data, that no CI log takes for commands."""
    return _OLD_COMMANDS.sub("&#35;", _COMMANDS.sub(r"\1&#58;", text))


class Target(Protocol):
    """One implementation. Each call raises HarnessBroken where the target does not answer within its bounds."""

    @property
    def identity(self) -> Identity:
        """Who answers, and what it does."""

    def adopt(self, profile: Profile) -> str | None:
        """Ask it to keep to a profile: None, or why it cannot."""

    def run(self, steps: Sequence[TargetStep], fresh: bool) -> list[TargetOutcome]:
        """One outcome for each step; ``fresh`` forgets every name first."""

    def close(self) -> None:
        """Stop it. A second call does nothing."""
