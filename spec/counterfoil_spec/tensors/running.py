"""Short ways over the contexts of either half: initialize, compute once, loop over symbols.

What a wrapper compiles on the way to the context it returns is adopted by that one, and released with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from counterfoil_spec.arguments import instance
from counterfoil_spec.context_interface import ContextProtocol, RoutineProtocol
from counterfoil_spec.programs.comps import Comp, sequence
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.code import consume_forward_code, discard_backprop, initialization
from counterfoil_spec.tensors.tensor import Tensor, usable

_T = TypeVar("_T")


def init_params(context: ContextProtocol, *tensors: Tensor) -> ContextProtocol:
    """Run the code of the parameters that the tensors depend on and that the context does not hold initialized.

    Parameters without first values are left to the program. Where there is nothing to run: ``context`` itself.
    """
    usable("init_params", *tensors)
    params = {param.value: param for tensor in tensors for param in tensor.params}
    missing = [param for node, param in params.items() if param.forward.owned and not context.is_initialized(node)]
    return run_once(context, initialization(missing)) if missing else context


def run_once(context: ContextProtocol, comp: Comp, bindings: Iterable[Symbol] = ()) -> ContextProtocol:
    """Compile a comp and run it; the context after."""
    compiled, routine = context.compile(comp, bindings)
    return compiled.run(routine)


def forward_once(context: ContextProtocol, tensor: Tensor, bindings: Iterable[Symbol] = ()) -> ContextProtocol:
    """Initialize what a tensor depends on, compute it once, keep it readable; its backprop is given up.

    Refuses what ``consume_forward_code`` does, before anything is compiled.
    """
    comp = consume_forward_code(tensor)
    tensor.value.set_observable()
    discard_backprop(tensor)
    ready = init_params(context, tensor)
    return _adopting(run_once(ready, comp, bindings), ready, context)


def to_routine(
    context: ContextProtocol, *comps: Comp, bindings: Iterable[Symbol] = (), name: str | None = None
) -> tuple[ContextProtocol, RoutineProtocol]:
    """The comps compiled as one routine, and the context to run it in."""
    return context.compile(sequence(*comps), bindings, name)


def sequential_loop(symbols: Sequence[Symbol], body: Callable[[], _T]) -> list[_T]:
    """Call ``body`` with the symbols at each combination of their values, the last symbol fastest; its results.

    Refuses programs/bound: a symbol without a range.
    """
    for symbol in symbols:
        if instance("symbol", symbol, Symbol).greatest is None:
            raise refuse("programs/bound", symbol=symbol.label, bound=None)
    results = []
    for values in itertools.product(*(range((symbol.greatest or 0) + 1) for symbol in symbols)):
        for symbol, value in zip(symbols, values, strict=True):
            symbol.set(value)
        results.append(body())
    return results


def _adopting(result: ContextProtocol, minted: ContextProtocol, given: ContextProtocol) -> ContextProtocol:
    """The result, responsible for a context on its way that the caller does not hold."""
    if minted is not given:
        result.adopt_ancestor(minted)
    return result
