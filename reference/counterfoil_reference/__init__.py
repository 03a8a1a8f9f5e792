"""The slow half of Counterfoil: plain Python, exact arithmetic, explicit sets. Obviously right, never clever.

The public surface is ``counterfoil_spec.interface.Half``.
"""

from counterfoil_reference import inspection, kernels
from counterfoil_reference.arrays import Array, empty, from_buffer, from_values, host_array, transfer
from counterfoil_reference.buffers import Buffer
from counterfoil_reference.claims import Claims, claims
from counterfoil_reference.contexts import (
    Context,
    Reuse,
    Routine,
    advances_to_next_backend,
    backend_facts_of_name,
    compiler_command,
    host_capabilities,
    same_backend,
)
from counterfoil_reference.devices import Device
from counterfoil_reference.disk import Disk, disk
from counterfoil_reference.door import door, refused
from counterfoil_reference.layouts import Layout, coalesce
from counterfoil_reference.moves import move_shape
from counterfoil_reference.numbers import of_float
from counterfoil_reference.places import cuda, host, simulated
from counterfoil_reference.printing import format_value
from counterfoil_reference.work import submit, submit_copy, submit_fill
from counterfoil_spec import tensors as tensor
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import (
    Dtype,
    Kind,
    bfloat16,
    bit,
    bool_,
    complex64,
    complex128,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int4,
    int8,
    int16,
    int32,
    int64,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
)  # fmt: skip
from counterfoil_spec.expressions import Apply, Cast, Constant, Input
from counterfoil_spec.interface import Access, MemoryKind
from counterfoil_spec.limits import MAX_OPERANDS
from counterfoil_spec.moves import Broadcast, Move, Permute, Range, Reshape, Slice, Window, WindowAxis
from counterfoil_spec.programs.assignments import (
    Accumulate,
    Block,
    Embed,
    Fetch,
    Fill,
    Merge,
    Offsets,
    Read,
    Row,
    block,
    in_sequence,
)
from counterfoil_spec.programs.comps import Comp, Fragment, comp, sequence
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.placements import Mode, Observability, Placement
from counterfoil_spec.programs.projections import Affine, Projections, affine, at, fixed
from counterfoil_spec.programs.specs import parse, pointwise
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import (
    BackendUnavailable,
    DeviceMemoryExhausted,
    DoorRefusal,
    Failure,
    InvalidArgument,
    Lost,
    Refusal,
    SessionError,
    UserError,
)  # fmt: skip

DEVICE, PINNED, MAPPED = MemoryKind.DEVICE, MemoryKind.PINNED, MemoryKind.MAPPED
READ, READ_WRITE = Access.READ, Access.READ_WRITE
max_operands = MAX_OPERANDS

__all__ = [
    "Dtype", "Kind", "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn",
    "int64", "uint64", "int32", "uint32", "int16", "uint16", "int8", "uint8", "int4", "uint4", "complex128",
    "complex64", "bool_", "bit", "of_float", "format_value",
    "Move", "Reshape", "Broadcast", "Permute", "Slice", "Range", "Window", "WindowAxis", "move_shape",
    "Layout", "coalesce",
    "Device", "Disk", "host", "cuda", "simulated", "disk", "MemoryKind", "DEVICE", "PINNED", "MAPPED",
    "Buffer", "Access", "READ", "READ_WRITE", "submit", "submit_copy", "submit_fill", "claims", "Claims",
    "Array", "empty", "host_array", "from_values", "from_buffer", "transfer",
    "Answer", "door", "refused", "max_operands", "kernels", "Input", "Constant", "Apply", "Cast",
    "Refusal", "InvalidArgument", "DoorRefusal", "UserError", "SessionError", "Failure", "Lost", "BackendUnavailable",
    "DeviceMemoryExhausted",
    "Context", "Routine", "Reuse", "same_backend", "backend_facts_of_name", "host_capabilities", "compiler_command",
    "advances_to_next_backend", "tensor",
    "Node", "Intent", "Symbol", "Iterator", "Affine", "affine", "at", "fixed", "Projections", "parse", "pointwise",
    "Read", "Merge", "Accumulate", "Fetch", "Fill", "Offsets", "Embed", "Row", "Block", "block", "in_sequence",
    "Fragment", "Comp", "comp", "sequence", "Lowered", "Mode", "Placement", "Observability",
    "inspection",
]  # fmt: skip
