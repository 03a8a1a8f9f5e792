"""A campaign whose findings and progress are in Redis: a real server, started here on a free port."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.campaigns.test_campaigns import found_in

from counterfoil_oracles import cli
from counterfoil_oracles.campaigns import clusters, stores
from counterfoil_oracles.campaigns.planning import Done, Planned

SERVER = shutil.which("redis-server")
TARGET = "tests.campaigns.deadly:forgiving_and_killed_once"

pytestmark = [
    pytest.mark.skipif(SERVER is None, reason="there is no redis-server here (Debian: apt-get install redis-server)"),
    pytest.mark.skipif(importlib.util.find_spec("redis") is None, reason="the package redis is not installed"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that keeps nothing on the disk."""
    import redis

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    room = tmp_path_factory.mktemp("redis")
    with subprocess.Popen([str(SERVER), *words, "--dir", str(room)], stdout=subprocess.DEVNULL) as server:
        client = redis.Redis(port=port)
        while server.poll() is None:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}/0"
        client.close()
        server.terminate()


@pytest.fixture(scope="module")
def two_workers(deaths_here: Path) -> Iterator[str]:
    """The address of a scheduler with two workers, which gives a unit up when its worker dies."""
    with clusters.connected(None, 2, "2GiB", 0) as client:
        yield client.scheduler.address


@pytest.mark.long
def test_a_campaign_in_redis_goes_on_after_a_worker_was_killed(
    address: str, two_workers: str, deaths: Callable[[], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run finds the first one's failures in the database, and runs the unit that had no verdict alone."""
    where = ["--scheduler", two_workers, "--workers", "2", "--database", address, "--keep", str(tmp_path / "failures")]
    what = ["--in-process", "--programs", "16", "--chapter", "arrays", TARGET]
    arguments = ["check", "--engine", "dask", *where, *what]
    assert cli.main(arguments) == 1
    first = capsys.readouterr().out
    assert (deaths(), first.count("NO VERDICT")) == (1, 1)
    assert [len(each) for each in _units(address)] == [2, 1]
    known = {case[0] for case, _ in stores.opened(address, TARGET, "another")[0].known()}
    assert known == {found.removeprefix("DIVERGENCE ") for found in found_in(first)} != set()
    assert cli.main(arguments) == 1
    second = capsys.readouterr().out
    assert "NO VERDICT" not in second and found_in(first) <= found_in(second)
    planned, done = _units(address)
    assert sorted(done) == sorted(planned) == [0, 1]


def _units(address: str) -> tuple[list[int], list[int]]:
    """The numbers of the units planned and answered, from the journal in the database."""
    import redis

    with redis.Redis.from_url(address) as client:
        keys: Any = client.keys("counterfoil/1/campaign-*")
        lines: Any = [line for key in keys for line in client.lrange(key, 0, -1)]
    events = [msgspec.json.decode(line, type=Planned | Done) for line in lines]
    return (
        [event.number for event in events if isinstance(event, Planned)],
        [event.number for event in events if isinstance(event, Done)],
    )
