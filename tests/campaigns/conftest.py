"""Campaigns need the extra ``distributed``; without it there is nothing here to collect."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.campaigns.deadly import ROOM

collect_ignore_glob = [] if importlib.util.find_spec("distributed") else ["test_*.py"]


@pytest.fixture(scope="package")
def deaths_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory that the deadly targets of every worker know."""
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("deaths")
        patch.setenv(ROOM, str(place))
        yield place


@pytest.fixture
def deaths(deaths_here: Path) -> Callable[[], int]:
    """How many deaths the deadly targets noted in this test."""
    for noted in deaths_here.iterdir():
        noted.unlink()
    return lambda: len(list(deaths_here.iterdir()))


@pytest.fixture(scope="package")
def scheduler() -> Iterator[str]:
    """The address of a scheduler with one worker, for campaigns that end no worker."""
    from counterfoil_oracles.campaigns import clusters

    with clusters.connected(None, 1, "2GiB", 0) as client:
        yield client.scheduler.address


@pytest.fixture
def campaign(tmp_path: Path) -> Callable[..., list[str]]:
    """The arguments of a campaign that keeps everything in the test's directory."""
    kept = ["--database", str(tmp_path / "database"), "--keep", str(tmp_path / "failures")]
    return lambda *arguments: ["check", "--engine", "dask", *kept, *arguments]
