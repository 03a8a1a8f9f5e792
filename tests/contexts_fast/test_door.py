"""The door over a routine's pools, by reason."""

import pytest
from tests.contexts_fast import programs

import counterfoil as cf
from counterfoil_spec.answers import Answer


def refused(context: cf.Context, routine: cf.Routine) -> cf.DoorRefusal:
    """The door refusal of a run."""
    with pytest.raises(cf.DoorRefusal) as refusal:
        context.run(routine)
    return refusal.value


def test_a_pool_held_by_a_donation_is_refused_and_runs_after_it() -> None:
    """Held_exclusive while the donation lasts; the routine's name, the written argument first."""
    context, routine, x, _y = programs.ready()
    with cf.claims(donate=[context.array(x).buffer]) as claims:
        assert claims.exclusive(context.array(x).buffer)
        refusal = refused(context, routine)
    assert refusal.answer is Answer.HELD_EXCLUSIVE
    assert str(refusal).startswith("double:")
    assert refusal.operands == (("float32", (4,)), ("float32", (4,)))
    assert context.run(routine) is context


def test_a_consumed_pool_is_dead_and_says_why() -> None:
    """A pool of one node consumed through claims is refused with the consumer's words, in every value."""
    context, routine, _x, y = programs.ready()
    with cf.claims(donate=[context.array(y).buffer]) as claims:
        taken = claims.consume(context.array(y).buffer, "donated to a test")
    refusal = refused(context, routine)
    assert refusal.answer is Answer.DEAD_BUFFER
    assert refusal.subjects["dead"] == ["float32 [4] was donated to a test"]
    with pytest.raises(cf.InvalidArgument) as read:
        context.get_values(y)
    assert read.value.rule == "memory/dead"
    context.release()
    assert taken.dead is None


def test_a_refused_run_leaves_no_claim_and_no_record() -> None:
    """After Held_exclusive the other pools are unclaimed, and records and bytes are as they were."""
    context, routine, x, y = programs.ready()
    records, values = context.ledger_records, context.get_values(y)
    with cf.claims(donate=[context.array(x).buffer]):
        refused(context, routine)
        assert context.array(y).buffer.claims == (0, False, False)
    assert (context.ledger_records, context.get_values(y)) == (records, values)


def test_a_run_waits_for_work_of_a_simulated_device() -> None:
    """Work that a device has pending on a borrowed pool is performed before the routine reads it."""
    context, routine, x, y = programs.ready()
    device = cf.simulated("gpu", addressable=True)
    borrowed = context.array(x).borrow(device)
    assert borrowed is not None
    cf.submit(device, lambda view: view.cast("f").__setitem__(0, 8.0), [], [borrowed.buffer])
    assert (device.reached, device.submitted) == (0, 1)
    assert context.run(routine) is context
    assert device.reached == 1
    assert context.get_value(y, (0,)) == 16.0


def test_a_run_refuses_lost_work() -> None:
    """A pool that must follow work a device dropped is refused as memory/lost, and nothing is recorded."""
    context, routine, x, _y = programs.ready()
    device = cf.simulated("gpu", addressable=True)
    borrowed = context.array(x).borrow(device)
    assert borrowed is not None
    cf.submit(device, lambda view: None, [], [borrowed.buffer])
    device.lose("unplugged")
    with pytest.raises(cf.Lost) as refusal:
        context.run(routine)
    assert refusal.value.subjects["device"] == "gpu"
