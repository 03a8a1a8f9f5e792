"""The hand-written traces of contexts with their CPU roots on CUDA: the same outcomes, to the bit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import counterfoil
from counterfoil_oracles.replay import unlike_recorded
from counterfoil_spec.commands import Trace, decode_trace

_TRACES = Path(__file__).resolve().parents[1] / "traces"
_LEFT_OUT = frozenset({"context-of-a-backend", "buffer-of-a-context-in-place", "run-door-of-its-buffers"})
"""What asks about CPU backends, or reads a buffer in place on the host."""

_ROOT = re.compile(r'\{"backend": "cpu"(?!, "threads")')
_NAME = re.compile(r'"cc(?=:\d)|(?<="backend": )"cc')


def traces() -> list[Path]:
    """The files, by name."""
    found = [*(_TRACES / "contexts").glob("*.jsonl"), *(_TRACES / "gradients").glob("*.jsonl")]
    return sorted(path for path in found if path.stem not in _LEFT_OUT)


def on_cuda(text: str) -> Trace:
    """A trace with its roots of one thread on CUDA, under the names that outcomes give them; others stay on CPUs."""
    return decode_trace(_NAME.sub('"cuda', _ROOT.sub('{"backend": "cuda"', text)).encode())


@pytest.mark.parametrize("path", traces(), ids=lambda path: path.stem)
def test_a_trace_on_cuda_has_the_outcomes_of_a_cpu(path: Path) -> None:
    """Every command of the trace is answered as recorded, whatever the backend."""
    assert unlike_recorded(on_cuda(path.read_text()), counterfoil) is None
