"""Targets in test runners: `pytest --counterfoil TARGET`, and a test class."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

import pytest

from counterfoil import testing
from counterfoil_oracles.targets import fakes, ours, suite
from counterfoil_oracles.targets.conformance import Conformance, by_rule, opening
from counterfoil_oracles.targets.target import HarnessBroken, Target
from counterfoil_spec.protocol import Profile

PLUGIN = "counterfoil_oracles.pytest_plugin"
BROKEN = "counterfoil_oracles.targets.fakes:overlap_unseen"
REACHING = "counterfoil_oracles.targets.fakes:reach_forgiven"
SOUND = "counterfoil_oracles.targets.ours:fast"


def run(room: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN, "--rootdir", str(room)]
    return subprocess.run([*command, *arguments], cwd=room, capture_output=True, text=True, timeout=120)


def test_a_divergence_is_a_failed_item_that_explains_itself(tmp_path: Path) -> None:
    """The item is named by the rule; the text has the rule, the program and the line that repeats it."""
    done = run(tmp_path, "--counterfoil", BROKEN, "--counterfoil-rule", "door/overlapping")
    assert done.returncode == 1
    assert re.search(r"FAILED ::counterfoil::door::overlapping", done.stdout)
    assert "run neg(" in done.stdout or "run add(" in done.stdout
    assert "reproduce: counterfoil replay" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.long
def test_a_sound_target_passes_rules_and_programs(tmp_path: Path) -> None:
    """One item for each rule of a chapter; and one for each seed."""
    done = run(tmp_path, "--counterfoil", SOUND, "--counterfoil-chapter", "claims", "-v")
    assert done.returncode == 0, done.stdout
    rules = [rule for rule in by_rule() if rule.startswith("claims/")]
    assert len(re.findall(r"counterfoil::claims::\S+ PASSED", done.stdout)) == len(rules) > 2
    done = run(tmp_path, "--counterfoil", SOUND, "--counterfoil-seeds", "2", "-k", "seed", "-v")
    assert len(re.findall(r"counterfoil::random::seed-\d PASSED", done.stdout)) == 2, done.stdout


@pytest.mark.long
def test_a_program_may_be_the_target(tmp_path: Path) -> None:
    """With its arguments, as a shell splits them."""
    program = f"'{sys.executable}' -m counterfoil_oracles.targets.serve {SOUND}"
    done = run(tmp_path, "--counterfoil-program", program, "--counterfoil-rule", "door/overlapping")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "arguments", [["--counterfoil-rule", "no/such"], ["--counterfoil-chapter", "no"], ["--counterfoil-program", "x"]]
)
def test_options_that_make_no_sense_are_usage_errors(tmp_path: Path, arguments: list[str]) -> None:
    """pytest's own exit code for them."""
    assert run(tmp_path, "--counterfoil", SOUND, *arguments).returncode == 4


def test_without_the_option_the_plugin_is_light() -> None:
    """Neither half, nor msgspec, nor hypothesis comes with it."""
    heavy = "{'counterfoil', 'counterfoil_reference', 'counterfoil_spec', 'hypothesis', 'msgspec', 'numpy'}"
    code = f"import sys, {PLUGIN}; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


KNOWN = """
[[known]]
case = "array: accepted"
rule = "arrays/past-the-end"
outcome = "accepted what is refused"
reason = "this library copies first"
"""


@pytest.mark.parametrize(
    ("target", "known", "code", "said"),
    [
        (REACHING, KNOWN, 0, "this library copies first"),
        (REACHING, KNOWN.replace("outcome", 'operands = ["none"]\noutcome'), 1, "DIVERGENCE array: accepted"),
        (SOUND, KNOWN, 1, "known difference never met: array: accepted (arrays/past-the-end)"),
    ],
    ids=["met", "met with other operands", "never met"],
)
def test_known_differences_are_expected_and_have_to_be_met(
    target: str, known: str, code: int, said: str, tmp_path: Path
) -> None:
    """An item that parts as the file says is expected to fail; one item is about what was never met."""
    (tmp_path / "known.toml").write_text(known)
    arguments = ["--counterfoil-rule", "arrays/past-the-end", "--counterfoil-known", str(tmp_path / "known.toml")]
    done = run(tmp_path, "--counterfoil", target, *arguments, "-rx")
    assert done.returncode == code, done.stdout
    assert said in done.stdout


def test_a_target_that_does_not_start_is_started_once(tmp_path: Path) -> None:
    """Every later check fails at once, with the words of the first."""
    starts = []

    def reopen() -> Target:
        starts.append(None)
        raise HarnessBroken("it hangs at the start")

    checks = Conformance(reopen, directory=tmp_path)
    for rule in ("door/overlapping", "memory/dead"):
        with pytest.raises(HarnessBroken, match="it hangs at the start"):
            checks.check_rule(rule)
    assert len(starts) == 1


def test_a_factory_that_fails_breaks_the_harness() -> None:
    """As a program does that does not start."""

    def factory() -> None:
        raise OSError("no device")

    with pytest.raises(HarnessBroken, match="the factory makes no target: OSError: no device"):
        opening(factory)()


@pytest.mark.parametrize("rule", ["no/such", "door/allocates-nothing"])
def test_a_rule_without_vectors_is_refused(rule: str) -> None:
    """Rather than checked by no test: one that does not exist, a law that every program is held to."""
    with pytest.raises(ValueError, match=rule):
        testing.conformance_suite(ours.fast, rules=[rule])


def test_a_profile_made_in_python_is_checked_too() -> None:
    """What no JSON was read from is held against the schema."""
    with pytest.raises(ValueError, match="host_alignment"):
        suite.conformance_suite(ours.fast, profile=Profile(host_alignment=3))  # type: ignore[arg-type]


def outcome(suite: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(suite).run(result)
    return result


def test_a_suite_has_a_test_for_each_rule_and_each_program() -> None:
    """Named by rule, with the statement as its docstring."""
    suite = testing.conformance_suite(ours.fast, seeds=3)
    names = unittest.defaultTestLoader.getTestCaseNames(suite)
    assert len(names) == len(by_rule()) + 3
    assert "byte" in (suite.test_door_overlapping.__doc__ or "")  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_suite_passes_a_sound_target() -> None:
    """A factory runs in this process."""
    result = outcome(testing.conformance_suite(ours.fast, chapters=["claims", "moves"]))
    assert result.wasSuccessful() and result.testsRun > 10


def test_a_suite_fails_a_broken_one_with_the_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an assertion, not as an error."""
    monkeypatch.chdir(tmp_path)
    result = outcome(testing.conformance_suite(fakes.overlap_unseen, rules=["door/overlapping"]))
    [(_, text)] = result.failures
    assert "DIVERGENCE kernel" in text and not result.errors


def test_a_suite_skips_what_the_target_does_not_do() -> None:
    """Skipping is not passing."""
    result = outcome(testing.conformance_suite(fakes.lazy, rules=["door/overlapping"]))
    assert len(result.skipped) == 1


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the oracles the fast half says what to install."""
    monkeypatch.setitem(sys.modules, "counterfoil_oracles.targets.suite", None)
    with pytest.raises(ImportError, match=r"counterfoil\[check\]"):
        testing.conformance_suite(SOUND)
