"""A report in the words of whoever reads it: a person, a program, a CI system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterfoil_oracles.targets.campaign import Report
from counterfoil_oracles.targets.known import Verdicts
from counterfoil_oracles.targets.reports import json_, junit, markdown, sarif, text

FORMATS: Final[dict[str, Callable[[Report, Verdicts], str]]] = {
    "text": text.render,
    "json": json_.render,
    "junit": junit.render,
    "sarif": sarif.render,
    "markdown": markdown.render,
}
"""The formats by name."""
