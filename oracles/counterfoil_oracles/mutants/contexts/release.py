"""Defects of release: pools, constants, registrations and ancestors given up too early, twice or never."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_UNITS: Final = "fast/counterfoil/contexts/units.py"
_RELEASING: Final = "fast/counterfoil/contexts/releasing.py"

RELEASE: Final = (
    Defect(
        "release/tip",
        _UNITS,
        "    if value.count == value._unit.allocations:\n",
        "    if value.count <= value._unit.allocations:\n",
        "an upload that allocates from a value that is not the tip extends its unit instead of forking it",
    ),
    Defect(
        "release/fork-pools",
        _UNITS,
        "origin.pools[origin.given_up : origin.base + value.count]",
        "origin.pools[origin.given_up :]",
        "a fork keeps the pools of uploads made after the value it forks",
    ),
    Defect(
        "release/fork-parent",
        _UNITS,
        "Unit(origin.parent, origin.pools",
        "Unit(origin, origin.pools",
        "a fork dies with the value it forked",
    ),
    Defect(
        "release/fork-adopted",
        _UNITS,
        "    for ancestor in origin.adopted:\n        adopt(unit, ancestor)\n",
        "",
        "a fork does not hold the ancestors that its origin adopted",
    ),
    Defect(
        "release/first-holder",
        _RELEASING,
        "    if pool.holders == 1:\n        census.passed",
        "    if not pool.freed:\n        census.passed",
        "the first of the units that hold a pool frees it",
    ),
    Defect(
        "release/resumed",
        _RELEASING,
        '        census.passed("finalize-before-free")\n        for location in pool.free():\n'
        "            forget(location)\n",
        "        for location in pool.free():\n            forget(location)\n"
        '        census.passed("finalize-before-free")\n',
        "a release that is resumed frees a pool that it freed before it failed",
    ),
    Defect(
        "release/constant-binder",
        _RELEASING,
        "    if pool.holders == 1:\n        given_up",
        "    if not pool.freed:\n        given_up",
        "the first of the units that bind a constant frees it",
    ),
    Defect(
        "release/constant-cache",
        _RELEASING,
        "            if location.cache.get(location.node) is location:\n"
        "                del location.cache[location.node]\n",
        "            pass\n",
        "freed constants stay in the cache",
    ),
    Defect(
        "release/registrations",
        _RELEASING,
        "    _retire_registrations(root, unit)\n",
        "",
        "a released reader of the merge buffer blocks the next fill",
    ),
    Defect(
        "release/adopted",
        _RELEASING,
        "            _release(root, ancestor, stale)\n",
        "            pass\n",
        "an adopted ancestor is never released",
    ),
    Defect(
        "release/retired",
        _RELEASING,
        "        if registration.units == 0:\n",
        "        if registration.units <= 1:\n",
        "a routine leaves the ledger while the lineage of a live unit holds it",
    ),
)
