"""The command and the plugin where the extra ``check`` is not installed: one sentence, and exit code 2 or 4."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from counterfoil_oracles.entry import CHECK

ROOT = Path(__file__).parents[2]
NAMES = {"crosshair-tool": "crosshair", "z3-solver": "z3"}
SENTENCE = "this needs the extra check: pip install 'counterfoil[check]' (msgspec is not installed)"


def without_msgspec(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process that cannot import msgspec."""
    lines = f"import sys; sys.modules['msgspec'] = None; {code}"
    return subprocess.run([sys.executable, "-c", lines, *arguments], capture_output=True, text=True, cwd=cwd)


def test_what_the_extra_brings_is_known_by_the_names_it_is_imported_by() -> None:
    """Each requirement of the extra, and nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = [text.split(">=")[0] for text in project["optional-dependencies"]["check"]]
    assert {NAMES.get(name, name) for name in required} == CHECK


@pytest.mark.parametrize("arguments", [["check"], ["coverage"], ["check", "mine:target"], []])
def test_the_command_says_what_to_install(arguments: list[str], tmp_path: Path) -> None:
    """Nothing on standard output, the sentence on standard error."""
    done = without_msgspec("from counterfoil_oracles.entry import main; sys.exit(main())", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"counterfoil: {SENTENCE}\n")


def test_the_plugin_says_what_to_install(tmp_path: Path) -> None:
    """A usage error of pytest's where its option is given; without the option, pytest runs as ever."""
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n", "utf-8")
    run = "import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *sys.argv[1:]]))"
    assert without_msgspec(run, cwd=tmp_path).returncode == 0
    done = without_msgspec(run, "--counterfoil", "mine:target", cwd=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: --counterfoil: {SENTENCE}\n" in done.stderr
