"""Nothing is left over while programs, and runs of one routine, repeat (the long form: make soak)."""

from tests.soak import soaking

STEPS = 300


def test_whole_programs_leave_nothing() -> None:
    """Building, compiling, running, releasing and dropping leaves no pool, unit, module or object behind."""
    assert soaking.programs(STEPS) == []


def test_runs_leave_nothing() -> None:
    """Runs, uploads and reads of one routine leave no pool, record or object behind."""
    assert soaking.runs(STEPS) == []
