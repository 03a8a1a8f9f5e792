"""How many CUDA devices a half offers to programs: one is enough."""

from __future__ import annotations

from typing import Any

from counterfoil_oracles.cuda import setting
from counterfoil_oracles.environment import HarnessError
from counterfoil_spec.refusals import InvalidArgument


def use_of(subject: Any) -> None:
    """Let programs use the CUDA devices of a half, two at most; HarnessError where it has none."""
    setting.use(_offered(subject))


def _offered(subject: Any) -> int:
    for ordinal in range(setting.DEVICES):
        try:
            subject.cuda(ordinal)
        except InvalidArgument as refusal:
            if refusal.rule == "memory/ordinal" and ordinal:
                return ordinal
            raise
        except RuntimeError as reason:  # no package, no driver, no device, or a driver that fails
            raise HarnessError(f"{subject.__name__} has no CUDA device to check: {reason}") from reason
    return setting.DEVICES
