"""The door: sharing against sets of bytes, the total order of its answers, and what a refusal leaves behind."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import all_of, any_dtype, boom, fill, layouts, refusal, state

import counterfoil_reference as cf
from counterfoil_reference.door import identical, run
from counterfoil_reference.sharing import overlap

A = cf.Answer


@st.composite
def pairs(draw: st.DrawFn) -> tuple[cf.Array, cf.Array]:
    """Two arrays over views of one memory, or of two memories over the same bytes, often much alike."""
    whole = cf.host_array(cf.uint8, [160])
    again = cf.from_buffer(cf.uint8, whole.export()).buffer
    found: list[cf.Array] = []
    for buffer in (whole.buffer, draw(st.sampled_from([whole.buffer, again]))):
        dtype = draw(any_dtype())
        layout = draw(layouts(reach=3)) if not found or draw(st.booleans()) else found[0].layout
        if found and draw(st.booleans()):
            dtype = found[0].dtype
        first = draw(st.integers(0, 3)) * dtype.alignment
        room = buffer.nbytes - first
        if layout.span[1] * dtype.bits > room * 8:
            layout = cf.Layout.contiguous([1])
        found.append(cf.Array(dtype, layout, buffer.view(first, room)))
    return found[0], found[1]


def bits(array: cf.Array) -> list[range]:
    """The bits each index occupies, counted from the memory's host address."""
    start = (array.buffer.address or 0) * 8
    firsts = [start + array.layout.position(index) * array.dtype.bits for index in all_of(array.layout)]
    return [range(first, first + array.dtype.bits) for first in firsts]


@given(pairs())
def test_overlap_iff_a_byte_holds_bits_of_both(pair: tuple[cf.Array, cf.Array]) -> None:
    """A1: the sets of bytes touched, element by element, have one in common."""
    one, other = ({bit // 8 for element in bits(array) for bit in element} for array in pair)
    assert overlap(*pair) == overlap(*reversed(pair)) == bool(one & other)


@given(pairs())
def test_identical_iff_every_index_lies_at_the_same_bits(pair: tuple[cf.Array, cf.Array]) -> None:
    """A4: one width, one shape, an element, and every index at the same bits of the same bytes."""
    one, other = pair
    expected = one.layout.size > 0 and one.shape == other.shape and bits(one) == bits(other)
    assert identical(one, other) == identical(other, one) == expected


@given(st.lists(st.tuples(layouts(reach=3), any_dtype(), st.booleans()), max_size=4))
def test_overlapping_is_answered_by_the_sets_of_bytes(operands: list[tuple[cf.Layout, cf.Dtype, bool]]) -> None:
    """A3: a written operand shares bytes with no other written one, and with no read one that is not identical."""
    whole = cf.host().buffer(500)
    arrays = [(cf.Array(dtype, layout, whole), writes) for layout, dtype, writes in operands]
    written = [a for a, writes in arrays if writes]
    read = [a for a, writes in arrays if not writes]
    touched = {id(a): {b // 8 for element in bits(a) for b in element} for a, _ in arrays}

    def clash(one: cf.Array, other: cf.Array) -> bool:
        return bool(touched[id(one)] & touched[id(other)])

    def same(one: cf.Array, other: cf.Array) -> bool:
        return one.shape == other.shape and bits(one) == bits(other)

    clashes = [clash(a, b) for a, b in itertools.combinations(written, 2)]
    clashes += [clash(a, b) and not same(a, b) for a in written for b in read]
    expected = A.OVERLAPPING if any(clashes) else A.DONE
    if any(not a.layout.is_distinct for a in written):
        expected = A.REPEATED_ELEMENTS
    assert cf.door(written, read, lambda: None) == expected
    assert whole.claims == (0, False, False)


def test_sharing_vectors() -> None:
    """Even and odd int32 share nothing, even and odd nibbles do; a transpose and a shift are not identical."""
    x = cf.host_array(cf.int32, [8])
    even, odd = (x.move(cf.Slice(cf.Range(k, 4, 2))) for k in (0, 1))
    nibbles = cf.host_array(cf.int4, [8])
    low, high = (nibbles.move(cf.Slice(cf.Range(k, 4, 2))) for k in (0, 1))
    assert even and odd and low and high
    assert cf.door([even], [odd, even], lambda: None) is A.DONE
    assert cf.door([low], [high], lambda: None) is A.OVERLAPPING
    square = cf.host_array(cf.float32, [3, 3])
    turned, same = square.move(cf.Permute([1, 0])), square.bitcast(cf.int32)
    narrow = square.bitcast(cf.uint8)
    assert turned and same and narrow
    assert cf.door([square], [turned], lambda: None) is A.OVERLAPPING
    assert cf.door([square], [same], lambda: None) is A.DONE
    assert cf.door([square], [narrow], lambda: None) is A.OVERLAPPING
    assert cf.door([square, same], [], lambda: None) is A.OVERLAPPING
    assert cf.door([], [square, turned, square], lambda: None) is A.DONE


class Faults:
    """An operand with any set of faults that can be built, and what a kernel finds wrong with it, in A3's order."""

    def __init__(self, faults: frozenset[cf.Answer]) -> None:
        device = cf.simulated("d", addressable=A.OFF_HOST not in faults)
        memory = device.buffer(16)
        if A.READ_ONLY in faults:
            memory.memory.access = cf.READ  # a file would be off host, foreign memory never lost
        if A.HELD_EXCLUSIVE in faults:
            memory.memory.exclusive = True
        strides = [0] if A.REPEATED_ELEMENTS in faults else [1]
        self.array = cf.Array(cf.int8, cf.Layout([4], strides), memory)
        self.neighbour = cf.Array(cf.int8, cf.Layout([4], [1], 0 if A.OVERLAPPING in faults else 8), memory)
        if A.DEAD_BUFFER in faults:
            memory.memory.end("freed")


ORDER = [
    A.DEAD_BUFFER, A.HELD_EXCLUSIVE, A.READ_ONLY, A.WRONG_DTYPE, A.OFF_HOST, A.REPEATED_ELEMENTS, A.SHAPE_MISMATCH,
    A.DECLINED,
]  # fmt: skip


@given(st.frozensets(st.sampled_from(ORDER)))
def test_the_first_fault_in_the_order_is_the_answer(faults: frozenset[cf.Answer]) -> None:
    """door/order: of all the faults one call has, the first in A3's order is answered, and nothing is done."""
    made = Faults(faults)
    ran: list[int] = []
    answer = run(
        [made.array], [], A.WRONG_DTYPE not in faults, lambda: A.SHAPE_MISMATCH not in faults,
        lambda: A.DECLINED in faults, lambda: ran.append(1),
    )  # fmt: skip
    expected = next((fault for fault in ORDER if fault in faults), A.DONE)
    assert answer is expected and ran == [1] * (expected is A.DONE)
    assert made.array.buffer.memory.claims == 0


@given(st.lists(st.frozensets(st.sampled_from(ORDER[:3])), min_size=2, max_size=3), st.integers(0, 2))
def test_claims_are_refused_operand_by_operand(operands: list[frozenset[cf.Answer]], split: int) -> None:
    """A3: written operands first, then read ones; within one dead, exclusive, and for written ones read-only."""
    made = [Faults(faults) for faults in operands]
    written = [m.array for m in made[:split]]
    expected = A.DONE
    for position, faults in reversed(list(enumerate(operands))):
        looked_for = ORDER[:3] if position < split else ORDER[:2]
        expected = next((fault for fault in looked_for if fault in faults), expected)
    assert cf.door(written, [m.array for m in made[split:]], lambda: None) is expected
    assert all(m.array.buffer.memory.claims == 0 for m in made)


def test_overlap_comes_after_repeats_and_before_loss_and_shape() -> None:
    """Repeated_elements of any operand, then Overlapping, then Lost, then Shape_mismatch."""
    near = cf.simulated("near", True)
    a = cf.empty(near, cf.int8, [4])
    shifted = cf.Array(cf.int8, cf.Layout([4], [1], 0), a.buffer.view(0, 4)).move(cf.Slice(cf.Range(3, 4, -1)))
    wide = cf.empty(near, cf.int8, [1]).move(cf.Broadcast([4]))
    assert shifted is not None and wide is not None

    def call(written: list[cf.Array], read: list[cf.Array]) -> cf.Answer:
        return run(written, read, True, lambda: False, lambda: True, lambda: None)

    assert call([a, wide], [shifted]) is A.REPEATED_ELEMENTS
    assert call([a], [shifted]) is A.OVERLAPPING
    assert call([a], []) is A.SHAPE_MISMATCH
    near.lose("unplugged")
    assert call([a], [shifted]) is A.OVERLAPPING
    refusal("memory/lost", lambda: call([a], []), device="near", why="unplugged")
    refusal("memory/lost", lambda: cf.door([], [a], lambda: None), device="near")
    assert a.buffer.claims == (0, False, False)


def test_a_refused_or_declined_call_performs_nothing() -> None:
    """door/no-trace: pending work stays pending until the call is sure to be done; then it waits under its claims."""
    near = cf.simulated("near", True)
    a, b = cf.empty(near, cf.int8, [4]), cf.empty(near, cf.int8, [4])
    cf.submit(near, fill(3), [], [a.buffer])
    seen: list[object] = []
    cf.submit(near, lambda view: seen.append(a.buffer.claims), [a.buffer], [])
    cf.submit(near, fill(4), [], [b.buffer])
    assert run([b], [a], False, lambda: True, lambda: False, lambda: None) is A.WRONG_DTYPE
    assert run([b], [a], True, lambda: False, lambda: False, lambda: None) is A.SHAPE_MISMATCH
    assert run([b], [a], True, lambda: True, lambda: True, lambda: None) is A.DECLINED
    assert state(near) == (3, 0)
    assert run([], [a], True, lambda: True, lambda: False, lambda: None) is A.DONE
    assert state(near) == (3, 1)
    assert run([a], [], True, lambda: True, lambda: False, lambda: None) is A.DONE
    assert state(near) == (3, 2) and seen == [(1, False, False)]


def test_a_wait_that_fails_releases_the_claims() -> None:
    """Loss found while waiting under the claims is raised with every claim released and nothing written."""
    near = cf.simulated("near", True)
    a, b = cf.empty(near, cf.int8, [1]), cf.from_values(cf.int8, [1], [5])
    cf.submit(near, boom, [], [a.buffer])
    call = lambda: run([b], [a], True, lambda: True, lambda: False, lambda: b.set([0], 0))  # noqa: E731
    refusal("memory/lost", call, device="near", why="RuntimeError: boom")
    assert a.buffer.claims == b.buffer.claims == (0, False, False) and b.to_values() == [5]


def test_the_function_door_claims_while_it_runs_and_waits_for_nothing() -> None:
    """door/waits-for-nothing: f runs under a claim per operand; its exception propagates after the release."""
    near = cf.simulated("near", True)
    a, b = cf.empty(near, cf.int8, [1]), cf.empty(near, cf.int8, [1])
    cf.submit(near, fill(1), [], [a.buffer])
    seen: list[object] = []
    assert cf.door([a], [b, b], lambda *xs: seen.append((xs, a.buffer.claims, b.buffer.claims)), 1, 2) is A.DONE
    assert seen == [((1, 2), (1, False, False), (2, False, False))] and state(near) == (1, 0)
    with pytest.raises(RuntimeError, match="boom"):
        cf.door([a], [b], boom)
    assert a.buffer.claims == b.buffer.claims == (0, False, False)
    refusal("arguments/wrong-type", lambda: cf.door([a], [b], None), argument="f")  # type: ignore[arg-type]
    refusal("arguments/wrong-type", lambda: cf.door(a, [b], boom), argument="written")  # type: ignore[arg-type]
    refusal("arguments/wrong-type", lambda: cf.door([a], [b.buffer], boom), argument="read")  # type: ignore[list-item]


def test_off_host_is_a_kernels_answer_only() -> None:
    """The function door answers nothing about where memory lies; an empty operand is Off_host nowhere."""
    far = cf.simulated("far")
    a, none = cf.empty(far, cf.int8, [2]), cf.empty(far, cf.int8, [0])
    assert cf.door([a], [none], lambda: None) is A.DONE
    assert run([none], [], True, lambda: True, lambda: False, lambda: None) is A.DONE
    assert run([none], [a], True, lambda: True, lambda: False, lambda: None) is A.OFF_HOST
    none.buffer.free("freed")
    assert cf.door([], [none], lambda: None) is A.DEAD_BUFFER


def test_refused_names_every_operand_and_each_death() -> None:
    """A10: the function, the reason and the operands in order; dead ones with their consumer's words."""
    x, y = cf.host_array(cf.float32, [3]), cf.host_array(cf.int8, [2, 3])
    found = refusal("door/wrong-dtype", lambda: cf.refused("Nx.add", A.WRONG_DTYPE, [x, y]), dead=[])
    assert isinstance(found, cf.DoorRefusal) and found.answer is A.WRONG_DTYPE
    assert str(found).startswith("Nx.add: ") and str(found).endswith(" (float32 [3], int8 [2, 3])")
    with cf.claims(donate=[x.buffer]) as held:
        refusal("door/held-exclusive", lambda: cf.refused("add", A.HELD_EXCLUSIVE, [x, y]), dead=[])
        held.consume(x.buffer, "donated to mul")
        late = refusal(
            "door/dead-buffer", lambda: cf.refused("add", A.HELD_EXCLUSIVE, [x, y]),
            dead=["float32 [3] was donated to mul"],
        )  # fmt: skip
    assert str(late) == "add: float32 [3] was donated to mul (float32 [3], int8 [2, 3])"
    y.buffer.free("freed")
    both = refusal("door/dead-buffer", lambda: cf.refused("add", A.DEAD_BUFFER, [x, y, x]))
    assert str(both).startswith("add: float32 [3] was donated to mul; int8 [2, 3] was freed; float32 [3] was donated")
    for answer in (A.DONE, A.DECLINED):
        refusal("door/refuses-nothing", lambda answer=answer: cf.refused("add", answer, [x]), answer=answer.name)
    refusal("arguments/wrong-type", lambda: cf.refused("add", 3, [x]), argument="answer")  # type: ignore[arg-type]


def test_identical_across_two_devices_names_for_one_memory() -> None:
    """An array and its borrow are identical: a kernel may write one and read the other."""
    a = cf.from_values(cf.int8, [2], [1, 2])
    b = a.borrow(cf.simulated("near", True))
    assert b is not None and identical(a, b) and cf.door([a], [b], lambda: None) is A.DONE
