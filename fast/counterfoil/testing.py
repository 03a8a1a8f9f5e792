"""For whoever tests another implementation: a test class that holds it against the rules.

It needs the extra ``check`` (``pip install 'counterfoil[check]'``).
"""

from __future__ import annotations

import importlib
import unittest
from collections.abc import Callable, Sequence
from typing import Any


def conformance_suite(
    target: str | Sequence[str] | Callable[[], Any],
    *,
    chapters: Sequence[str] = (),
    rules: Sequence[str] = (),
    seeds: int = 10,
    steps: int = 120,
) -> type[unittest.TestCase]:
    """A test class for pytest or unittest: ``TestMine = conformance_suite("package.module:factory")``.

    ``target``: a name as ``counterfoil check`` takes it, a program as a list of words, or a factory of Python targets,
    which then runs in this process. One test for each rule of the vectors (of ``chapters`` and ``rules`` alone, where
    given), and ``seeds`` random programs of ``steps`` commands. ImportError without the extra; ValueError for a rule
    that does not exist.
    """
    try:
        suite = importlib.import_module("counterfoil_oracles.targets.suite")
    except ModuleNotFoundError as error:
        words = "counterfoil.testing needs the extra check: pip install 'counterfoil[check]'"
        raise ImportError(f"{words} ({error.name} is missing)") from error
    made: type[unittest.TestCase] = suite.conformance_suite(
        target, chapters=chapters, rules=rules, seeds=seeds, steps=steps
    )
    return made
