"""``pytest --counterfoil TARGET``: an item for each rule the vectors are about, by chapter, and one for each program.

Nothing of the halves is imported unless the option is given.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil_oracles.entry import is_of_check, needed

if TYPE_CHECKING:
    from counterfoil_oracles.targets.conformance import Conformance


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of one prefix."""
    group = parser.getgroup("counterfoil", "an array runtime checked against the rules")
    add = group.addoption
    add("--counterfoil", metavar="TARGET", help="package.module:factory, lib.so or unix:PATH")
    add("--counterfoil-program", metavar="COMMAND", help="a program that speaks the protocol, in place of TARGET")
    add("--counterfoil-chapter", action="append", default=[], metavar="CHAPTER", help="this chapter's rules alone")
    add("--counterfoil-rule", action="append", default=[], metavar="ID", help="this rule alone")
    add("--counterfoil-seeds", type=int, default=10, metavar="N", help="how many random programs (default 10)")
    add("--counterfoil-steps", type=int, default=120, metavar="N", help="how long each is (default 120)")
    add("--counterfoil-profile", type=Path, metavar="FILE", help="what the rules leave to the implementation")
    add("--counterfoil-known", type=Path, metavar="FILE", help="known differences: expected to fail, and to be met")
    add("--counterfoil-map", type=Path, metavar="FILE", help="from the target's words to rules")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the target's items to whatever else was collected."""
    if config.getoption("counterfoil") or config.getoption("counterfoil_program"):
        suite = TargetSuite.from_parent(session, name="counterfoil")
        items.extend(item for chapter in suite.collect() for item in chapter.collect())


class TargetSuite(pytest.Collector):
    """The target; it is started by the first item and ended with the session."""

    checks: Conformance

    def collect(self) -> list[Chapter]:
        """The chapters that have vectors, then the programs."""
        try:
            from counterfoil_oracles.targets.conformance import by_rule

            self.checks = _conformance(self.config)
        except ModuleNotFoundError as missing:
            if not is_of_check(missing):
                raise
            raise pytest.UsageError(f"--counterfoil: {needed(missing)}") from None
        self.config.add_cleanup(self.checks.close)
        chapters, rules = (self.config.getoption(f"counterfoil_{word}") for word in ("chapter", "rule"))
        checks: dict[str, list[tuple[str, Any]]] = {}
        for rule in by_rule():
            chapter, _, name = rule.partition("/")
            if (not chapters or chapter in chapters) and (not rules or rule in rules):
                checks.setdefault(chapter, []).append((name, (self.checks.check_rule, rule)))
        if not chapters and not rules:
            length = self.config.getoption("counterfoil_steps")
            seeds = range(self.config.getoption("counterfoil_seeds"))
            checks["random"] = [(f"seed-{seed}", (self.checks.check_seed, seed, length)) for seed in seeds]
        if self.config.getoption("counterfoil_known"):
            asked = [call[1] for found in checks.values() for _, call in found]
            chosen = [f"{chapter}/{name}" for chapter, found in checks.items() for name, _ in found]
            looked_for = chosen if chapters or rules else []
            checks["known"] = [("every-one-is-met", (self.checks.check_known, asked, looked_for))]
        return [Chapter.from_parent(self, name=chapter, checks=found) for chapter, found in checks.items()]


class Chapter(pytest.Collector):
    """A chapter's rules, or the random programs."""

    def __init__(self, checks: list[tuple[str, Any]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._checks = checks

    def collect(self) -> Iterator[Check]:
        """An item for each."""
        for name, call in self._checks:
            yield Check.from_parent(self, name=name, call=call)


class Check(pytest.Item):
    """One rule's vectors, or one program."""

    def __init__(self, call: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._call = call

    def runtest(self) -> None:
        """Run it; skipped where the target does none of it, and expected to fail where all that parts is known."""
        from counterfoil_oracles.targets.conformance import KnownDifference, NothingRan

        check, *arguments = self._call
        try:
            check(*arguments)
        except KnownDifference as known:
            pytest.xfail(str(known))
        except NothingRan as nothing:
            pytest.skip(str(nothing))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A finding in its own words; anything else as pytest shows it."""
        from counterfoil_oracles.environment import HarnessError
        from counterfoil_oracles.targets.conformance import Divergence, NeverMet
        from counterfoil_oracles.targets.target import harmless

        if isinstance(excinfo.value, Divergence | NeverMet | HarnessError):
            return harmless(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is, for the verbose listing."""
        return self.path, None, f"counterfoil::{self.parent.name if self.parent else ''}::{self.name}"


def _conformance(config: pytest.Config) -> Conformance:
    import msgspec

    from counterfoil_oracles.environment import HarnessError
    from counterfoil_oracles.targets import known, mapper
    from counterfoil_oracles.targets.conformance import Conformance, check_rules, opening
    from counterfoil_oracles.targets.named import named
    from counterfoil_spec.protocol import Profile
    from counterfoil_spec.rules import CHAPTERS

    name, program = config.getoption("counterfoil"), config.getoption("counterfoil_program")
    if name and program:
        raise pytest.UsageError("--counterfoil and --counterfoil-program name two targets")
    unknown = [each for each in config.getoption("counterfoil_chapter") if each not in CHAPTERS]
    if unknown:
        raise pytest.UsageError(f"there is no chapter {unknown[0]}")
    differences = config.getoption("counterfoil_known")
    path, words = config.getoption("counterfoil_profile"), config.getoption("counterfoil_map")
    try:
        profile = msgspec.json.decode(path.read_bytes(), type=Profile) if path else None
        patterns = mapper.read(words) if words else None
        expected = known.read(differences) if differences else []
        check_rules(config.getoption("counterfoil_rule"))
    except (OSError, msgspec.MsgspecError, HarnessError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    target = name or shlex.split(program)
    files = (("--profile", path), ("--map", words))
    again = [word for flag, file in files if file is not None for word in (flag, str(file))]
    return Conformance(opening(target), profile, patterns, named=named(target, again), known=expected)
