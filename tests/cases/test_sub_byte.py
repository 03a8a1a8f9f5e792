"""(g) Elements narrower than a byte."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.cases.scenario import fresh, host_buffer, is_fast, over, raw, sliced
from tests.cases.test_conversions import cast

PATTERN = [bool(int(c)) for c in "1011001011"]


def ones(cf: Any, x: Any) -> int:
    """How many elements are true, counted by kernels."""
    total = cf.host_array(cf.int32, [])
    assert cf.kernels.sum(total, cast(cf, cf.int32, x), list(range(len(x.shape)))) == cf.Answer.DONE
    return int(total.get([]))


def complement(cf: Any, x: Any) -> Any:
    """NOT x."""
    out = cf.empty(cf.host(), cf.bit, list(x.shape))
    true = fresh(cf, cf.bit, [True], []).move(cf.Broadcast(list(x.shape)))
    assert cf.kernels.bitwise_xor(out, x, true) == cf.Answer.DONE
    return out


def test_b35_int4_keeps_its_sign(cf: Any) -> None:
    """int4 sign-extends, from inside a byte too; uint4 does not; casts between integers wrap."""
    x = fresh(cf, cf.int4, [-8, -1, 0, 7])
    assert cast(cf, cf.int8, x).to_values() == [-8, -1, 0, 7]
    assert cast(cf, cf.int8, sliced(cf, x, (1, 3))).to_values() == [-1, 0, 7]
    assert cast(cf, cf.int8, fresh(cf, cf.uint4, [8, 15, 0, 7])).to_values() == [8, 15, 0, 7]
    assert cast(cf, cf.int4, fresh(cf, cf.int8, [9, -9])).to_values() == [-7, 7]


@pytest.mark.parametrize(("count", "nbytes"), [(0, 0), (1, 1), (2, 1), (5, 3)])
def test_b36_bytes_of_nibbles(cf: Any, count: int, nbytes: int) -> None:
    """n nibbles take ceil(n / 2) bytes."""
    assert cf.int4.nbytes(count) == cf.host_array(cf.int4, [count]).buffer.nbytes == nbytes


def test_b36_low_bits_first(cf: Any) -> None:
    """The first element is low, and what is past the last one is 0."""
    assert raw(cf, fresh(cf, cf.int4, [1, 2, 3])) == b"\x21\x03"
    assert raw(cf, fresh(cf, cf.bit, [True, False, False, False, False])) == b"\x01"


def test_b37_neighbours_in_the_last_byte(cf: Any, poison: Any) -> None:
    """A copy of four bits owns its byte; a copy to a device keeps the neighbours; a fresh array ends in zeros."""
    v = sliced(cf, fresh(cf, cf.bit, [True] * 24), (0, 4))
    poison(0xFF)
    assert raw(cf, v.copy()) == b"\x0f"
    kept = v.to_device(cf.host())
    assert raw(cf, kept) == b"\xff" and kept.to_values() == v.to_values()
    assert raw(cf, cf.empty(cf.host(), cf.bit, [4]))[0] & 0xF0 == 0


@pytest.mark.parametrize("length", [31, 32, 33, 40, 64, 65])
def test_b38_reversed_bits(cf: Any, length: int) -> None:
    """A reversed bit view reads, counts, complements, selects, copies and stores by its indices."""
    values = (PATTERN * 7)[:length]
    x = fresh(cf, cf.bit, values)
    v = sliced(cf, x, (length - 1, length, -1))
    assert v.to_values() == v.copy().to_values() == values[::-1]
    assert ones(cf, v) == sum(values)
    assert complement(cf, v).to_values() == [not value for value in values[::-1]]
    both = cf.host_array(cf.bit, [length])
    assert cf.kernels.bitwise_and(both, x, v) == cf.Answer.DONE
    assert both.to_values() == [a and b for a, b in zip(values, values[::-1], strict=True)]
    v.set([0], not values[-1])
    assert x.to_values() == [*values[:-1], not values[-1]]


def test_b38_bits_three_apart_backwards(cf: Any) -> None:
    """Step -3 through bits reads every third one from the end."""
    values = PATTERN * 4
    v = sliced(cf, fresh(cf, cf.bit, values), (39, 13, -3))
    assert ones(cf, fresh(cf, cf.bit, values)) == 24
    assert v.to_values() == values[39::-3][:13]
    assert cast(cf, cf.uint8, v).to_values() == [int(value) for value in values[39::-3][:13]]


def test_b39_padding_is_not_counted(cf: Any) -> None:
    """A complement neither sets nor counts what is past the last element."""
    flipped = complement(cf, fresh(cf, cf.bit, [False, False, True]))
    assert flipped.to_values() == [True, True, False] and ones(cf, flipped) == 2
    assert raw(cf, flipped) == b"\x03"
    x = fresh(cf, cf.bit, (PATTERN * 2)[:11])
    assert raw(cf, complement(cf, complement(cf, x))) == raw(cf, x)


def test_b39_a_written_view_keeps_the_bits_past_it(cf: Any) -> None:
    """Twice the complement into a view of 11 bits leaves the other 13 as they were."""
    base = over(cf, cf.bit, host_buffer(cf, b"\x5a\xa7\x3c"), [11], [1])
    before = raw(cf, base)
    true = fresh(cf, cf.bit, [True], []).move(cf.Broadcast([11]))
    for expected in (b"\xa5\xa0\x3c", before):
        assert cf.kernels.bitwise_xor(base, base, true) == cf.Answer.DONE
        assert raw(cf, base) == expected


def test_b40_a_transfer_keeps_neighbours(cf: Any) -> None:
    """Storing into nibbles 1 to 3 leaves the others bit for bit."""
    x = fresh(cf, cf.int4, [7] * 6)
    cf.transfer(fresh(cf, cf.int4, [-1, -2, -3]), sliced(cf, x, (1, 3)))
    assert x.to_values() == [7, -1, -2, -3, 7, 7]


def test_b40_two_threads_in_one_byte(cf: Any) -> None:
    """Two threads that store neighbouring nibbles lose neither's last value."""
    x = fresh(cf, cf.uint4, [0, 0])
    rounds = 20_000 if is_fast(cf) else 500

    def store(position: int) -> None:
        for k in range(rounds):
            x.set([position], (k + position) % 16)
            assert x.get([position]) == (k + position) % 16

    threads = [threading.Thread(target=store, args=(position,)) for position in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.to_values() == [(rounds - 1) % 16, rounds % 16]
