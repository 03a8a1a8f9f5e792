"""What a worker does: one unit from bytes to bytes."""

from __future__ import annotations

import time
from typing import Final

import msgspec

from counterfoil_oracles import subjects
from counterfoil_oracles.campaigns.asking import run_target
from counterfoil_oracles.campaigns.halving import run_halves
from counterfoil_oracles.campaigns.units import Checked, Result, Unit
from counterfoil_oracles.cuda import emulation, offer, setting
from counterfoil_spec import __version__

_decoder: Final = msgspec.json.Decoder(Unit)


def work(data: bytes) -> bytes:
    """Run one unit; its result, which says how the harness broke if it did."""
    unit, result, began = _decoder.decode(data), Result(), time.monotonic()
    try:
        if unit.version != __version__:
            raise RuntimeError(f"the worker has counterfoil {__version__}, the driver {unit.version}")
        _set(unit.checked)
        (run_halves if unit.checked.subject is not None else run_target)(unit, result)
    except Exception as error:  # a unit that breaks tells how: it must not look like a dead worker
        result.broken = f"{type(error).__name__}: {error}"[:2000]
    result.seconds = round(time.monotonic() - began, 3)
    return msgspec.json.encode(result)


def _set(checked: Checked) -> None:
    """Have programs use the devices that are checked; another campaign may have had this process before."""
    if checked.mode is not None and not emulation.is_entered(checked.mode):
        raise RuntimeError(f"the worker does not find the emulated driver in mode {checked.mode}")
    if checked.device == "cuda" and checked.subject is not None:
        offer.use_of(subjects.half(checked.subject))
    else:
        setting.use(0)
