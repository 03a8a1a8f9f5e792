"""The package ``counterfoil.cuda``, which is a function of the surface as well."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.cuda_arrays.emulated import told

import counterfoil as cf
from counterfoil import cuda
from counterfoil.cuda.device import Cuda


def test_it_is_a_package_that_is_called(device: Cuda) -> None:
    """By whichever name it is found; its signature is the function's."""
    assert cuda is cf.cuda and isinstance(cuda, ModuleType)
    assert cuda(0) is device and cuda(ordinal=0) is device and cf.devices.cuda(0) is device
    assert list(inspect.signature(cuda).parameters) == list(inspect.signature(cf.devices.cuda).parameters)
    with pytest.raises(ValueError, match="no CUDA device -1"):
        cuda(-1)


def test_it_is_pickled_and_copied_by_name() -> None:
    """As a function is, in every protocol."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(cf.cuda, protocol)) is cf.cuda
    assert copy.copy(cf.cuda) is cf.cuda and copy.deepcopy([cf.cuda])[0] is cf.cuda


def test_help_describes_the_package() -> None:
    """help(cf.cuda) says what it is and that it is called."""
    said = pydoc.plain(pydoc.render_doc(cf.cuda))
    assert "package counterfoil.cuda" in said and "called like" in said


def test_the_function_of_before_the_package_stays_good() -> None:
    """Who imported the name before a device was asked for has the same devices."""
    assert told("from counterfoil.devices import cuda as early\ntell(early(0) is cf.cuda(0), cf.cuda is early)")[0]


def test_type_checkers_see_the_function(tmp_path: Path) -> None:
    """Also where rooms of the package are imported: its result is a device, and its argument an int."""
    used = tmp_path / "used.py"
    used.write_text(
        "import counterfoil as cf\nimport counterfoil.cuda.device\nfrom counterfoil import cuda\n"
        "from counterfoil.cuda import DriverFailed\nfound: cf.Device = cf.cuda(0)\nagain: cf.Device = cuda(0)\n"
        "cf.cuda('first')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(used)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [line.split("[")[-1] for line in done.stdout.splitlines() if "error:" in line] == ["arg-type]"], done.stdout
