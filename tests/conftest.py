"""The Hypothesis profiles: `ci` is bounded and repeatable; COUNTERFOIL_PROFILE=long searches longer, at random."""

import gc
import os

from hypothesis import HealthCheck, settings

SLOW_MACHINES_ARE_NOT_BUGS = [HealthCheck.too_slow]

settings.register_profile(
    "ci",
    derandomize=True,
    max_examples=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=SLOW_MACHINES_ARE_NOT_BUGS,
)
settings.register_profile(
    "long",
    max_examples=5000,
    deadline=None,
    print_blob=True,
    suppress_health_check=SLOW_MACHINES_ARE_NOT_BUGS,
)


def pytest_collection_finish() -> None:
    """What collecting the tests has made is never garbage: the collections that tests ask for need not look at it."""
    gc.collect()
    gc.freeze()


settings.load_profile(os.environ.get("COUNTERFOIL_PROFILE", "ci"))
