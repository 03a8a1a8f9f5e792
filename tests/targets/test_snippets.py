"""A snippet beside each failure shows it again, and needs nothing of ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import counterfoil_reference
from counterfoil_oracles.targets import fakes, inprocess, opening, snippets
from counterfoil_oracles.targets.campaign import Campaign, Found, Report, Selection
from counterfoil_oracles.targets.libraries import numpy_
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.scripts import SCRIPTS, c_library
from counterfoil_oracles.targets.scripts.running import Runner
from counterfoil_oracles.targets.scripts.script import identifier, literal, written
from counterfoil_oracles.targets.target import Target
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_oracles.targets.verdicts import Finding, Kind
from counterfoil_spec.commands import Command, Header, Returned, Step, Trace
from counterfoil_spec.kernels import ARITIES, KERNELS
from counterfoil_spec.protocol import Profile, Ran, Value

ROOT = Path(__file__).parents[2]
SERVE = [sys.executable, "-m", "counterfoil_oracles.targets.serve"]
FAKE = "counterfoil_oracles.targets.fakes:overlap_unseen"


def checked(target: Target, keep: Path, selection: Selection, named: Named, profile: Profile | None = None) -> Report:
    campaign = Campaign(counterfoil_reference, lambda: target, selection, profile or Profile(), Mapper(), keep)
    report = campaign.run(shipped())
    snippets.add_snippets(report, named, profile)
    return report


def run(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*words, str(path)], cwd=path.parent, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def numpy_report(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    """What a short check of NumPy finds."""
    keep = tmp_path_factory.mktemp("numpy")
    named = Named("counterfoil_oracles.targets.libraries.numpy_:target")
    return list(checked(inprocess.Direct(numpy_.target()), keep, Selection(steps=1200), named).found.values())


def scripts(found: list[Found]) -> list[Path]:
    return [each.snippet for each in found if each.snippet is not None and each.snippet.suffix == ".py"]


def test_every_failure_has_a_snippet_beside_its_trace(numpy_report: list[Found]) -> None:
    """Same place, same name."""
    assert numpy_report
    for found in numpy_report:
        assert found.path is not None and found.snippet is not None
        assert found.snippet.with_suffix("") == found.path.with_suffix("") and found.snippet.exists()


def test_failures_of_numpy_are_scripts(numpy_report: list[Found]) -> None:
    """Of numpy alone: what they import is its own."""
    texts = [path.read_text() for path in scripts(numpy_report)]
    assert len(texts) == len(numpy_report)
    assert not any("counterfoil" in line for text in texts for line in text.splitlines() if "import" in line)


@pytest.mark.long
def test_scripts_of_numpy_show_what_was_found(numpy_report: list[Found], tmp_path: Path) -> None:
    """Run away from the project, without its packages, each ends with 1 and says why."""
    code = "import sys, runpy; sys.modules['counterfoil_oracles'] = sys.modules['counterfoil_spec'] = None; "
    for path in scripts(numpy_report)[:4]:
        run = [sys.executable, "-c", f"{code}runpy.run_path({str(path)!r}, run_name='__main__')"]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, path.read_text() + done.stderr
        assert done.stdout


def test_a_program_gets_the_lines_it_was_asked(tmp_path: Path) -> None:
    """Piped into the program, they are answered as the finding was; into a sound one, otherwise."""
    target = inprocess.Direct(fakes.overlap_unseen())
    report = checked(target, tmp_path, Selection(differences=1), Named(None, [*SERVE, FAKE]), Profile(max_rank=8))
    [found, *_] = report.found.values()
    assert found.snippet is not None and found.snippet.suffix == ".sh"
    done = run(found.snippet, "sh")
    assert done.returncode == 1, done.stderr
    assert msgspec.json.decode(done.stdout.splitlines()[-1], type=Ran).outcomes[-1] == found.finding.seen
    text = found.snippet.read_text()
    assert '"max_rank":8' in text and "counterfoil_oracles.targets.fakes" in text
    found.snippet.write_text(text.replace(FAKE, "counterfoil_oracles.targets.ours:fast"))
    assert run(found.snippet, "sh").returncode == 0


def compiled(compiler: str, room: Path, defect: int) -> Path:
    made = room / f"strided{defect}.so"
    flags = ["-std=c11", "-fPIC", "-shared", f"-I{ROOT / 'oracles' / 'counterfoil_oracles' / 'targets'}"]
    source = ROOT / "examples" / "targets" / "strided.c"
    subprocess.run([compiler, *flags, f"-DDEFECT={defect}", str(source), "-o", str(made)], check=True, timeout=60)
    return made


@pytest.fixture(scope="module")
def c_report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Found]:
    """A finding in a C library with a defect, and the library."""
    room = tmp_path_factory.mktemp("c")
    library = compiled("cc", room, 1)
    report = checked(opening.here(str(library)), room, Selection(differences=1), Named(str(library)))
    [found, *_] = report.found.values()
    return library, found


needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here")


@needs_cc
def test_a_c_library_gets_a_program_in_c(c_report: tuple[Path, Found]) -> None:
    """The line in its head builds it without a warning and without our header; exit code 1, and the words."""
    _, found = c_report
    assert found.snippet is not None and found.snippet.suffix == ".c"
    text = found.snippet.read_text()
    assert 'counterfoil_target.h"' not in text
    [line] = [line for line in text.splitlines() if line.startswith("// cc ")]
    strict = line.removeprefix("// ").replace("cc ", "cc -std=c11 -Wall -Wextra -Werror ", 1)
    done = subprocess.run(
        ["sh", "-c", strict], cwd=found.snippet.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert found.finding.words in done.stdout


@needs_cc
def test_a_program_in_c_shows_nothing_of_a_sound_library(c_report: tuple[Path, Found]) -> None:
    """Built with the library without its defect, it ends with 0."""
    library, found = c_report
    assert found.snippet is not None
    compiled("cc", library.parent, 0).rename(library)
    assert not c_library.shows(found.snippet, str(library))


def step(do: str, bind: str | None = None, **args: object) -> Step:
    return Step(command=Command(do=do, args=args, bind=bind))


def ref(name: str) -> dict[str, str]:
    return {"ref": name}


def made(dtype: str = "float32") -> Step:
    return step("from_values", "x", dtype=dtype, shape=[2], values=[1, {"float": "7ff8000000000001"}])


MOVES = [{"reshape": [2, 1]}, {"broadcast": [3, 2]}, {"permute": [0]}, {"slice": [[1, 2, -1]]}, {"slice": []}]


@pytest.mark.parametrize("library", SCRIPTS)
def test_what_is_written_is_python(library: str) -> None:
    """For every kernel and every kind of move, whether the library is here or not."""
    script = SCRIPTS[library]
    last = [step("array.move", "y", array=ref("x"), move=move) for move in MOVES]
    more: dict[str, dict[str, object]] = {
        "fill": {"value": -0.0}, "cumsum": {"axis": 0}, "softmax": {"axis": 0},
        **{name: {"axes": [0]} for name in ("sum", "prod", "max", "min", "mean", "argmax", "argmin")},
    }  # fmt: skip
    for name in script.kernels:
        sources = [ref("x")] * ARITIES.get(KERNELS[name].family, 1)
        last.append(step("kernel", name=name, dst=ref("x"), sources=sources, **more.get(name, {})))
    for each in last:
        finding = Finding(Kind.ACCEPTED, each.command, "door/overlapping", "it did", None, Value("DONE"))
        text = written(script, Trace(Header(), [made(), each]), finding)
        compile(text, "snippet", "exec")
        assert "counterfoil" not in text


@pytest.mark.parametrize("library", SCRIPTS)
def test_reductions_over_no_axis_and_over_several_are_written(library: str) -> None:
    """A tuple of any length."""
    for axes in ([], [0], [0, 1]):
        last = step("kernel", name="max", dst=ref("x"), sources=[ref("x")], axes=axes)
        finding = Finding(Kind.ACCEPTED, last.command, "door/declined", "it did", None, Value("DONE"))
        compile(written(SCRIPTS[library], Trace(Header(), [made(), last]), finding), "snippet", "exec")


def test_a_step_that_is_rightly_refused_is_looked_behind() -> None:
    """Where a refused call left something, the script goes on after the refusal, and looks."""
    look = Command(do="array.to_values", args={"array": ref("x")})
    last = Step(
        command=step("kernel", name="neg", dst=ref("x"), sources=[ref("x")]).command, outcome=Returned("OVERLAPPING")
    )
    seen = Value({"dtype": "float32", "bits": ["bf800000", "7fc00000"]})
    finding = Finding(Kind.CONTENT, last.command, None, "x holds something else", look, seen)
    text = written(SCRIPTS["numpy"], Trace(Header(), [made(), last]), finding)
    assert "try:\n    np.negative(x, out=x)\nexcept Exception as error:" in text


def test_scripts_are_run_in_one_process_until_one_brings_it_down(tmp_path: Path) -> None:
    """What a script imports stays; a script that dies, hangs or raises shows nothing, and the next one runs."""
    texts = {
        "shows": "import decimal\nraise SystemExit(1)",
        "again": "import sys\nraise SystemExit(2 if 'decimal' in sys.modules else 3)",
        "quiet": "print('nothing')", "raises": "1 / 0", "dies": "import os\nos._exit(1)",
        "hangs": "import time\ntime.sleep(60)", "last": "raise SystemExit(1)",
    }  # fmt: skip
    with Runner(seconds=2.0) as runner:
        codes = []
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
            codes.append(runner.run(tmp_path / name))
    assert codes == [1, 2, 0, -1, None, None, 1]


@pytest.mark.parametrize(("name", "text"), [("x", "x"), ("gpu 0", "gpu_0"), ("x.routine", "x_routine"), ("in", "in_")])
def test_names_of_traces_are_made_names_of_python(name: str, text: str) -> None:
    """Whatever a trace calls a thing, the script can."""
    assert identifier(name) == text
    assert text.isidentifier()


@pytest.mark.parametrize(
    "value",
    [0, -0.0, 1.5, float("inf"), float("-inf"), 2**70, [1, [2.5]], True, "text", None, complex(-0.0, 2), float("nan")],
)
def test_arguments_are_written_as_python_reads_them(value: object) -> None:
    """Reading the text gives the value."""
    from counterfoil_spec.commands import encode_number

    assert repr(eval(literal(encode_number(value)))) == repr(value)
