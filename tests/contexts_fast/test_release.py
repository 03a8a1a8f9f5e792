"""What release leaves behind: nothing, and in what shape values survive it."""

import gc
import weakref

import pytest
from tests.contexts_fast import programs
from tests.soak import stepping

import counterfoil as cf
from counterfoil.compile import module

PARTS = ("working_pools", "working_bytes", "constant_pools", "constant_bytes")


@pytest.mark.parametrize("program", stepping.PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_leaves_the_census_as_it_was(program: object) -> None:
    """Pools and bytes are those of before, and as many units were released as were made, roots' included or not."""
    assert callable(program)
    program(3)  # the device's merge buffer stays as large as it grew
    gc.collect()
    before, live = cf.inspection.census(), cf.inspection.live_bytes(cf.host())
    program(3)
    gc.collect()
    after = cf.inspection.census()
    assert [after[part] for part in PARTS] == [before[part] for part in PARTS]
    assert after["pools_allocated"] - before["pools_allocated"] == after["pools_freed"] - before["pools_freed"]
    assert cf.inspection.live_bytes(cf.host()) == live


def test_a_released_routine_is_unloaded_with_its_last_reference() -> None:
    """The machine code stays while the routine lives, and goes with it and with its registration."""
    x, _y, comp = programs.doubling(5)
    context, routine = cf.Context.cpu().set_values(x, [0.0] * 5).compile(comp)
    loaded = len(module.loaded)
    context.run(routine)
    context.release()
    assert len(module.loaded) == loaded
    del routine
    assert len(module.loaded) == loaded - 1


def test_nothing_of_a_dropped_program_needs_the_collector() -> None:
    """Values, routines, roots and nodes go by their counts alone once they are released and dropped."""
    gc.collect()
    gc.disable()
    try:
        x, y, comp = programs.doubling()
        start = cf.Context.cpu().set_values(x, [0.0] * 4)
        context, routine = start.compile(comp)
        context.run(routine).get_values(y)
        context.release()
        start.release()
        watched = [weakref.ref(thing) for thing in (x, y, start, context, routine)]
        del x, y, comp, start, context, routine
        assert [thing() for thing in watched] == [None] * 5
    finally:
        gc.enable()


def test_a_routine_that_nobody_holds_leaves_the_ledger() -> None:
    """C17: names, executed marks and writers of a released leaf are retired; the root's own stay."""
    x, _y, comp = programs.doubling()
    start = cf.Context.cpu().set_values(x, [0.0] * 4)
    for _ in range(5):
        context, routine = start.compile(comp)
        context.run(routine)
        assert start.ledger_records == 3
        context.release()
        assert start.ledger_records == 0


def test_arrays_of_a_freed_pool_are_dead() -> None:
    """An array in place is dead once its pool was released; a view taken before keeps its bytes allocated."""
    context, _routine, _x, y = programs.ready()
    array = context.array(y)
    view = array.export()
    context.release()
    assert array.buffer.dead == "released"
    seen = cf.inspection.array(context, y)
    assert seen is not None and seen.buffer.dead == "released"
    assert view.tolist() == [2.0, 4.0, 6.0, 8.0]
    with pytest.raises(cf.InvalidArgument) as refusal:
        array.to_values()
    assert refusal.value.rule == "memory/dead"


def test_a_claimed_pool_is_not_freed_and_release_resumes() -> None:
    """Release while somebody reads refuses and keeps its progress; the next one frees the rest, once."""
    context, _routine, _x, y = programs.ready()
    before = cf.inspection.census()
    with context.array(y).reading(), pytest.raises(cf.InvalidArgument) as refusal:
        context.release()
    assert refusal.value.rule == "memory/claimed"
    context.release()
    context.release()
    assert cf.inspection.census()["pools_freed"] - before["pools_freed"] == 1
