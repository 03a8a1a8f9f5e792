"""A test class for a target: a method for each rule the vectors are about, and one for each random program."""

from __future__ import annotations

import functools
import re
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from counterfoil_oracles.targets.conformance import Conformance, NothingRan, by_rule, check_rules, opening
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import named
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import registry


def conformance_suite(
    target: Any,
    *,
    chapters: Sequence[str] = (),
    rules: Sequence[str] = (),
    seeds: int = 10,
    steps: int = 120,
    profile: Profile | None = None,
    words: Mapper | None = None,
) -> type[unittest.TestCase]:
    """``counterfoil.testing.conformance_suite``; ValueError for a rule that does not exist or that no vector is about,
    and for a profile that is none."""
    check_rules(rules)
    try:
        msgspec.convert(msgspec.to_builtins(profile or Profile()), Profile)
    except msgspec.ValidationError as error:
        raise ValueError(f"that is no profile: {error}") from None
    reopen = opening(target)
    again = named(target) if profile is None and words is None else None  # what no file holds, no line can name

    class Suite(unittest.TestCase):
        """The target against the rules."""

        checks: Conformance

        @classmethod
        def setUpClass(cls) -> None:
            cls.checks = Conformance(reopen, profile, words, named=again)

        @classmethod
        def tearDownClass(cls) -> None:
            cls.checks.close()

    for rule in by_rule():
        if (not rules or rule in rules) and (not chapters or rule.partition("/")[0] in chapters):
            _add(
                Suite, f"test_{rule}", registry()[rule].statement, functools.partial(Conformance.check_rule, rule=rule)
            )
    for seed in range(0 if rules or chapters else seeds):
        said = f"the random program of seed {seed}"
        check = functools.partial(Conformance.check_seed, seed=seed, length=steps)
        _add(Suite, f"test_seed_{seed}", said, check)
    return Suite


def _add(suite: type[unittest.TestCase], name: str, said: str, check: Callable[[Conformance], None]) -> None:
    def test(self: Any) -> None:
        try:
            check(self.checks)
        except NothingRan as nothing:
            raise unittest.SkipTest(str(nothing)) from None

    test.__name__ = re.sub(r"\W", "_", name)
    test.__qualname__ = f"{suite.__qualname__}.{test.__name__}"
    test.__doc__ = said
    setattr(suite, test.__name__, test)
