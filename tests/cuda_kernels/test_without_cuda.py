"""Without a CUDA device nobody pays for one: its rooms are not imported."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import counterfoil as cf
device = cf.simulated("far")
array = cf.from_values(cf.float32, (2,), [1.0, 2.0])
far = array.to_device(device)
cf.kernels.add(array, array, array)
assert cf.kernels.neg(far, far) is cf.Answer.OFF_HOST
assert cf.kernels.sum(far, far, [0]) is cf.Answer.OFF_HOST
print(*(name for name in sys.modules if name.startswith(("counterfoil.cuda", "pycuda", "cuda"))))
"""


def test_operands_off_the_host_import_nothing() -> None:
    """Kernels on the host's arrays and on a simulated device's leave every room of CUDA alone."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")
