"""Every law of the registry is held by tests that exist."""

from pathlib import Path

from counterfoil_oracles.coverage import law_holes

ROOT = Path(__file__).resolve().parents[2]


def test_every_law_names_the_tests_that_hold_it() -> None:
    """Each active law names a test, and each test named is there."""
    assert law_holes(ROOT / "tests" / "laws.toml", ROOT) == []
