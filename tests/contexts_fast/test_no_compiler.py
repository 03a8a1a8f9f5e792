"""A machine without a C compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterfoil as cf


def test_without_a_compiler_no_backend_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """auto names all it tried; a backend that was named fails with its own failure (contexts/none-available)."""
    for variable in ("CC", "COUNTERFOIL_BACKEND"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(cf.Refusal) as refused:
        cf.Context.auto()
    assert (refused.value.rule, refused.value.subjects) == (
        "contexts/none-available",
        {"tried": ["metal", "cuda", "hip", "cc"]},
    )
    with pytest.raises(cf.Refusal) as named:
        cf.Context.auto("cc")
    assert named.value.rule == "memory/backend-unavailable"
