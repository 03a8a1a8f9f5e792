"""Whether programs use CUDA devices, and the devices of a half."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from counterfoil_spec.refusals import Lost

DEVICES: Final = 2
"""CUDA devices that programs use at most: as many as show what happens between two."""


class Setting:
    """``devices``: how many CUDA devices programs use; 0 leaves CUDA out."""

    devices: int = 0


def use(devices: int = DEVICES) -> None:
    """Let programs use that many CUDA devices from now on."""
    Setting.devices = devices


def reopen(halves: Sequence[Any]) -> None:
    """Devices for a new program, none of them lost: the reference models new ones, others open those anew that were.

    A device that was not lost keeps what it has compiled. None has a budget.
    """
    for half in halves if Setting.devices else ():
        model = getattr(half.inspection, "model_cuda", None)
        if model is not None:
            model(Setting.devices)
        else:
            importlib.import_module(f"{half.__name__}.cuda.device").reopen()
        for device in devices_of(half):
            device.budget = None


def align(halves: Sequence[Any]) -> None:
    """Let the devices of all halves count their work alike, with nothing pending."""
    for devices in zip(*map(devices_of, halves), strict=True):
        for device in devices:
            with suppress(Lost):  # then it shows in the program
                device.advance(device.submitted - device.reached)
        most = max(device.submitted for device in devices)
        for device in devices:
            if hasattr(device, "borrows"):  # a model
                device.submitted = device.reached = most


def devices_of(half: Any) -> list[Any]:
    """The CUDA devices that programs use, in a half."""
    return [half.cuda(ordinal) for ordinal in range(Setting.devices)]


def is_cuda(device: Any) -> bool:
    """Whether a device is a CUDA device, in either half."""
    found: bool = device.name.startswith("cuda:")
    return found
