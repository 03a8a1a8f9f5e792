"""The cache of compiled routines: found again, safe to share, bounded, and never trusted when damaged."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
import weakref
from pathlib import Path

import pytest
from tests.programs.building import spec, store

import counterfoil.compile as fast
from counterfoil.compile import cache, module
from counterfoil.compile.generate import compiled
from counterfoil.compile.source import source
from counterfoil.compile.toolchain import Compiler, CompilerFailed, compiler_command, find_compiler
from counterfoil_spec.programs.assignments import Sequence as Code
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.refusals import BackendUnavailable

TEXT = "void entry(void);\nvoid entry(void) {{}}\nint number = {};\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The sources compiled from now on."""
    found: list[Path] = []
    build = Compiler.build

    def noted(self: Compiler, written: Path, library: Path, level: str) -> None:
        found.append(written)
        build(self, written, library, level)

    monkeypatch.setattr(Compiler, "build", noted)
    return found


def program() -> fast.Plan:
    """A product, an elementwise store and a sum, of new nodes each time."""
    a, b, c, d, t = (Node(f"{os.urandom(4).hex()}", shape) for shape in [(8, 4), (4, 8), (8, 8), (8, 8), (8,)])
    for node in (c, d, t):
        node.require(Intent.ON_DEVICE)
    code = Code((spec("ik,kj->ij", c, a, b), store(d, "relu", c), spec("ij->i", t, d)))
    return fast.plan(code, fast.NOTHING_DECIDED, "r")


def test_equal_programs_have_equal_sources() -> None:
    """No label, uid or iterator of a program is in its source: one made again gives the same text."""
    texts = {source([plan.lowered], plan.arguments, plan.symbols) for plan in (program(), program())}
    assert len(texts) == 1


def test_an_equal_program_is_compiled_once(builds: list[Path]) -> None:
    """The second of two equal programs is found in the cache."""
    for plan in (program(), program()):
        fast.generate([plan.lowered], plan)
    assert len(builds) == 1


def test_another_level_is_another_entry(builds: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled with other flags is not found."""
    compiled(TEXT.format(1))
    monkeypatch.setenv("COUNTERFOIL_CC_LEVEL", "-O1")
    compiled(TEXT.format(1))
    assert len(builds) == 2


def test_a_damaged_entry_is_built_again(folder: Path, builds: list[Path]) -> None:
    """An entry cut short, or of another content, does not load, and is replaced by one that does."""
    compiled(TEXT.format(2))
    gc.collect()
    (entry,) = folder.glob("*.so")
    for damage in (b"", b"no library", entry.read_bytes()[:200]):
        entry.unlink()
        entry.write_bytes(damage)
        assert compiled(TEXT.format(2)).entry
        gc.collect()
    assert len(builds) == 4
    assert len(list(folder.iterdir())) == 1


def test_the_least_recently_used_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the size, the entry used longest ago is removed, and what was just built never."""
    compiled(TEXT.format(3))
    size = next(folder.glob("*.so")).stat().st_size
    monkeypatch.setenv(cache.SIZE_VARIABLE, str(2 * size + size // 2))
    compiled(TEXT.format(4))
    for age, number in enumerate((3, 4)):
        compiler = find_compiler()
        assert compiler is not None
        path = cache.entry_path(cache.digest(TEXT.format(number), compiler, "-O2"))
        os.utime(path, (1000 + age, 1000 + age))
    compiled(TEXT.format(3))
    compiled(TEXT.format(5))
    kept = {path.stem for path in folder.glob("*.so")}
    compiler = find_compiler()
    assert compiler is not None
    assert kept == {cache.digest(TEXT.format(number), compiler, "-O2") for number in (3, 5)}


def test_nothing_smaller_than_one_entry_is_kept_empty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit below one entry's size still keeps the entry in use."""
    monkeypatch.setenv(cache.SIZE_VARIABLE, "1")
    assert compiled(TEXT.format(6)).entry
    assert len(list(folder.glob("*.so"))) == 1


def _build_same(where: str, barrier: object) -> None:
    os.environ[cache.FOLDER_VARIABLE] = where
    barrier.wait()  # type: ignore[attr-defined]
    for number in range(3):
        assert compiled(TEXT.format(number)).entry


def test_processes_build_the_same_at_once(folder: Path) -> None:
    """Processes that compile equal sources together all load them, and leave one entry for each and nothing else."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [context.Process(target=_build_same, args=(str(folder), barrier)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(list(folder.iterdir())) == 3


def test_the_folder_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """COUNTERFOIL_CACHE, else XDG_CACHE_HOME/counterfoil, else ~/.cache/counterfoil."""
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.delenv(cache.FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "counterfoil"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == Path.home() / ".cache" / "counterfoil"


def test_a_folder_that_takes_nothing_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builds: list[Path]
) -> None:
    """Where the folder cannot be made, each kernel is compiled for itself, and its files are gone again."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "file" / "cache"))
    assert compiled(TEXT.format(8)).entry and compiled(TEXT.format(8)).entry
    assert len(builds) == 2 and not any(path.exists() for path in builds)


def test_what_a_killed_build_left_is_removed(folder: Path) -> None:
    """A folder of a build that began hours ago goes at the next one; one that just began stays."""
    for age in (2 * 3600, 0):
        left = folder / f"build-{age}"
        left.mkdir(parents=True)
        os.utime(left, (time.time() - age,) * 2)
    compiled(TEXT.format(9))
    assert sorted(path.name for path in folder.glob("build-*")) == ["build-0"]


def _is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


def test_a_library_is_mapped_while_its_kernel_lives(folder: Path) -> None:
    """The last kernel over a library unmaps it, not the first."""
    kernels = [compiled(TEXT.format(7)), compiled(TEXT.format(7))]
    (entry,) = folder.glob("*.so")
    gone = [weakref.ref(kernel) for kernel in kernels]
    assert _is_mapped(entry)
    before = len(module.loaded)
    kernels.pop()
    gc.collect()
    assert _is_mapped(entry) and len(module.loaded) == before - 1
    kernels.pop()
    gc.collect()
    assert not _is_mapped(entry)
    assert [ref() for ref in gone] == [None, None]


def test_compiling_keeps_no_node_alive() -> None:
    """Once plan and kernel are dropped, the nodes they were of are collected."""
    plan = program()
    kernel = fast.generate([plan.lowered], plan)
    nodes = [weakref.ref(node) for node in plan.arguments]
    del plan, kernel
    gc.collect()
    assert [ref() for ref in nodes] == [None] * len(nodes)


def test_the_compiler_is_the_one_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """CC, with its words, comes before cc, gcc and clang."""
    assert compiler_command() is not None
    monkeypatch.setenv("CC", "gcc -m64")
    found = find_compiler()
    assert found is not None and Path(found.command[0]).name == "gcc" and found.command[1:] == ("-m64",)


def test_without_a_compiler_the_backend_is_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No compiler on the path: None to ask for, and a refusal of one sentence to generate."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compiler() is None and compiler_command() is None
    plan = program()
    with pytest.raises(BackendUnavailable) as refused:
        fast.generate([plan.lowered], plan)
    assert refused.value.subjects == {"backend": "cc", "why": fast.NO_COMPILER}


def test_a_compiler_that_fails_is_a_bug_that_names_the_command() -> None:
    """A source that does not compile raises no refusal, quotes command and message, and leaves nothing behind."""
    with pytest.raises(CompilerFailed, match=r"(?s)-O2.*nonsense"):
        compiled("nonsense")
    assert not list(cache.folder().iterdir())
