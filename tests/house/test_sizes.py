"""Functions and files stay small enough to read."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("spec", "reference", "fast", "oracles", "benchmarks", "tests")


def sources(*suffixes: str) -> Iterator[Path]:
    """Every source file of the rooms with one of these suffixes, but for generated ones."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in suffixes and "generated" not in path.name:
                yield path


def function_sizes() -> dict[str, int]:
    """Lines of each Python function outside the tests' data, keyed by file, line and name."""
    sizes = {}
    for path in sources(".py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                sizes[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = node.end_lineno - node.lineno + 1
    return sizes


def test_no_function_is_over_70_lines_and_most_are_under_20() -> None:
    """A Python function does one thing: none over 70 lines, the median under 20."""
    sizes = function_sizes()
    assert {name: size for name, size in sizes.items() if size > 70} == {}
    assert statistics.median(sizes.values()) < 20


def test_no_file_is_over_600_lines() -> None:
    """A file has one subject: none over 600 lines, Python or C, unless it is generated."""
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in sources(".py", ".c", ".h")}
    assert {name: length for name, length in lengths.items() if length > 600} == {}
