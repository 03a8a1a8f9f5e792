"""Whether there is CUDA: four reasons why not, each by its own words, and nothing looked for before somebody asks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import counterfoil as cf
from counterfoil.cuda import DriverFailed, probe
from counterfoil_spec.backends import NO_CUDA_DEVICE, NO_CUDA_DRIVER

ERRORS = """
class Error(Exception): pass
class RuntimeError(Error): pass
class Device:
    @staticmethod
    def count(): return COUNT
def init():
    if FAILURE: raise FAILURE
"""


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known yet of PyCUDA, and what a test makes of it is forgotten again."""
    monkeypatch.setattr(probe, "_found", None)
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "pycuda"}
    for name in kept:
        del sys.modules[name]
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "pycuda"]:
        del sys.modules[name]
    sys.modules.update(kept)


def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A PyCUDA whose driver module is this text."""
    package = tmp_path / "pycuda"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "driver.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))


def why() -> str:
    """Why CUDA is not available."""
    with pytest.raises(cf.BackendUnavailable) as caught:
        cf.cuda(0)
    assert caught.value.rule == "memory/backend-unavailable" and caught.value.subjects["backend"] == "cuda"
    return str(caught.value.subjects["why"])


def test_importing_looks_for_nothing() -> None:
    """Neither the package nor a driver."""
    program = "import counterfoil, counterfoil.cuda.device, sys; print([n for n in sys.modules if 'pycuda' in n])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_without_the_package(unknown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of an installation without the backend."""
    monkeypatch.setattr(sys, "meta_path", [_Hides(), *sys.meta_path])
    assert why() == "the CUDA backend is not part of this installation"


class _Hides:
    """Finds no PyCUDA, installed or not."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name.split(".")[0] == "pycuda":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_without_a_driver(unknown: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyCUDA's own import fails for the library."""
    said = "libcuda.so.1: cannot open shared object file: No such file or directory"
    pretend(tmp_path, monkeypatch, f"raise ImportError({said!r}, name='_driver')")
    assert why() == NO_CUDA_DRIVER


@pytest.mark.parametrize(
    ("count", "failure"), [("0", "None"), ("1", "RuntimeError('cuInit failed: no CUDA-capable device is detected')")]
)
def test_without_a_device(
    unknown: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: str, failure: str
) -> None:
    """The driver counts none, or says so when it starts."""
    pretend(tmp_path, monkeypatch, f"{ERRORS}\nCOUNT, FAILURE = {count}, {failure}\n")
    assert why() == NO_CUDA_DEVICE


@pytest.mark.parametrize(
    "text",
    [
        f"{ERRORS}\nCOUNT, FAILURE = 1, Error('cuInit failed: unknown error')\n",
        f"{ERRORS}\nCOUNT, FAILURE = 1, RuntimeError('cuInit failed: unknown error')\n",
        "raise ImportError('undefined symbol: cuInit, unknown error')",
    ],
)
def test_a_driver_that_fails(unknown: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """No refusal: DriverFailed, a RuntimeError with its words."""
    pretend(tmp_path, monkeypatch, text)
    with pytest.raises(DriverFailed, match="unknown error") as caught:
        cf.cuda(0)
    assert isinstance(caught.value, RuntimeError) and not isinstance(caught.value, cf.BackendUnavailable)


def test_the_package_is_called_like_the_function() -> None:
    """Importing a room of it leaves ``counterfoil.cuda`` a call, with the argument's faults."""
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.cuda("0")
    assert caught.value.rule == "arguments/not-integer"
