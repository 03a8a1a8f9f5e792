"""The CUDA C of ``fast/cuda`` as single texts: what a compiler is given, and what a cubin is found by.

A text is the words of the spec (codes of dtypes), the definitions of one instance, then the file with its quoted
includes written in, each once. The compiler therefore needs no folder, and the text alone says what is compiled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from counterfoil_spec.dtypes import Dtype

_PACKAGE: Final = Path(__file__).resolve().parent
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"[ \t]*$', re.MULTILINE)

Defines = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Source:
    """An instance of a file of ``fast/cuda``: ``defines`` are macros and what they stand for."""

    file: str
    defines: Defines = ()

    @cached_property
    def text(self) -> str:
        """The whole text: always the same object, so that finding something by it is quick."""
        return _written(self.file, self.defines)


def generated(text: str) -> str:
    """The text of generated CUDA C that may include files of ``fast/cuda`` by quoted names."""
    return _words() + _inlined(text, set())


def folder() -> Path:
    """Where the files lie: beside this module in a wheel, in ``fast/cuda`` of a checkout."""
    installed = _PACKAGE / "source"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "cuda"


@lru_cache(maxsize=4096)
def _written(file: str, defines: Defines) -> str:
    macros = "".join(f"#define {name} {meaning}\n" for name, meaning in defines)
    return _words() + macros + _inlined(_read(file), {file})


@lru_cache(maxsize=1)
def _words() -> str:
    """The codes of the dtypes."""
    return "".join(f"#define CF_{dtype.name.upper()} {dtype.code}\n" for dtype in Dtype.all)


@lru_cache(maxsize=64)
def _read(file: str) -> str:
    return (folder() / file).read_text()


def _inlined(text: str, seen: set[str]) -> str:
    def include(found: re.Match[str]) -> str:
        file = found.group(1)
        if file in seen:
            return ""
        seen.add(file)
        return _inlined(_read(file), seen)

    return _INCLUDE.sub(include, text)
