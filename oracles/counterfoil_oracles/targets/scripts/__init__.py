"""How findings are written as programs that need nothing of ours."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.targets.scripts import jax_, numpy_, torch_
from counterfoil_oracles.targets.scripts.script import Script

SCRIPTS: Final[dict[str, Script]] = {"numpy": numpy_.SCRIPT, "torch": torch_.SCRIPT, "jax": jax_.SCRIPT}
"""Scripts of libraries by the name their target gives itself."""
