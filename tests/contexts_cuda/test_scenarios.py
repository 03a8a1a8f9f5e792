"""The scenarios of tests/contexts, word for word, on a CUDA root."""

from __future__ import annotations

from types import ModuleType

from tests.contexts import (
    test_accumulation,
    test_bindings,
    test_bugs,
    test_compile_orders,
    test_execution_deps,
    test_frontend_gate,
    test_gradient_table,
    test_kernels_handed_over,
    test_merge,
    test_observability,
    test_ordering,
    test_placement,
    test_programs_of_tensors,
    test_release,
    test_run_orders,
    test_shared_constants,
    test_small_semantics,
    test_transfer_orders,
    test_unwritten,
)
from tests.contexts.test_kernels_handed_over import fed
from tests.contexts_cuda.half import devices

__all__ = ["fed"]

_MODULES: tuple[ModuleType, ...] = (
    test_accumulation, test_bindings, test_bugs, test_compile_orders, test_execution_deps, test_frontend_gate,
    test_gradient_table, test_kernels_handed_over, test_merge, test_observability, test_ordering, test_placement,
    test_programs_of_tensors, test_release, test_run_orders, test_shared_constants, test_small_semantics,
    test_transfer_orders, test_unwritten,
)  # fmt: skip

_OF_CPUS = frozenset({
    "test_copy_between_backends", "test_b73_another_device_is_named_as_such",
    "test_5_6_an_interior_release_makes_descendants_refuse", "test_metadata_outlives_the_buffers",
    "test_a_vector_is_applied_in_order",
})  # fmt: skip
"""What compares two CPU backends, or spells the name of one."""

_OF_TWO_DEVICES = frozenset({"test_gradients_are_summed_between_devices"})


def _scenarios() -> dict[str, object]:
    """Each test under a name of its own; the modules themselves are not collected a second time here."""
    found: dict[str, object] = {}
    left_out = _OF_CPUS if devices() > 1 else _OF_CPUS | _OF_TWO_DEVICES
    for module in _MODULES:
        for name, value in vars(module).items():
            if name.startswith("test_") and callable(value) and name not in left_out:
                found[f"{name}__{module.__name__.rsplit('.test_')[-1]}"] = value
    return found


globals().update(_scenarios())
