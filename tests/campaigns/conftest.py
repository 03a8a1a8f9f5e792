"""Campaigns need the extra ``distributed``; without it there is nothing here to collect."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("distributed") else ["test_*.py"]
