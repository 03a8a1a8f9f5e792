"""``python -m counterfoil_oracles.campaigns.leash PARENT PROGRAM ARGUMENT...``: a program that ends with its parent.

A worker killed in the middle of a unit cannot end the target that it was asking; the kernel does it instead. On
systems without that call the program runs as it is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> int:
    """Become the program; 127 if there is none, or if the parent is gone already."""
    parent, *program = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(parent):  # it died before the call above: nobody would send the signal
            return 127
    try:
        os.execvp(program[0], program)
    except OSError as error:
        print(f"{program[0]}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
