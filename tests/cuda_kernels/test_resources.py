"""Registers, shared memory, stack and spills of the kernels stay within what is recorded."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "cuda_resources.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("cuda_resources", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_few_instances_are_within_their_ceilings(tool: ModuleType) -> None:
    """The short form of the check passes."""
    assert tool.main(["--check", "--short"]) == 0


def test_every_instance_is_recorded_and_none_spills(tool: ModuleType) -> None:
    """The record has each instance, for each architecture, and no other."""
    record = json.loads(tool.RECORD.read_text())
    assert record.keys() == tool.instances().keys()
    assert all(tuple(use) == tool.ARCHITECTURES for kernels in record.values() for use in kernels.values())


def test_growth_and_spills_are_told(tool: ModuleType) -> None:
    """One sentence for each."""
    record = {"x": {"f": {"sm_90": [32, 0, 0]}}}
    use = tool.Use
    assert not list(tool.faults({"x": {"f": {"sm_90": use(32, 0, 0, 0)}}}, record))
    told = list(tool.faults({"x": {"f": {"sm_90": use(33, 8, 0, 4)}, "g": {"sm_90": use(1, 0, 0, 0)}}}, record))
    assert told == [
        "x: f for sm_90 spills 4 bytes",
        "x: f for sm_90 takes 33 registers, more than 32",
        "x: f for sm_90 takes 8 shared, more than 0",
        "x: g for sm_90 is not recorded",
    ]
