"""A report in the words of whoever reads it: a person, a program, a CI system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterfoil_oracles.targets.campaign import Report
from counterfoil_oracles.targets.known import Verdicts
from counterfoil_oracles.targets.reports import json_, junit, markdown, sarif, text
from counterfoil_oracles.targets.target import harmless, harmless_json, harmless_xml

FORMATS: Final[dict[str, Callable[[Report, Verdicts], str]]] = {
    "text": lambda report, verdicts: harmless(text.render(report, verdicts)),
    "json": lambda report, verdicts: harmless_json(json_.render(report, verdicts)),
    "junit": lambda report, verdicts: harmless_xml(junit.render(report, verdicts)),
    "sarif": lambda report, verdicts: harmless_json(sarif.render(report, verdicts)),
    "markdown": lambda report, verdicts: harmless(markdown.render(report, verdicts)),
}
"""The formats by name."""
