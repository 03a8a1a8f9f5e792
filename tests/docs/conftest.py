"""The reference pages are written once, and the site is built once, for all tests of a run."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT
from tools import render_reference


@pytest.fixture(scope="session")
def reference() -> dict[str, str]:
    """The text of each generated page by its name."""
    return render_reference.pages()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str, request: pytest.FixtureRequest) -> Path:
    """The built site, from a copy of the pages with the reference written anew; of all workers the first builds it."""
    here = tmp_path_factory.getbasetemp()
    checkout = (here if worker_id == "master" else here.parent) / "checkout"
    checkout.mkdir(exist_ok=True)
    with (checkout / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (checkout / "built").exists():
            _build(checkout, request.getfixturevalue("reference"))
            (checkout / "built").touch()
    return checkout / "site"


def _build(checkout: Path, reference: dict[str, str]) -> None:
    for part in ROOT.iterdir():
        if part.name in {"examples", "oracles", "spec"}:
            (checkout / part.name).symlink_to(part)
    shutil.copytree(DOCS, checkout / "docs", ignore=shutil.ignore_patterns("reference", "__pycache__"))
    render_reference.write(checkout / "docs" / "reference", reference)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(checkout / "docs")]
    ran = subprocess.run([*command, str(checkout / "site")], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
