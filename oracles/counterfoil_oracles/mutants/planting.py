"""Copies of the halves, with a defect or without, in a directory of their own.

A ground is a snapshot of the sources: everything one campaign looks at comes from one state of the checkout, whatever
happens to it meanwhile. Compiled routines are kept in the ground, for all its copies: the cache finds an entry by its
whole source, so what a defect emits otherwise is compiled for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.mutants.defect import Defect

CHECKOUT: Final = Path(__file__).resolve().parents[3]

_PACKAGES: Final = (
    Path("spec/counterfoil_spec"), Path("reference/counterfoil_reference"), Path("fast/counterfoil"),
    Path("oracles/counterfoil_oracles"),
)  # fmt: skip
_NATIVE: Final = Path("fast/native")
_FAST: Final = Path("fast/counterfoil")
_CUDA: Final = Path("fast/cuda")


class Ground:
    """The snapshot of a checkout's sources under ``room``, and the copies planted from it.

    HarnessError where there is no checkout with sources, or it does not build.
    """

    def __init__(self, room: Path) -> None:
        if not (CHECKOUT / _NATIVE).is_dir():
            raise HarnessError("defects are planted in copies of the sources: this needs a checkout with fast/native")
        self.room = room
        self.base = room / "base"
        for part in (*_PACKAGES, _NATIVE, _CUDA):
            _copy(CHECKOUT / part, self.base / part)
        _build(self.base / _NATIVE, self.base / _FAST)

    def plant(self, defect: Defect | None) -> dict[str, str]:
        """Make a copy with the defect; the environment in which Python imports it (None: the halves as they are).

        HarnessError where the defect does not apply or does not compile.
        """
        roots = [self.base / part.parent for part in _PACKAGES]
        if defect is not None:
            roots.insert(0, self._copy_with(defect))
        own = {"PYTHONPATH": os.pathsep.join(map(str, roots)), "COUNTERFOIL_CACHE": str(self.room / "cache")}
        return {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": "1"}

    def place(self, defect: Defect) -> Path:
        """The directory of a defect's copy."""
        return self.room / defect.name

    def _copy_with(self, defect: Defect) -> Path:
        """The directory from which Python imports the changed package."""
        place, file = self.place(defect), Path(defect.file)
        native = file.is_relative_to(_NATIVE)
        package = _FAST if file.is_relative_to("fast") else file.parents[-3]
        _copy(self.base / package, place / package)
        if package == _FAST:  # it finds the CUDA C beside itself
            _copy(self.base / _CUDA, place / _CUDA)
        if native:
            _copy(self.base / _NATIVE, place / _NATIVE)
        try:
            (place / file).write_text(defect.applied((place / file).read_text("utf-8")), "utf-8")
        except ValueError as error:
            raise HarnessError(str(error)) from None
        if native:
            _build(place / _NATIVE, place / package)
        return place / package.parent


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))


def _build(sources: Path, output: Path) -> None:
    """Compile what changed of the C core into a package; HarnessError with the compiler's words."""
    for old in output.glob("_native*.so"):
        old.unlink()
    build = [sys.executable, str(CHECKOUT / "fast" / "build_native.py")]
    built = subprocess.run([*build, "--sources", str(sources), "--output", str(output)], capture_output=True, text=True)
    if built.returncode:
        raise HarnessError(f"a copy of the C core does not build:\n{built.stdout}{built.stderr}")
