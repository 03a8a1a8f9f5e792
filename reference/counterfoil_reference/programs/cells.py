"""Memory of a routine under way: a node's elements, and sums and products that are still being accumulated."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil_reference.programs.bounds import Product, Term, operated, product, single, total
from counterfoil_reference.programs.spans import Value
from counterfoil_spec.dtypes import Dtype


class Chain:
    """An accumulation of floats into one element: what it started from, and the terms so far.

    The order of the terms does not matter to what is right (N3), so they are added up, or multiplied, at the end.
    """

    __slots__ = ("is_sum", "start", "terms")

    def __init__(self, is_sum: bool, start: Value) -> None:
        self.is_sum = is_sum
        self.start = start
        self.terms: list[Term] = []

    def result(self, dtype: Dtype) -> Value:
        """The value the terms give."""
        if self.is_sum:
            return total(dtype, self.start, self.terms)
        if len(self.terms) == 1:
            return operated(dtype, "mul", (self.start, single(dtype, self.terms[0])))
        return product(dtype, (self.start, *self.terms))


class Cells:
    """The elements of one buffer (or one local). Whatever is not a chain of its accumulation settles it first."""

    __slots__ = ("_chains", "dtype", "values")

    def __init__(self, dtype: Dtype, values: Sequence[Value]) -> None:
        self.dtype = dtype
        self.values = list(values)
        self._chains: dict[int, Chain] = {}

    def read(self, position: int) -> Value:
        """An element."""
        if position in self._chains:
            self._settle(position)
        return self.values[position]

    def write(self, position: int, value: Value) -> None:
        """An element becomes a value of the dtype."""
        self._chains.pop(position, None)
        self.values[position] = value

    def store(self, position: int, term: Term) -> None:
        """An element becomes a term, rounded."""
        self.write(position, single(self.dtype, term))

    def accumulate(self, position: int, accumulator: str, term: Term) -> None:
        """An element becomes itself, accumulated with a term of the dtype."""
        if accumulator not in ("add", "sub", "mul") or self.dtype.float_format is None:
            value = operated(self.dtype, accumulator, (self.read(position), single(self.dtype, term)))
            self.write(position, value)
            return
        chain = self._chains.get(position)
        if chain is None or chain.is_sum != (accumulator != "mul"):
            chain = Chain(accumulator != "mul", self.read(position))
            self._chains[position] = chain
        chain.terms.append(self._negated(term) if accumulator == "sub" else term)

    def _negated(self, term: Term) -> Term:
        if isinstance(term, Product):
            return Product(operated(self.dtype, "neg", (term.left,)), term.right)
        return operated(self.dtype, "neg", (term,))

    def settle(self) -> None:
        """End all accumulations under way."""
        for position in list(self._chains):
            self._settle(position)

    def _settle(self, position: int) -> None:
        self.values[position] = self._chains.pop(position).result(self.dtype)
