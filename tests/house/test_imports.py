"""What an import of each half brings with it, seen from a fresh interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

OUTSIDERS = """
import sys
before = set(sys.modules)
import {half}
brought = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(brought - set(sys.stdlib_module_names)))
"""

WITHOUT = """
import sys
for name in {blocked}:
    sys.modules[name] = None  # importing it now raises ImportError
import {half}
"""


def python(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter and give back what it printed."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)


def outsiders(half: str) -> set[str]:
    """The top-level modules outside the standard library that importing `half` loads."""
    result = python(OUTSIDERS.format(half=half))
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_the_reference_brings_only_the_spec() -> None:
    """The reference runs on the Python standard library and the spec, nothing else."""
    assert outsiders("counterfoil_reference") == {"counterfoil_reference", "counterfoil_spec"}


def test_the_fast_half_brings_only_numpy_and_cffi() -> None:
    """The fast half needs the two dependencies of the distribution, nothing else."""
    assert outsiders("counterfoil") <= {"counterfoil", "counterfoil_spec", "numpy", "cffi", "_cffi_backend"}


@pytest.mark.parametrize("half", ["counterfoil", "counterfoil_reference"])
def test_a_half_imports_without_the_check_extra(half: str) -> None:
    """Neither half needs anything of the extra `check`: not the trace schema's msgspec, not a prover."""
    blocked = ("msgspec", "hypothesis", "z3", "crosshair", "islpy", "mpmath", "ml_dtypes")
    result = python(WITHOUT.format(blocked=blocked, half=half))
    assert result.returncode == 0, result.stderr
