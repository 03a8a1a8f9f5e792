"""What kernels of the loop IR mean: their statements, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from counterfoil_reference.programs.bounds import Term, single
from counterfoil_reference.programs.cells import Cells
from counterfoil_reference.programs.converting import convert, number
from counterfoil_reference.programs.interpreter import term
from counterfoil_reference.programs.memory import Memory, evaluated, indexed, indices, position
from counterfoil_reference.programs.spans import Value
from counterfoil_spec.dtypes import Dtype
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
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
    Zero,
)
from counterfoil_spec.programs.operators import BINARY
from counterfoil_spec.programs.symbols import Iterator, Symbol


class Kernels:
    """The state of a run: memory, the locals declared, and the values of iterators and symbols.

    An accumulation ends with the statement of the kernel, or of the scope, that it stands in: what a transform splits
    over several is added up one part after the other.
    """

    def __init__(self, memory: Memory, bindings: Mapping[Symbol, int]) -> None:
        self._memory = memory
        self._locals: dict[Local, Cells] = {}
        self._environment: dict[Iterator | Symbol, int] = dict(bindings.items())

    def run(self, kernel: Lowered) -> None:
        """One kernel."""
        for statement in kernel.body:
            self._statement(statement)
            self._memory.settle()

    def _body(self, body: Sequence[Statement]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Store():
                self._store(statement)
            case SetLocal():
                self._set(statement)
            case Loop():
                self._loop(statement)
            case If():
                if evaluated(statement.left, self._environment) < evaluated(statement.right, self._environment):
                    self._body(statement.body)
            case Zero():
                cells = self._memory.cells(statement.node)
                for index in indices(statement.node.shape):
                    cells.write(position(statement.node, index), number(0, statement.node.dtype))

    def _loop(self, loop: Loop) -> None:
        extent = loop.extent if isinstance(loop.extent, int) else self._environment[loop.extent]
        for value in range(extent):
            self._environment[loop.iterator] = value
            self._body(loop.body)

    def _store(self, store: Store) -> None:
        cells = self._memory.cells(store.node)
        where = position(store.node, indexed(store.index, self._environment))
        self._assign(cells, where, store.value, Load(store.node, store.index))

    def _set(self, setting: SetLocal) -> None:
        cells = self._locals.get(setting.local)
        if cells is None:
            cells = self._locals[setting.local] = Cells(setting.local.dtype, [number(0, setting.local.dtype)])
        self._assign(cells, 0, setting.value, LocalValue(setting.local))

    def _assign(self, cells: Cells, where: int, value: Scalar, itself: Scalar) -> None:
        """A cell becomes a value; one that is itself operated with another is an accumulation."""
        if isinstance(value, Apply) and value.operator in BINARY and value.arguments[0] == itself:
            if value.operator not in ("arg1", "arg2"):
                cells.accumulate(where, value.operator, self._term(value.arguments[1], cells.dtype))
                return
        cells.store(where, self._term(value, cells.dtype))

    def _term(self, value: Scalar, dtype: Dtype) -> Term:
        """A value in the dtype around it, a product of floats not rounded yet."""
        match value:
            case Load():
                index = indexed(value.index, self._environment)
                return convert(
                    self._memory.cells(value.node).read(position(value.node, index)), value.node.dtype, dtype
                )
            case LoadMerge():
                index = indexed(value.index, self._environment)
                return convert(
                    self._memory.merge(value.node).read(position(value.node, index)), value.node.dtype, dtype
                )
            case Number():
                return number(value.value, dtype)
            case Position():
                return number(evaluated(value.index, self._environment), dtype)
            case LocalValue():
                return convert(self._locals[value.local].read(0), value.local.dtype, dtype)
            case Scope():
                return self._scope(value, dtype)
        return self._applied(value, dtype)

    def _value(self, value: Scalar, dtype: Dtype) -> Value:
        return single(dtype, self._term(value, dtype))

    def _applied(self, value: Apply, dtype: Dtype) -> Term:
        if value.operator in ("arg1", "arg2"):
            return self._term(value.arguments[value.operator == "arg2"], dtype)
        return term(dtype, value.operator, tuple([self._value(argument, dtype) for argument in value.arguments]))

    def _scope(self, scope: Scope, dtype: Dtype) -> Value:
        self._locals.pop(scope.local, None)
        for statement in scope.body:
            self._statement(statement)
            if scope.local in self._locals:
                self._locals[scope.local].settle()
        return convert(self._locals[scope.local].read(0), scope.local.dtype, dtype)
