"""Every test compiles into a cache of the session's own."""

from __future__ import annotations

import pytest

from counterfoil.compile import cache


@pytest.fixture(autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test compiled the next finds."""
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path_factory.getbasetemp() / "cache"))
