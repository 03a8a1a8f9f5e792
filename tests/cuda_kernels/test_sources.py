"""What a compiler is given: one text with nothing left to find, and commands that stand for NVRTC."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from counterfoil.cuda import compiler, sources
from counterfoil_spec.dtypes import Dtype


@pytest.mark.parametrize("file", sorted(path.name for path in sources.folder().glob("*.cu")))
def test_a_text_has_its_includes_written_in_once(file: str) -> None:
    """No quoted include is left, and no header's guard is defined twice."""
    text = sources.Source(file).text
    assert '#include "' not in text
    guards = [line for line in text.splitlines() if line.startswith("#define COUNTERFOIL_")]
    assert len(guards) == len(set(guards))


def test_definitions_come_before_the_file() -> None:
    """The codes of the 21 dtypes and the instance's own macros are there when the first line of the file is read."""
    text = sources.Source("pointwise.cu", (("CF_DST", "CF_BIT"),)).text
    head = text[: text.index("#ifndef")]
    assert all(f"#define CF_{dtype.name.upper()} {dtype.code}\n" in head for dtype in Dtype.all)
    assert "#define CF_DST CF_BIT\n" in head


def test_a_text_differs_with_its_definitions() -> None:
    """Two instances of one file are two texts, hence two cubins."""
    texts = {sources.Source("pointwise.cu", (("CF_LANES", str(lanes)),)).text for lanes in (1, 2, 4)}
    assert len(texts) == 3


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that writes down its command line as the cubin, and fails on a source that says so."""
    path = tmp_path / "standin"
    path.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo one; exit 0; fi\n'
        'for word; do last="$word"; done\n'
        'if grep -q FAULT "$last"; then echo "what is wrong" >&2; exit 1; fi\n'
        'words="$*"\nwhile [ "$1" != -o ]; do shift; done\necho "$words" > "$2"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(compiler.VARIABLE, str(path))
    return path


def test_the_named_command_compiles(command: Path) -> None:
    """It is asked for a cubin of the architecture, without contraction into fma."""
    words = compiler.cubin("", "sm_90").decode().split()
    assert {"-cubin", "-arch=sm_90", "-std=c++17", "-fmad=false"} <= set(words)


def test_a_failing_command_is_reported_in_its_words(command: Path) -> None:
    """CompilerFailed carries what the compiler said."""
    with pytest.raises(compiler.CompilerFailed, match="what is wrong"):
        compiler.cubin("FAULT", "sm_90")


def test_a_command_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """CompilerFailed says which variable names it."""
    monkeypatch.setenv(compiler.VARIABLE, "no-such-compiler")
    with pytest.raises(compiler.CompilerFailed, match=f"{compiler.VARIABLE}.*no-such-compiler"):
        compiler.cubin("", "sm_90")


def test_the_command_is_part_of_the_identity(command: Path) -> None:
    """Cubins of another command, or of the same one with more words, are others."""
    plain = compiler.identity()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(compiler.VARIABLE, f"{command} --more")
        assert compiler.identity() != plain
