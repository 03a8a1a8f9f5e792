"""The builder of the C core, its wheel tag, and the doctor that runs before it."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from packaging.tags import sys_tags

import counterfoil_spec

ROOT = Path(__file__).resolve().parents[2]

TOY = {
    "counterfoil_native.h": '#include "adding.h"\n',
    "adding.h": "long cf_add(long a, long b);\n",
    "adding.c": '#include "adding.h"\nlong cf_add(long a, long b) { return a + b; }\n',
    "other.c": "int cf_other(void);\nint cf_other(void) { return 1; }\n",
    "core.cdef": "long cf_add(long a, long b);\n",
}


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The builder with an empty cache of objects and no flags from the environment."""
    monkeypatch.syspath_prepend(str(ROOT / "fast"))
    monkeypatch.delenv("COUNTERFOIL_CFLAGS", raising=False)
    module = import_module("build_native")
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    yield module


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A directory with a toy core of two C files."""
    directory = tmp_path / "toy"
    directory.mkdir()
    for name, text in TOY.items():
        (directory / name).write_text(text)
    return directory


def objects(builder: ModuleType) -> set[str]:
    """The names of the objects in the builder's cache."""
    return {path.name for path in (builder.CACHE / "objects").glob("*.o")}


def fresh(builder: ModuleType, before: set[str]) -> list[str]:
    """The source names of the objects compiled since `before`."""
    return sorted(name.partition("-")[0] for name in objects(builder) - before)


def call(directory: Path) -> str:
    """cf_add(5, 3) by the extension that lies in `directory`, in an interpreter of its own."""
    program = "import _native; print(_native.lib.cf_add(5, 3))"
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    return subprocess.check_output([sys.executable, "-c", program], env=environment, text=True).strip()


def test_only_what_changed_is_compiled(builder: ModuleType, toy: Path, tmp_path: Path) -> None:
    """After a change of one C file exactly that file is compiled again; after none, nothing is."""
    builder.build_extension(toy, tmp_path / "out")
    first = objects(builder)
    assert fresh(builder, set()) == ["_native", "adding", "other"]
    builder.build_extension(toy, tmp_path / "out")
    assert fresh(builder, first) == []
    (toy / "other.c").write_text(TOY["other.c"].replace("1", "2"))
    builder.build_extension(toy, tmp_path / "out")
    assert fresh(builder, first) == ["other"]


def test_a_changed_header_compiles_all_that_include_it(builder: ModuleType, toy: Path, tmp_path: Path) -> None:
    """A header counts as part of each file that includes it, directly or through another header."""
    builder.build_extension(toy, tmp_path / "out")
    first = objects(builder)
    (toy / "adding.h").write_text(TOY["adding.h"] + "/* changed */\n")
    builder.build_extension(toy, tmp_path / "out")
    assert fresh(builder, first) == ["_native", "adding"]


def test_a_changed_copy_is_built_elsewhere(builder: ModuleType, toy: Path, tmp_path: Path) -> None:
    """A copy of the sources with one defect becomes an extension of its own and leaves the first as it was."""
    builder.build_extension(toy, tmp_path / "right")
    (toy / "adding.c").write_text(TOY["adding.c"].replace("+", "-"))
    builder.build_extension(toy, tmp_path / "wrong")
    assert (call(tmp_path / "right"), call(tmp_path / "wrong")) == ("8", "2")


def test_a_refusal_of_the_compiler_is_told(builder: ModuleType, toy: Path, tmp_path: Path) -> None:
    """A C error gives BuildError with the compiler's words and leaves no extension."""
    (toy / "other.c").write_text("int oops(")
    with pytest.raises(builder.BuildError, match=r"other\.c:1"):
        builder.build_extension(toy, tmp_path / "out")
    assert not list(tmp_path.glob("out/*"))


def test_no_flag_may_change_a_float(builder: ModuleType) -> None:
    """The flags have no fast-math, no contraction and no tuning for the building machine."""
    flags = builder.CORE_FLAGS
    assert "-ffp-contract=off" in flags
    assert not [flag for flag in flags if "fast" in flag or "unsafe" in flag or flag.startswith("-march")]


def test_the_wheel_has_the_published_schemas(builder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol's and the vectors', as docs/ has them."""
    hook = import_module("hatch_build")
    monkeypatch.setattr(hook.build_native, "build_extension", lambda *_: Path("_native.so"))
    taken: dict[str, dict[str, str]] = {"force_include": {}}
    hook.NativeBuildHook.initialize(object(), "standard", taken)
    schemas = {source: place for source, place in taken["force_include"].items() if place.endswith(".schema.json")}
    assert {place: Path(source) for source, place in schemas.items()} == {
        f"counterfoil_spec/schemas/counterfoil-{name}-1.schema.json": ROOT / f"docs/counterfoil-{name}-1.schema.json"
        for name in ("protocol", "vectors")
    }


def test_the_wheel_is_tagged_for_this_platform(builder: ModuleType) -> None:
    """The wheel's tag is abi3 from Python 3.11 on, and pip accepts it on the machine that built it."""
    build_data: dict[str, object] = {}
    import_module("hatch_build").set_tag(build_data)
    assert str(build_data["tag"]).startswith("cp311-abi3-")
    assert build_data["tag"] in {str(tag) for tag in sys_tags()}
    assert build_data["pure_python"] is False


def test_the_version_is_said_once() -> None:
    """The distribution and the spec have one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == counterfoil_spec.__version__


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"PYTHON": "no-such-python"}, ["python3 python3-dev python3-venv"]),
        ({"CC": "no-such-compiler"}, ["gcc libc6-dev"]),
        ({"PYTHON": "no-such-python", "CC": "no-such-compiler"}, ["python3 python3-dev python3-venv", "gcc libc6-dev"]),
    ],
)
def test_the_doctor_says_one_line_for_each_thing_missing(setting: dict[str, str], words: list[str]) -> None:
    """What is missing is said in one line each, with its Debian package, and the exit status is 1."""
    result = subprocess.run(
        ["sh", "tools/doctor.sh"], env={**os.environ, **setting}, cwd=ROOT, capture_output=True, text=True
    )
    lines = (result.stdout + result.stderr).splitlines()
    assert result.returncode == 1
    assert [line.rpartition("apt-get install ")[2].rstrip(")") for line in lines] == words
