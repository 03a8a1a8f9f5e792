"""Run in the core: what the common case does, when it hands on, and that both agree."""

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from tests.contexts_fast import programs

import counterfoil as cf
from counterfoil.contexts import running


@pytest.fixture
def handed_on(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The calls of run that the core handed on to Python."""
    calls: list[object] = []
    run: Callable[..., Any] = running.run

    def counting(*args: object) -> object:
        calls.append(args)
        return run(*args)

    monkeypatch.setattr(running, "run", counting)
    return calls


RUNS = 1000


def test_a_repeated_run_stays_in_the_core(handed_on: list[object]) -> None:
    """Once a value returned itself, its runs of that routine take no step in Python and allocate no object."""
    context, routine, _x, y = programs.ready()
    assert context.run(routine) is context
    handed_on.clear()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(RUNS):
        assert context.run(routine) is context
    assert len(gc.get_objects()) - before < RUNS  # other threads of the process may make a few meanwhile
    assert handed_on == []
    assert context.get_values(y) == [2.0, 4.0, 6.0, 8.0]


def test_a_value_that_marks_nothing_yet_is_handed_on(handed_on: list[object]) -> None:
    """The first run returns a value that marks the outputs, and the value it was called on stays as it was."""
    x, y, comp = programs.doubling()
    context, routine = cf.Context.cpu().set_values(x, [0.0] * 4).compile(comp)
    after = context.run(routine)
    assert (context.is_initialized(y), after.is_initialized(y)) == (False, True)
    assert len(handed_on) == 1
    assert after.run(routine) is after and after.run(routine) is after
    assert len(handed_on) == 2


def test_bindings_are_read_in_the_core(handed_on: list[object]) -> None:
    """A run with bindings takes the symbols' values of that call; one that cannot be taken is refused in words."""
    symbol, y = cf.Symbol("i", 10), programs.node("y")
    code = cf.Fetch(y, cf.Embed(symbol))
    context, routine = cf.Context.cpu().compile(cf.comp(code, [y]), name="embed")
    symbol.set(3)
    context = context.run(routine).run(routine)
    handed_on.clear()
    for value in range(10):
        symbol.set(value)
        context.run(routine)
        assert context.get_values(y) == [value]
    assert handed_on == []
    symbol.value = 10
    with pytest.raises(cf.UserError) as refusal:
        context.run(routine)
    assert refusal.value.subjects["bindings"] == [["i", 10, "past range"]]


def test_timing_is_an_argument_by_name_and_by_place() -> None:
    """run takes timing both ways, and no other argument."""
    context, routine, *_ = programs.ready()
    assert context.run(routine, timing=True) is context
    assert context.run(routine, True) is context
    with pytest.raises(TypeError):
        context.run(routine, quick=True)  # type: ignore[call-arg]
    with pytest.raises(cf.InvalidArgument) as refusal:
        context.run(None)  # type: ignore[arg-type]
    assert refusal.value.rule == "arguments/wrong-type"


def test_a_released_value_is_refused_after_runs_in_the_core() -> None:
    """The core sees the released mark of the unit, and of every ancestor."""
    x, _y, comp = programs.doubling()
    start = cf.Context.cpu().set_values(x, [0.0] * 4)
    context, routine = start.compile(comp)
    context = context.run(routine)
    context.run(routine), context.run(routine)
    start.release()
    with pytest.raises(cf.UserError) as refusal:
        context.run(routine)
    assert (refusal.value.rule, refusal.value.subjects["levels"]) == ("release/dead-ancestor", 1)
    context.release()
    with pytest.raises(cf.UserError) as refusal:
        context.run(routine)
    assert refusal.value.rule == "release/dead-handle"


def test_many_bindings_run_too() -> None:
    """More bindings than the core's calls take at once are handed on, and captured alike."""
    symbols = [cf.Symbol(f"s{k}", 100) for k in range(20)]
    nodes = [programs.node(f"y{k}") for k in range(20)]
    code = cf.in_sequence(*(cf.Fetch(y, cf.Embed(s)) for y, s in zip(nodes, symbols, strict=True)))
    context, routine = cf.Context.cpu().compile(cf.comp(code, nodes), name="embed")
    for round_ in range(3):
        for number, symbol in enumerate(symbols):
            symbol.set(number + round_)
        context = context.run(routine)
    assert [context.get_value(y, ()) for y in nodes] == [k + 2.0 for k in range(20)]


def test_a_binding_that_is_no_integer_of_64_bits_is_refused() -> None:
    """A value past 64 bits is past the index width."""
    symbol, y = cf.Symbol("i"), programs.node("y")
    context, routine = cf.Context.cpu().compile(cf.comp(cf.Fetch(y, cf.Embed(symbol)), [y]), name="embed")
    for value, why in ((2**70, "past index width"), (-(2**70), "negative"), (None, "unassigned")):
        symbol.value = value
        with pytest.raises(cf.UserError) as refusal:
            context.run(routine)
        assert refusal.value.subjects["bindings"] == [["i", value, why]]


def test_a_declaration_after_the_compile_excuses_an_input() -> None:
    """An input declared zero-valid after its routine was compiled is read as the zeros it was allocated with."""
    x, y, comp = programs.doubling()
    context, routine = cf.Context.cpu().compile(cf.comp(comp.code, [x, y]), name="double")
    with pytest.raises(cf.UserError) as refusal:
        context.run(routine)
    assert refusal.value.subjects["nodes"] == ["x"]
    x.mark_zero_valid()
    context.check_runnable(routine)
    assert context.run(routine).get_values(y) == [0.0] * 4


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_contexts_and_routines_are_not_copied(duplicate: Callable[[object], object]) -> None:
    """A copy would share memory it does not hold."""
    context, routine, *_ = programs.ready()
    for thing in (context, routine):
        with pytest.raises(TypeError):
            duplicate(thing)


def test_no_context_or_routine_is_made_by_hand() -> None:
    """The classes are called by nobody; what was made without a root refuses to run, and does not crash."""
    with pytest.raises(TypeError):
        cf.Context()
    with pytest.raises(TypeError):
        cf.Routine()
    context, routine, *_ = programs.ready()
    with pytest.raises(AttributeError):
        object.__new__(cf.Context).run(routine)
    with pytest.raises(AttributeError):
        context.run(object.__new__(cf.Routine))
