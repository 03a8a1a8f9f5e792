"""Claims, donation and consumption against a plain model of counts (A8)."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import bytes_of, host_bytes, refusal

import counterfoil_reference as cf


class Memories:
    """Three memories of 4 bytes and views of them: an ordinary one, an exported one, and Read memory."""

    def __init__(self) -> None:
        self.wholes = [host_bytes(bytes(4)), host_bytes(bytes(4)), cf.from_buffer(cf.uint8, bytes(4)).buffer]
        self.wholes[1].export()
        self.buffers = [whole.view(f, n) for whole in self.wholes for f, n in ((0, 4), (0, 2), (2, 2), (1, 0))]

    def memory(self, buffer: int) -> int:
        """The number of a buffer's memory."""
        return buffer // 4


names = st.lists(st.integers(0, 11), max_size=3)


@given(names, names, names)
def test_exclusive_iff_alone(outer: list[int], read: list[int], donate: list[int]) -> None:
    """claims/counted: counts add up over views; exclusive iff spanning, Read_write, unexported and held by no other."""
    memories = Memories()
    buffers = memories.buffers
    everything = [*read, *donate]
    overlapping = any(
        buffers[d].overlaps(buffers[other])
        for k, d in enumerate(donate, start=len(read))
        for position, other in enumerate(everything)
        if position != k
    )
    with cf.claims(read=[buffers[k] for k in outer]):
        inner = cf.claims(read=[buffers[k] for k in read], donate=[buffers[k] for k in donate])
        if overlapping:
            refusal("claims/overlapping-donation", inner.__enter__)
        else:
            with inner as held:
                counts = [sum(memories.memory(k) == m for k in outer + everything) for m in range(3)]
                alone = [d for d in donate if d == 0 and counts[0] == 1]
                for m, whole in enumerate(memories.wholes):
                    excluded = m == 0 and bool(alone)
                    assert whole.claims == (0 if excluded else counts[m], excluded, m > 0)
                for k in everything:
                    assert held.exclusive(buffers[k]) == (memories.memory(k) == 0 and bool(alone))
        assert [w.claims[0] for w in memories.wholes] == [sum(memories.memory(k) == m for k in outer) for m in range(3)]
    assert [w.claims[:2] for w in memories.wholes] == [(0, False)] * 3


def test_claims_end_on_every_way_out() -> None:
    """claims/all-or-none: an exception in the block, and a refusal on entering it, leave no claim."""
    memory, dead = host_bytes(bytes(2)), host_bytes(bytes(2))
    dead.free("freed")
    with pytest.raises(ZeroDivisionError), cf.claims(read=[memory]):
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), cf.claims(donate=[memory]):
        raise ZeroDivisionError
    refusal("memory/dead", cf.claims(read=[memory], donate=[dead]).__enter__, function="claims")
    refusal("claims/overlapping-donation", cf.claims(read=[memory], donate=[memory]).__enter__, donated=1, other=0)
    refusal("claims/overlapping-donation", cf.claims(donate=[memory, memory]).__enter__, donated=0, other=1)
    assert memory.claims == (0, False, False)


def test_exclusive_memory_is_reached_by_nobody_else() -> None:
    """memory/exclusive: while a donation holds the memory, claims and element access through any view are refused."""
    array = cf.from_values(cf.uint8, [4], range(4))
    view = cf.Array(cf.uint8, cf.Layout.contiguous([2]), array.buffer.view(2, 2))
    with cf.claims(donate=[array.buffer]) as held:
        assert held.exclusive(array.buffer) and array.buffer.claims == (0, True, False)
        refusal("memory/exclusive", cf.claims(read=[view.buffer]).__enter__, function="claims")
        refusal("memory/exclusive", lambda: view.get([0]), function="get")
        refusal("memory/exclusive", lambda: view.set([0], 1), function="set")
        refusal("memory/exclusive", view.to_values, function="to_values")
        refusal("memory/exclusive", view.export, function="export")
        refusal("memory/exclusive", view.copy, function="copy")
    assert view.get([0]) == 2


def test_consuming_kills_every_older_buffer() -> None:
    """claims/consumed: views, borrows and arrays die with the consumer's words; the new buffer keeps the bytes."""
    array = cf.from_values(cf.uint8, [4], range(4))
    view, borrowed = array.buffer.view(1, 2), array.buffer.borrow(cf.simulated("near", True))
    assert borrowed is not None
    with cf.claims(donate=[array.buffer]) as held:
        taken = held.consume(array.buffer, "donated to mul")
        assert array.buffer.claims == (0, True, False)  # held until the block ends
        refusal("memory/dead", lambda: held.consume(array.buffer, "again"), why="donated to mul")
        again = held.consume(taken, "donated to add")
    assert [b.dead for b in (array.buffer, view, borrowed, taken)] == ["donated to add"] * 4
    assert again.dead is None and bytes_of(again) == bytes(range(4)) and again.claims == (0, False, False)
    refusal("memory/dead", lambda: array.get([0]), why="donated to add")


def test_the_consumer_may_export_its_buffer() -> None:
    """Export is refused while the memory is held exclusive, except through the consumer's own new buffer."""
    buffer = host_bytes(b"\x07")
    with cf.claims(donate=[buffer]) as held:
        refusal("memory/exclusive", buffer.export)
        taken = held.consume(buffer, "donated to f")
        array = cf.Array(cf.uint8, cf.Layout.contiguous([1]), taken)
        assert array.export()[0] == 7 and taken.claims == (0, True, True)
        refusal("memory/exclusive", lambda: array.get([0]))
    assert taken.claims == (0, False, True)
    with cf.claims(donate=[taken]) as held:
        assert not held.exclusive(taken)


def test_consuming_needs_a_spanning_buffer_and_no_exclusivity() -> None:
    """A memory that others read can be consumed; a part of one cannot; and only inside the block, if claimed."""
    buffer, other = host_bytes(bytes(2)), host_bytes(bytes(2))
    with cf.claims(read=[buffer]), cf.claims(read=[buffer.view(0, 1)], donate=[]) as held:
        assert not held.exclusive(buffer)
        refusal("memory/not-spanning", lambda: held.consume(buffer.view(0, 1), "x"), function="consume")
        refusal("claims/not-claimed", lambda: held.consume(other, "x"), function="consume")
        refusal("claims/not-claimed", lambda: held.exclusive(other), function="exclusive")
        refusal("arguments/wrong-type", lambda: held.consume(buffer, 3))  # type: ignore[arg-type]
        refusal("arguments/wrong-type", lambda: held.exclusive(None))  # type: ignore[arg-type]
        taken = held.consume(buffer, "taken")
        assert buffer.dead == "taken" and taken.claims == (2, False, False)
    assert taken.claims == (0, False, False)
    refusal("claims/ended", lambda: held.consume(taken, "x"), function="consume")
    refusal("claims/ended", lambda: held.exclusive(taken), function="exclusive")


def test_a_view_of_part_of_a_memory_never_makes_it_exclusive() -> None:
    """A8: neither two halves donated together nor a half beside a read half hold the memory exclusive."""
    whole = host_bytes(bytes(4))
    low, high = whole.view(0, 2), whole.view(2, 2)
    for read, donate in (([low], [high]), ([], [low, high]), ([], [low])):
        with cf.claims(read=read, donate=donate) as held:
            assert not held.exclusive(high if high in donate else low)
            assert whole.claims == (len(read) + len(donate), False, False)


def test_claims_look_by_kind_of_fault_first() -> None:
    """Every operand's death comes before any operand's exclusive hold, and that before overlapping donations."""
    held, dead, alive = host_bytes(bytes(1)), host_bytes(bytes(1)), host_bytes(bytes(1))
    dead.free("freed")
    with cf.claims(donate=[held]):
        refusal("memory/dead", cf.claims(read=[held], donate=[dead]).__enter__, why="freed")
        refusal("memory/exclusive", cf.claims(read=[alive, held], donate=[alive]).__enter__)
    refusal("arguments/wrong-type", cf.claims(read=[alive, 3]).__enter__, argument="read")  # type: ignore[list-item]
    refusal("arguments/wrong-type", cf.claims(donate=3).__enter__, argument="donate")  # type: ignore[arg-type]


def test_any_number_of_operands() -> None:
    """Far more operands than a run of 18 are claimed together and released together."""
    memory = host_bytes(bytes(1))
    with ExitStack() as stack:
        stack.enter_context(cf.claims(read=[memory] * 50))
        assert memory.claims == (50, False, False) and cf.max_operands == 18
    assert memory.claims == (0, False, False)
