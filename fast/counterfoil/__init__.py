"""Counterfoil's fast half: arrays of 21 dtypes, checked kernels, devices and claims, over a C core.

``import counterfoil as cf``. The surface is ``counterfoil_spec.interface``; operators, indexing, the named functions
and the exchange of arrays with other libraries are here alone.
"""

from counterfoil_spec import __version__
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
)
from counterfoil_spec.expressions import Apply, Cast, Constant, Input
from counterfoil_spec.interface import Access, MemoryKind
from counterfoil_spec.limits import MAX_OPERANDS as max_operands
from counterfoil_spec.moves import Broadcast, Permute, Range, Reshape, Slice, Window, WindowAxis
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
)

# isort: split
from counterfoil import arrays  # first: arrays, their operators and their exchange name each other

# isort: split
from counterfoil import blas, functions, indexing, inspection, kernels, showing
from counterfoil.arrays import Array
from counterfoil.buffers import Buffer
from counterfoil.claims import claims
from counterfoil.creation import empty, from_buffer, from_values, host_array
from counterfoil.devices import Device, cuda, host, simulated
from counterfoil.disk import disk
from counterfoil.door import door, refused, submit
from counterfoil.interchange import asarray, from_dlpack
from counterfoil.layouts import Layout, coalesce, move_shape
from counterfoil.numbers import of_float
from counterfoil.functions import *  # noqa: F403
from counterfoil.placement import submit_copy, submit_fill, transfer
from counterfoil.printing import format_value

blas.adopt()
