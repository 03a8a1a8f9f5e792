"""The C core's bounds checks (fast/native/bounds.h) against exact integers.

``counterfoil prove`` shows that the formulas are right for the mathematical integers and form nothing that would not
fit (theorems bounds/...); these tests show that the C text computes those formulas. With an 8-bit index every input is
tried. C computes 8-bit arithmetic in int, which would hide a wrap, so the 64-bit build is also run under UBSan on
inputs at every edge.
"""

from __future__ import annotations

import itertools
import math
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "fast" / "native"
LIMIT = 2**53
INT64 = (-(2**63), 2**63 - 1)
# Numbers on either side of everything a check compares with, and of where 32 and 64 bits end.
EDGES = sorted(
    {sign * (2**power + near) for power in (0, 1, 31, 32, 52, 53, 62) for near in (-1, 0, 1) for sign in (-1, 1)}
    | {INT64[0], INT64[0] + 1, INT64[1] - 1, INT64[1]}
)
EXTENTS = [value for value in EDGES if 0 <= value <= LIMIT]


def compile_program(source: str, folder: Path, *options: str) -> Path:
    """Compile one of this folder's C programs against bounds.h, any undefined behaviour being an abort."""
    program = folder / Path(source).stem
    checks = ["-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-fsanitize-undefined-trap-on-error"]
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    command = ["cc", "-std=c11", *options, *warnings, *checks, f"-I{NATIVE}", str(HERE / source), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


@pytest.mark.long
def test_every_input_of_the_8_bit_checks(tmp_path: Path) -> None:
    """Each check agrees with exact integers on every input up to rank 2 (rank 3 for the product of extents)."""
    program = compile_program("bounds_exhaustive.c", tmp_path, "-O3")
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr or f"undefined behaviour: signal {-ran.returncode}"
    shapes = sum(max(d, 1) * max(e, 1) <= 32 for d in range(33) for e in range(33))
    assert dict(line.split() for line in ran.stdout.splitlines()) == {
        "cf_product_within": str(1 + 128 + 128**2 + 128**3),
        "cf_span": str(256 * (1 + 33 * 256 + shapes * 256**2)),
        "cf_last_within": str(33 * 256**3),
        "cf_window_count": str(33 * 256**3),
        "cf_reach_within_bytes": str(33 * 8 * 128),
    }


@pytest.fixture(scope="module")
def edges_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program("bounds_edges.c", tmp_path_factory.mktemp("bounds"), "-O1")


def ask(program: Path, questions: Sequence[tuple[str | int, ...]]) -> list[tuple[int, ...]]:
    """The program's answers to the questions."""
    text = "\n".join(" ".join(map(str, question)) for question in questions)
    ran = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"stopped by signal {-ran.returncode} after {ran.stdout.count(chr(10))} questions"
    return [tuple(map(int, line.split())) for line in ran.stdout.splitlines()]


def assert_agree(
    program: Path, questions: Sequence[tuple[str | int, ...]], answers: Sequence[tuple[int, ...]], floor: int
) -> None:
    """Every answer is the right one; at least ``floor`` of the right ones are positive and as many are not."""
    found = ask(program, questions)
    assert [(q, a) for q, a, right in zip(questions, found, answers, strict=True) if a != right] == []
    accepted = sum(answer[0] > 0 for answer in answers)
    assert min(accepted, len(answers) - accepted) >= floor


def test_products_at_the_edges(edges_program: Path) -> None:
    """cf_product_within accepts exactly the shapes whose extents other than 0 multiply to at most 2^53."""
    extents = [value for value in EDGES if value >= 0]
    shapes = [shape for rank in range(4) for shape in itertools.product(extents, repeat=rank)]
    shapes += [(2,) * twos + (1,) * (32 - twos) for twos in range(33)]
    shapes += [(2**power, 2 ** (53 - power), zero) for power in range(54) for zero in (0, 1, 2)]
    answers = []
    for shape in shapes:
        within = math.prod(extent for extent in shape if extent) <= LIMIT
        answers.append((int(within), math.prod(shape) if within else -1))
    assert_agree(edges_program, [("p", len(shape), *shape) for shape in shapes], answers, floor=500)


def layouts() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Shapes that cf_product_within accepts, with strides and offsets at the edges."""
    for extent, stride, offset in itertools.product(EXTENTS, EDGES, EDGES):
        yield (extent,), (stride,), offset
    pick = random.Random(53)
    for _ in range(30_000):
        rank = pick.choice((0, 2, 2, 3, 8, 32))
        extents = [pick.choice(EXTENTS) for _ in range(min(rank, 2))] + [1] * (rank - 2)
        if math.prod(extent for extent in extents if extent) > LIMIT:
            continue
        pick.shuffle(extents)
        wide = pick.random() < 0.5
        strides = tuple(pick.choice(EDGES) if wide else pick.randint(-9, 9) for _ in extents)
        yield tuple(extents), strides, pick.choice(EDGES) if wide else pick.randint(-9, LIMIT)
    # The largest sums there are: 32 axes, each extent 3 or less, strides at the ends of 64 bits.
    for stride, offset in itertools.product((*INT64, -1, 1), (*INT64, 0, LIMIT)):
        yield (3,) * 32, (stride,) * 32, offset


def span_of(shape: Sequence[int], strides: Sequence[int], offset: int) -> tuple[int, int, int]:
    """CF_SPAN_OK (0) with the span, or CF_SPAN_NEGATIVE (1) or CF_SPAN_PAST (2) with -1, -1."""
    if 0 in shape:
        return 0, 0, 0
    reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    lo = offset + sum(reach for reach in reaches if reach < 0)
    hi = offset + sum(reach for reach in reaches if reach > 0) + 1
    if lo < 0:
        return 1, -1, -1
    return (2, -1, -1) if hi > LIMIT else (0, lo, hi)


def test_spans_at_the_edges(edges_program: Path) -> None:
    """cf_span gives the exact span, or says which bound is broken, for strides and offsets anywhere in 64 bits."""
    asked = [
        (shape, strides, offset)
        for shape, strides, offset in layouts()
        if math.prod(extent for extent in shape if extent) <= LIMIT
    ]
    answers = [span_of(*layout) for layout in asked]
    questions = [("s", len(shape), *shape, *strides, offset) for shape, strides, offset in asked]
    assert_agree(edges_program, questions, answers, floor=1000)
    assert min(sum(answer[0] == code for answer in answers) for code in (0, 1, 2)) >= 1000


def test_ranges_at_the_edges(edges_program: Path) -> None:
    """cf_last_within accepts exactly the ranges whose first and last element lie inside the axis."""
    asked = list(itertools.product(EXTENTS, EDGES, EDGES, EDGES))
    pick = random.Random(7)
    for _ in range(20_000):
        step = pick.choice((1, -1)) * pick.choice((1, 2, 3, 2**31, 2**52))
        asked.append((pick.choice(EXTENTS), pick.randrange(LIMIT), pick.choice((1, 2, 3, 2**20, 2**22)), step))
    answers = []
    for extent, start, count, step in asked:
        last = start + (count - 1) * step
        inside = 0 <= start < extent and 0 <= last < extent
        answers.append((int(step != 0 and count >= 0 and (count == 0 or inside)),))
    assert_agree(edges_program, [("r", *question) for question in asked], answers, floor=1000)


def test_windows_at_the_edges(edges_program: Path) -> None:
    """cf_window_count is the number of windows that fit, and 0 for what is no window."""
    asked = list(itertools.product(EXTENTS, EDGES, EDGES, EDGES))
    answers = []
    for extent, size, step, dilation in asked:
        room = extent - 1 - dilation * (size - 1)
        is_window = size >= 1 and step >= 1 and dilation >= 1
        answers.append((room // step + 1 if is_window and room >= 0 else 0,))
    assert_agree(edges_program, [("w", *question) for question in asked], answers, floor=1000)


def test_bytes_at_the_edges(edges_program: Path) -> None:
    """cf_reach_within_bytes compares hi * bits with nbytes * 8, without forming either."""
    asked = []
    for hi, bits in itertools.product(EXTENTS, (1, 2, 4, 8, 16, 32, 64, 128)):
        needed = -(-hi * bits // 8)
        sizes = {needed - 1, needed, needed + 1, *(value for value in EDGES if value >= 0)}
        asked += [(hi, bits, nbytes) for nbytes in sorted(sizes) if 0 <= nbytes <= INT64[1]]
    answers = [(int(hi * bits <= nbytes * 8),) for hi, bits, nbytes in asked]
    assert_agree(edges_program, [("b", *question) for question in asked], answers, floor=100)
