"""The site's pages: examples do what they show, links lead somewhere, the site builds without a warning."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [
    DOCS / "index.md",
    DOCS / "tutorial.md",
    *sorted(DOCS.glob("how-to/*.md")),
    *sorted(DOCS.glob("explanation/*.md")),
]
WITH_PYTHON = [page for page in PAGES if "```python\n" in page.read_text()]
WITH_CONSOLE = [page for page in PAGES if "```console\n" in page.read_text()]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.stem)
def test_python_prints_what_its_comments_say(page: Path) -> None:
    """All blocks of a page, in order, in one namespace."""
    code = "\n".join(blocks(page, "python"))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


@pytest.mark.parametrize("page", WITH_CONSOLE, ids=lambda page: page.stem)
def test_commands_print_the_lines_shown(page: Path, tmp_path: Path) -> None:
    """Each line shown stands in the output, in that order; `...` stands for any."""
    for block in blocks(page, "console"):
        command, *shown = block.splitlines()
        words = shlex.split(command.removeprefix("$ counterfoil "))
        ran = subprocess.run(
            [sys.executable, "-m", "counterfoil_oracles.cli", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode in (0, 1), ran.stderr
        lines = iter(ran.stdout.splitlines())
        for line in shown:
            assert line == "..." or any(found.startswith(line) for found in lines), (line, ran.stdout)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the repository; pages of the reference are written when the site is built."""
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert link.startswith(("reference/", "../reference/", "rules-")) or (page.parent / link).exists(), link


def test_the_c_example_compiles(tmp_path: Path) -> None:
    """Without a warning, against the header that is shipped."""
    import counterfoil_oracles.targets as targets

    source = tmp_path / "mine.c"
    source.write_text(blocks(DOCS / "how-to" / "target-in-c.md", "c")[0])
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{targets.__path__[0]}"]
    subprocess.run(["cc", *flags, "-o", str(tmp_path / "mine.so"), str(source)], check=True)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Every page is in the tree, every reference resolves."""
    pytest.importorskip("sphinx")
    root = DOCS.parent
    subprocess.run([sys.executable, str(root / "tools" / "render_reference.py")], check=True)
    build = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path / "site"),
    ]
    ran = subprocess.run(build, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
