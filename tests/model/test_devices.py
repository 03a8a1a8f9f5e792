"""The order of work on simulated devices, against a graph of what must come before what."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import boom, bytes_of, fill, host_bytes, refusal, state

import counterfoil_reference as cf


@dataclass
class Piece:
    """A submission as the model sees it: device, memories read and written, and the byte it stores."""

    device: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    byte: int


DEVICES = 3
MEMORIES = 3

pieces = st.lists(
    st.builds(
        Piece,
        st.integers(0, DEVICES - 1),
        st.lists(st.integers(0, MEMORIES - 1), max_size=2).map(tuple),
        st.lists(st.integers(0, MEMORIES - 1), max_size=2).map(tuple),
        st.integers(1, 255),
    ),
    max_size=12,
)


def mix(byte: int, reads: list[bytes]) -> int:
    """What a piece of work stores: its byte and all it reads, mixed so that order matters."""
    for data in reads:
        byte = (byte * 31 + data[0]) % 256
    return byte


def submit(piece: Piece, devices: list[cf.Device], memories: list[cf.Buffer]) -> None:
    """Submit the piece; host memory is named through each device's borrow of it."""
    count = len(piece.reads)

    def work(*views: memoryview) -> None:
        stored = mix(piece.byte, [bytes(view) for view in views[:count]])
        for view in views[count:]:
            view[0] = stored

    device = devices[piece.device]
    named = [memory.borrow(device) for memory in memories]
    cf.submit(device, work, [named[k] for k in piece.reads], [named[k] for k in piece.writes])


def before(program: list[Piece], later: int) -> set[int]:
    """The pieces that must directly come before one: its device's last, and by A9 those its memories' order names."""
    piece = program[later]
    found = {max((k for k in range(later) if program[k].device == piece.device), default=-1)}
    for memory in piece.reads:
        found.add(last_write(program[:later], memory))
    for memory in piece.writes:
        found |= last_uses(program[:later], memory)
    return found - {-1}


def last_write(program: list[Piece], memory: int) -> int:
    """The last piece that writes the memory, or -1."""
    return max((k for k, piece in enumerate(program) if memory in piece.writes), default=-1)


def last_uses(program: list[Piece], memory: int) -> set[int]:
    """Each device's last piece that uses the memory."""
    uses = [k for k, piece in enumerate(program) if memory in piece.reads + piece.writes]
    return {max(k for k in uses if program[k].device == program[j].device) for j in uses}


def closure(program: list[Piece], wanted: set[int]) -> set[int]:
    """The pieces that must have been performed for the wanted ones to have been."""
    done: set[int] = set()
    todo = set(wanted) - {-1}
    while todo:
        piece = todo.pop()
        done.add(piece)
        todo |= before(program, piece) - done
    return done


def run_in_order(program: list[Piece], performed: set[int]) -> list[int]:
    """The memories after the performed pieces, one after the other as they were submitted."""
    memories = [0] * MEMORIES
    for k, piece in enumerate(program):
        if k in performed:
            stored = mix(piece.byte, [bytes([memories[m]]) for m in piece.reads])
            for memory in piece.writes:
                memories[memory] = stored
    return memories


@given(pieces, st.integers(0, MEMORIES - 1), st.sampled_from(cf.Access))
def test_a_wait_performs_exactly_what_the_access_must_follow(
    program: list[Piece], memory: int, access: cf.Access
) -> None:
    """memory/order-of-work: the last write for a read, every use for a write, what those follow, and no more."""
    devices: list[cf.Device] = [cf.simulated(f"d{k}", True) for k in range(DEVICES)]
    memories = [host_bytes(bytes(1)) for _ in range(MEMORIES)]
    for piece in program:
        submit(piece, devices, memories)
    assert [bytes_of(m) for m in memories] == [bytes(1)] * MEMORIES  # nothing is performed early
    memories[memory].wait(access)
    wanted = {last_write(program, memory)} if access is cf.READ else last_uses(program, memory)
    performed = closure(program, wanted)
    for k, device in enumerate(devices):
        numbers = [j for j, piece in enumerate(program) if piece.device == k]
        assert state(device) == (len(numbers), sum(j in performed for j in numbers))
    assert [bytes_of(m)[0] for m in memories] == run_in_order(program, performed)


@given(pieces, st.lists(st.tuples(st.integers(0, DEVICES - 1), st.integers(0, 3)), max_size=6))
def test_advancing_in_any_order_gives_the_order_of_submission(
    program: list[Piece], steps: list[tuple[int, int]]
) -> None:
    """However the timelines are advanced, the memories end as if the work had run in the order it was submitted."""
    devices: list[cf.Device] = [cf.simulated(f"d{k}", True) for k in range(DEVICES)]
    memories = [host_bytes(bytes(1)) for _ in range(MEMORIES)]
    for piece in program:
        submit(piece, devices, memories)
    for k, count in steps:
        wanted = min(devices[k].reached + count, devices[k].submitted)
        devices[k].advance(count)
        assert devices[k].reached == wanted
    for device in devices:
        device.advance(len(program))
    assert [bytes_of(m)[0] for m in memories] == run_in_order(program, set(range(len(program))))


def test_a_long_chain_over_two_devices_is_performed() -> None:
    """Thousands of submissions that each follow the other device's are performed by one wait."""
    a, b = cf.simulated("a", True), cf.simulated("b", True)
    memory = host_bytes(bytes(1))
    for k in range(3000):
        device = (a, b)[k % 2]
        cf.submit(device, fill(k % 256), [], [memory.borrow(device)])
    memory.wait(cf.READ)
    assert state(a) == state(b) == (1500, 1500) and bytes_of(memory) == bytes([2999 % 256])


def test_work_gets_a_view_per_buffer_read_only_for_reads() -> None:
    """submit passes one byte view per named buffer, reads first, and stores through a read one fail."""
    device = cf.simulated("d")
    whole = device.buffer(6)
    seen: list[tuple[int, bool]] = []
    number = cf.submit(
        device, lambda *views: seen.extend((len(v), v.readonly) for v in views),
        [whole.view(0, 1), whole], [whole.view(1, 2)],
    )  # fmt: skip
    assert number == 1 and not seen
    device.advance(9)
    assert seen == [(1, True), (6, True), (2, False)]


def test_an_exception_loses_the_device() -> None:
    """A9: whoever waited gets Lost with the exception's words; the device's later work is dropped, its facts stay."""
    device = cf.simulated("d")
    buffer = device.buffer(1)
    cf.submit(device, fill(1), [], [buffer])
    cf.submit(device, boom, [buffer], [])
    cf.submit(device, fill(2), [], [buffer])
    refusal("memory/lost", lambda: buffer.wait(cf.READ), device="d", why="RuntimeError: boom")
    assert state(device) == (3, 1) and bytes_of(buffer) == b"\x01"
    refusal("memory/lost", lambda: cf.submit(device, fill(3), [], []), device="d")
    refusal("memory/lost", lambda: device.advance(0), device="d")
    refusal("memory/lost", lambda: device.buffer(0), device="d")
    refusal("memory/lost", lambda: cf.empty(device, cf.int8, [0]), device="d")
    device.lose("again")
    refusal("memory/lost", lambda: buffer.wait(cf.READ), why="RuntimeError: boom")


def test_other_memory_is_lost_only_where_it_must_follow_what_was_dropped() -> None:
    """Host memory used by a lost device: reached points do not matter; a write follows a dropped read, a read not."""
    device = cf.simulated("d")
    done, read, written = host_bytes(b"\x01"), host_bytes(b"\x02"), host_bytes(b"\x03")
    there = [device.buffer(1) for _ in range(3)]
    cf.submit_copy(done, there[0])
    device.advance(1)
    cf.submit_copy(read, there[1])
    cf.submit_copy(there[2], written)
    device.lose("unplugged")
    done.wait(cf.READ_WRITE)
    read.wait(cf.READ)
    refusal("memory/lost", lambda: read.wait(cf.READ_WRITE), device="d", why="unplugged")
    refusal("memory/lost", lambda: written.wait(cf.READ), device="d", why="unplugged")
    for buffer in there:
        refusal("memory/lost", lambda buffer=buffer: buffer.wait(cf.READ))
    with cf.claims(read=[read]):
        pass
    refusal("memory/lost", cf.claims(donate=[read]).__enter__)


def test_loss_reaches_another_device_when_its_work_comes_up() -> None:
    """Work pending on B that must follow what A dropped loses B when it is performed, and not before."""
    a, b = cf.simulated("a", True), cf.simulated("b", True)
    memory, own = host_bytes(b"\x00"), b.buffer(1)
    cf.submit(a, fill(1), [], [memory.borrow(a)])
    cf.submit(b, fill(2), [], [own])
    cf.submit(b, fill(3), [], [memory.borrow(b)])
    cf.submit(b, fill(4), [], [own])
    a.lose("unplugged")
    b.advance(1)
    assert bytes_of(own) == b"\x02"
    refusal("memory/lost", lambda: own.wait(cf.READ), device="b", why="a lost")
    assert state(b) == (3, 1) and bytes_of(own) == b"\x02" and bytes_of(memory) == b"\x00"
    refusal("memory/lost", lambda: memory.wait(cf.READ_WRITE), device="a", why="unplugged")


def test_what_can_be_seen_to_be_lost_performs_nothing() -> None:
    """R3: an access that must follow a dropped point is refused before any pending work is performed."""
    a, b = cf.simulated("a", True), cf.simulated("b", True)
    memory = host_bytes(b"\x00")
    cf.submit(a, fill(1), [memory.borrow(a)], [])
    cf.submit(b, fill(1), [memory.borrow(b)], [])
    b.lose("unplugged")
    refusal("memory/lost", lambda: memory.wait(cf.READ_WRITE), device="b")
    assert state(a) == (1, 0)


def test_submit_refuses_in_order() -> None:
    """runs-no-work, dead, read-only, wrong-device, lost: the kinds of fault in order, reads before writes."""
    d, e = cf.simulated("d"), cf.simulated("e")
    mine, other, dead = d.buffer(1), e.buffer(1), d.buffer(1)
    dead.free("freed")
    read_only = cf.from_buffer(cf.uint8, b"x").buffer
    refusal("memory/runs-no-work", lambda: cf.submit(cf.host(), fill(0), [dead], []), device="host")
    refusal("memory/dead", lambda: cf.submit(d, fill(0), [other], [read_only, dead]), why="freed")
    refusal("memory/read-only", lambda: cf.submit(d, fill(0), [other], [read_only]), function="submit")
    refusal("memory/wrong-device", lambda: cf.submit(d, fill(0), [mine], [other]), device="d", found="e")
    refusal("arguments/wrong-type", lambda: cf.submit(d, 3, [], []), argument="work")  # type: ignore[arg-type]
    refusal("arguments/wrong-type", lambda: cf.submit(d, boom, 3, []), argument="reads")  # type: ignore[arg-type]
    refusal("arguments/wrong-type", lambda: cf.submit(d, boom, [], [3]), argument="writes")  # type: ignore[list-item]
    assert state(d) == state(e) == (0, 0)


def test_advance_counts_in_64_bits() -> None:
    """advance takes 0 to 2^63 - 1, and performs all there is when asked for more."""
    device = cf.simulated("d")
    cf.submit(device, fill(0), [], [])
    refusal("arguments/integer-range", lambda: device.advance(-1), argument="count", low=0, high=2**63 - 1)
    refusal("arguments/integer-range", lambda: device.advance(2**63))
    refusal("arguments/not-integer", lambda: device.advance(1.0))  # type: ignore[arg-type]
    device.advance(2**63 - 1)
    assert state(device) == (1, 1)
    cf.host().advance(5)
    assert state(cf.host()) == (0, 0)


def test_copies_run_where_the_bytes_can_be_reached() -> None:
    """At once where the host addresses both; else on the destination's device if the source is, else the source's."""
    near, d, e = cf.simulated("near", True), cf.simulated("d"), cf.simulated("e")
    host, close, pinned = host_bytes(b"\x01"), near.buffer(1), d.buffer(1, cf.PINNED)
    on_d, on_e = d.buffer(1), e.buffer(1)
    cf.submit_copy(host, close)
    cf.submit_copy(close, pinned)
    assert [state(x) for x in (near, d, e)] == [(0, 0)] * 3 and bytes_of(pinned) == b"\x01"
    cf.submit_copy(pinned, on_e)  # e's, whose memory the host cannot reach
    cf.submit_copy(on_e, on_d)  # the source's
    cf.submit_copy(on_d, host)  # the source's
    assert [state(x) for x in (near, d, e)] == [(0, 0), (1, 0), (2, 0)]
    cf.submit_fill(pinned, 9)
    cf.submit_fill(close, 9)
    assert [state(x) for x in (near, d, e)] == [(1, 0), (2, 0), (2, 0)]  # fills are the device's own
    host.wait(cf.READ)
    assert [state(x) for x in (near, d, e)] == [(1, 0), (2, 1), (2, 2)] and bytes_of(host) == b"\x01"


def test_no_bytes_are_no_work() -> None:
    """A copy or a fill of no bytes is checked, and then waits for nothing and queues nothing."""
    d = cf.simulated("d")
    cf.submit_copy(d.buffer(0), d.buffer(0))
    cf.submit_fill(d.buffer(0), 1)
    cf.host_array(cf.int8, [0]).to_device(d)
    assert state(d) == (0, 0)
