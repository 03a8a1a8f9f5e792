"""Two CUDA devices side by side; collected where there are two."""

from __future__ import annotations

import pytest
from tests.contexts.scenario import add, merged, program, put, refusal, stored

import counterfoil as cf


@pytest.fixture(autouse=True)
def every_mode(mode: str) -> None:
    """Each test in each mode of the driver."""


def test_devices_are_one_backend() -> None:
    """A routine runs on its own device alone; both are of one backend."""
    x, y = stored("x"), stored("y")
    one, use = cf.Context.cuda().set_values(x, [1.0, 2.0]).compile(program("use", put(y, "add", x, x), embedded=[y]))
    two = cf.Context.cuda(1).copy_from(one.run(use), y)
    assert cf.same_backend(one, two)
    assert two.get_values(y) == [2.0, 4.0]
    assert refusal(lambda: two.run(use)).rule == "run/other-device"


def test_copies_and_runs_of_both_are_in_order() -> None:
    """What one device computes is copied into what the other reads, again and again, and nobody waits in between."""
    x, y, sums = stored("x", (3000,)), stored("y", (3000,)), stored("sums", (3000,))
    one, use = (
        cf.Context.cuda()
        .set_values(x, [1.0] * 3000)
        .compile(program("use", put(y, "add", x, x), put(x, "add", x, y), embedded=[y]))
    )
    two = cf.Context.cuda(1).set_values(y, [0.0] * 3000).set_values(sums, [0.0] * 3000)
    two, gather = two.compile(program("gather", add(sums, "identity", y)))
    expected = 0.0
    for power in range(5):
        one = one.run(use)
        two = two.copy_from(one, y).run(gather)
        expected += 2.0 * 3.0**power
    assert two.get_values(sums) == [expected] * 3000
    back = one.copy_from(two, sums)
    assert back.get_values(sums) == [expected] * 3000


def test_merge_buffers_are_filled_from_the_other_device() -> None:
    """Each run reads the fill before it, whatever either device does meanwhile."""
    x, y, sums = stored("x", (3000,)), stored("y", (3000,)), stored("sums", (3000,))
    one, use = (
        cf.Context.cuda()
        .set_values(x, [1.0] * 3000)
        .compile(program("use", put(y, "add", x, x), put(x, "add", x, y), embedded=[y]))
    )
    two = cf.Context.cuda(1).set_values(sums, [0.0] * 3000)
    expected = 0.0
    for power in range(5):
        one = one.run(use)
        two, gather = two.copy_from(one, y, into_merge_buffer=True).compile(program("gather", merged(sums, y, "add")))
        two = two.run(gather)
        expected += 2.0 * 3.0**power
    assert two.get_values(sums) == [expected] * 3000
