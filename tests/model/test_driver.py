"""The driver: commands as data, run on a half."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.actions import ANSWERS, MAKES, MAY_MAKE
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.environment import HarnessError
from counterfoil_spec import commands
from counterfoil_spec.commands import Command, Fault, Refused, Returned


@pytest.fixture
def driver() -> Iterator[Driver]:
    """A driver of the reference that has made a host array ``a`` of four int8, 1 to 4."""
    with Driver(reference) as made:
        run(made, "from_values", "a", dtype="int8", shape=[4], values=[1, 2, 3, 4])
        yield made


def run(driver: Driver, do: str, bind: str | None = None, **args: Any) -> Any:
    """The outcome of one command."""
    return driver.execute(Command(do=do, args=args, bind=bind))


def ref(name: str) -> dict[str, str]:
    """A reference to an object by name."""
    return {"ref": name}


def documented() -> set[str]:
    """The commands that the trace format documents."""
    table = (commands.__doc__ or "").split("Commands (")[1].split("``buffer`` wherever")[0]
    names = re.findall(r"(?:^[a-z]+ +|; |, | +)([a-z_][a-z_0-9]*(?:\.[a-z_]+)?)\{", table, re.MULTILINE)
    return set(names)


def test_every_documented_command_is_known_and_no_other() -> None:
    """The driver knows exactly the commands of the trace format."""
    assert documented() == ANSWERS.keys() | MAKES.keys()


def test_a_command_is_either_made_or_answered() -> None:
    """No command is in both tables, and only commands that make an object may make none."""
    assert not ANSWERS.keys() & MAKES.keys()
    assert MAKES.keys() >= MAY_MAKE


def test_what_a_command_makes_is_bound(driver: Driver) -> None:
    """The object a command makes is there under the command's name afterwards, and the value is null."""
    assert run(driver, "array.copy", "b", array=ref("a")) == Returned(None)
    assert run(driver, "array.to_values", array=ref("b")) == Returned([1, 2, 3, 4])


def test_none_binds_nothing(driver: Driver) -> None:
    """A view that answers None binds nothing and returns false; one that answers an array returns true."""
    assert run(driver, "array.bitcast", "c", array=ref("a"), dtype="complex128") == Returned(False)
    assert "c" not in driver.names
    assert run(driver, "array.bitcast", "c", array=ref("a"), dtype="uint8") == Returned(True)


def test_a_refusal_is_an_outcome(driver: Driver) -> None:
    """A refusal becomes its rule and its subjects."""
    expected = Refused("arrays/index-range", {"index": [4], "shape": [4]})
    assert run(driver, "array.get", array=ref("a"), index=[4]) == expected


def test_an_exception_of_work_is_a_fault(driver: Driver) -> None:
    """An exception that is no refusal becomes a fault with its class and text."""
    assert run(driver, "door", written=[ref("a")], read=[], work="raise") == Fault("RuntimeError: boom")


def test_an_unbound_name_is_a_fault(driver: Driver) -> None:
    """A name that nothing made is a fault of the program, not an exception of the driver."""
    assert run(driver, "array.get", array=ref("nobody"), index=[0]) == Fault("UnboundName: nobody")


def test_an_unknown_command_breaks_the_harness(driver: Driver) -> None:
    """A command that no driver knows is the harness' own mistake."""
    with pytest.raises(HarnessError, match=r"no driver knows the command 'array\.jump'"):
        run(driver, "array.jump")


def test_an_array_stands_for_its_buffer(driver: Driver) -> None:
    """Where a buffer is named, an array's name means its buffer."""
    assert run(driver, "buffer.bytes", buffer=ref("a")) == Returned("01020304")


def test_claims_stay_open_by_name(driver: Driver) -> None:
    """Claims are held from claims.enter to claims.exit; leaving twice is a fault."""
    run(driver, "claims.enter", "c", read=[ref("a")], donate=[])
    assert run(driver, "buffer.state", buffer=ref("a")).value["claims"] == [1, False, False]
    assert run(driver, "claims.exit", claims=ref("c")) == Returned(None)
    assert run(driver, "buffer.state", buffer=ref("a")).value["claims"] == [0, False, False]
    assert isinstance(run(driver, "claims.exit", claims=ref("c")), Fault)


def test_dropping_or_rebinding_leaves_claims(driver: Driver) -> None:
    """Open claims that lose their name are left, whatever the half does when it collects them."""
    for command, args in (("drop", {"names": [ref("c")]}), ("host", {})):
        run(driver, "claims.enter", "c", read=[ref("a")], donate=[])
        run(driver, command, "c" if command == "host" else None, **args)
        assert run(driver, "buffer.state", buffer=ref("a")).value["claims"] == [0, False, False]


def test_paths_are_shown_as_the_program_gave_them(driver: Driver) -> None:
    """Files live in a private directory that refusals do not show, and that closing removes."""
    outcome = run(driver, "disk.open", "f", path="missing")
    assert isinstance(outcome, Refused) and outcome.subjects is not None
    assert outcome.rule == "memory/file" and outcome.subjects["path"] == "missing"


def test_odd_arguments_reach_the_half(driver: Driver) -> None:
    """An odd argument is passed as the foreign object it stands for."""
    outcome = run(driver, "array.get", array=ref("a"), index=[{"odd": "true"}])
    assert isinstance(outcome, Refused) and outcome.rule == "arguments/not-integer"


def test_work_is_done_on_the_views_it_is_given(driver: Driver) -> None:
    """``sum`` adds the reads' bytes, ``increment`` adds one, ``fill`` stores one byte; all wrap at 256."""
    run(driver, "simulated", "near", name="near", addressable=True)
    for name, content in (("x", "ff01"), ("y", "0203"), ("z", "000000")):
        run(driver, "buffer", name, device=ref("near"), nbytes=len(content) // 2)
        run(driver, "buffer.poke", buffer=ref(name), bytes=content)
    for work, reads in (("fill:7", []), ("sum", ["x", "y"]), ("increment", [])):
        run(driver, "submit", device=ref("near"), work=work, reads=[ref(name) for name in reads], writes=[ref("z")])
    run(driver, "device.advance", device=ref("near"), count=3)
    assert run(driver, "buffer.bytes", buffer=ref("z")) == Returned("020501")


def test_numbers_are_returned_as_traces_write_them(driver: Driver) -> None:
    """What JSON cannot hold comes back by its bits."""
    run(driver, "from_values", "f", dtype="float32", shape=[1], values=[{"float": "7ff8000000000000"}])
    assert run(driver, "array.get", array=ref("f"), index=[0]) == Returned({"float": "7ff8000000000000"})
