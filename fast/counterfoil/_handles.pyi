"""What fast/native/python/handles.c makes: the base class of arrays, and kernels called without cffi in between."""

from collections.abc import Callable, Sequence
from typing import Any

from counterfoil.arrays import Array
from counterfoil.buffers import Buffer
from counterfoil.numbers import Value
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.moves import Move

class Handle:
    _buffer: Buffer
    _dtype: Dtype
    @property
    def _address(self) -> int: ...
    @property
    def _c(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def _contiguous(self, code: int, shape: tuple[int, ...], address: int, /) -> None: ...
    def _view(self, encoding: bytes, /) -> Any: ...
    def move(self, move: Move, /) -> Array | None: ...
    def get(self, index: Sequence[int], /) -> Value: ...
    def set(self, index: Sequence[int], value: Value, /) -> None: ...
    def __getitem__(self, key: object, /) -> Array: ...

def kernel(
    name: str,
    arrays: type,
    answers: tuple[Answer, ...],
    general: Callable[..., Answer],
    lost: Callable[..., Answer],
    /,
) -> Callable[..., Answer] | None: ...
