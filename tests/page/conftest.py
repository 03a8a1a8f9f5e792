"""A headless Chromium, where there is one: Debian's packages chromium and chromium-driver."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1200,900",
)  # fmt: skip

IS_HERE = shutil.which("chromium") and shutil.which("chromedriver")
IS_REQUIRED = bool(os.environ.get("COUNTERFOIL_ALL"))
"""Where everything is to be run, a browser that is not there is a failure."""

collect_ignore = [] if IS_HERE or IS_REQUIRED else ["test_browser.py"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The address of the page of a trace of tests/traces."""
    import counterfoil_reference
    from counterfoil_oracles.page import page
    from counterfoil_spec.commands import decode_trace

    room = tmp_path_factory.mktemp("pages")

    def made(name: str) -> str:
        source = Path(__file__).parents[1] / "traces" / f"{name}.jsonl"
        target = room / f"{source.stem}.html"
        target.write_text(page(decode_trace(source.read_bytes()), counterfoil_reference))
        return target.as_uri()

    return made
