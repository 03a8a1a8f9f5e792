"""The script for machines with a GPU, tried out where the emulated driver stands in for one."""

import os

collect_ignore_glob = [] if os.environ.get("COUNTERFOIL_EMULATED") else ["test_*.py"]
