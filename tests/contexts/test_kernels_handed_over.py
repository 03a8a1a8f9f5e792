"""Kernels that a transform returns, or that are given lowered: what no code could be generated for is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import Symbol, program, put, rule, stored

from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Local,
    LocalValue,
    Loop,
    Lowered,
    Number,
    Position,
    Scope,
    SetLocal,
    Statement,
    Store,
    Zero,
)
from counterfoil_spec.programs.projections import affine, at, fixed
from counterfoil_spec.programs.symbols import Iterator

X, Y, ELSEWHERE = stored("x", (4,)), stored("y", (4,)), stored("z", (4,))
AT, SYMBOL, LOCAL = Iterator("i"), Symbol("s", 4), Local("t", X.dtype)
ONE = Number(1.0)

TYPE, OPERATOR, SPEC = "arguments/wrong-type", "programs/operator", "programs/spec"
FAULTY: dict[str, tuple[Any, str]] = {
    "no statement": (5, TYPE),
    "no value": (Store(Y, (fixed(0),), 5), TYPE),  # type: ignore[arg-type]
    "no number": (Store(Y, (fixed(0),), Number("x")), TYPE),  # type: ignore[arg-type]
    "an unknown operator": (Store(Y, (fixed(0),), Apply("nope", (ONE,))), OPERATOR),
    "an operand too few": (Store(Y, (fixed(0),), Apply("add", (ONE,))), OPERATOR),
    "an index too few": (Store(Y, (), ONE), "compile/shape-mismatch"),
    "an iterator outside its loop": (Store(Y, (at(AT),), ONE), SPEC),
    "two loops of one iterator": (Loop(AT, 2, (Loop(AT, 2, ()),)), SPEC),
    "a negative extent": (Loop(AT, -1, ()), "arguments/integer-range"),
    "an extent without a range": (Loop(AT, Symbol("u"), ()), "programs/bound"),
    "a position past every integer": (Store(Y, (fixed(0),), Position(fixed(2**70))), "arguments/integer-range"),
    "a local nobody set": (Store(Y, (fixed(0),), LocalValue(LOCAL)), TYPE),
    "a store in a scope": (Store(Y, (fixed(0),), Scope(LOCAL, (SetLocal(LOCAL, ONE), Zero(Y)))), TYPE),
    "an index past the end": (Store(Y, (fixed(4),), ONE), "compile/index-range"),
    "an index before the start": (Store(Y, (fixed(-1),), ONE), "compile/index-range"),
    "a load past the end": (
        Loop(AT, 4, (Store(Y, (at(AT),), Load(X, (affine([(1, AT)], 1),))),)),
        "compile/index-range",
    ),
}
FOREIGN: dict[str, Statement] = {
    "a store to another node": Store(ELSEWHERE, (fixed(0),), ONE),
    "a store to what is only read": Store(X, (fixed(0),), ONE),
    "a load of another node": Store(Y, (fixed(0),), Load(ELSEWHERE, (fixed(0),))),
    "a load of the merge buffer": Store(Y, (fixed(0),), LoadMerge(X, (fixed(0),))),
    "a symbol that the routine has not": Store(Y, (at(SYMBOL),), ONE),
}


@pytest.fixture
def fed(root: Any) -> Any:
    """A context in which x is 1, 2, 3, 4."""
    return root.set_values(X, [1, 2, 3, 4])


def transformed(context: Any, *body: Statement) -> Any:
    """y = x compiled with a transform that returns that kernel instead."""
    comp = program("copy", put(Y, "identity", X), embedded=[Y])
    return context.compile(comp, transform=lambda _: [Lowered(body)])


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_kernel_is_refused(fed: Any, fault: str) -> None:
    """Of a transform and given lowered alike, before anything is allocated."""
    statement, expected = FAULTY[fault]
    assert rule(lambda: transformed(fed, statement)) == expected
    given = Lowered((statement,))
    assert rule(lambda: fed.compile(program("given"), prelowered=given)) == expected


@pytest.mark.parametrize("what", FOREIGN)
def test_a_transform_stays_with_its_routine(fed: Any, what: str) -> None:
    """Its kernels store to what the routine writes, load what it uses, and bind what it binds."""
    assert rule(lambda: transformed(fed, FOREIGN[what])) == TYPE


def test_conditions_narrow_what_an_index_reaches(fed: Any) -> None:
    """A loop past the end whose store stands under ``i < 4`` is fine."""
    store = If(at(AT), fixed(4), (Store(Y, (at(AT),), Load(X, (at(AT),))),))
    child, routine = transformed(fed, Loop(AT, 9, (store,)))
    assert child.run(routine).get_values(Y) == [1.0, 2.0, 3.0, 4.0]


def test_locals_and_scopes_of_a_transform(fed: Any) -> None:
    """A local set in a loop is visible there, one of a scope after it."""
    doubled = Scope(LOCAL, (SetLocal(LOCAL, Apply("add", (Load(X, (at(AT),)), Load(X, (at(AT),))))),))
    child, routine = transformed(fed, Loop(AT, 4, (Store(Y, (at(AT),), doubled),)))
    assert child.run(routine).get_values(Y) == [2.0, 4.0, 6.0, 8.0]


def test_a_transform_is_a_function(fed: Any) -> None:
    """Anything else is refused where the arguments are looked at."""
    comp = program("copy", put(Y, "identity", X), embedded=[Y])
    assert rule(lambda: fed.compile(comp, transform=5)) == TYPE
