"""The catalogue of planted defects: every one still applies to the sources, and none is there twice."""

from collections import Counter

import pytest

from counterfoil_oracles.mutants.catalogue import CATALOGUES, CONTEXT_DEFECTS, DEFECTS, GROUPS
from counterfoil_oracles.mutants.defect import Defect
from counterfoil_oracles.mutants.planting import CHECKOUT

ALL = [defect for defects in CATALOGUES.values() for defect in defects]
TRACES = CHECKOUT / "tests" / "traces" / "defects"


@pytest.mark.parametrize("defect", ALL, ids=lambda defect: defect.id)
def test_a_defect_applies_to_the_sources(defect: Defect) -> None:
    """What a defect replaces stands exactly once in its file, and the replacement changes it."""
    text = (CHECKOUT / defect.file).read_text("utf-8")
    assert defect.applied(text) != text


def test_a_defect_that_does_not_apply_is_refused() -> None:
    """Planting never does nothing: text that is not there, or there twice, is an error."""
    defect = Defect("group/name", "file.c", "old", "new", "nothing")
    for text in ("", "old old"):
        with pytest.raises(ValueError, match="times, not once"):
            defect.applied(text)


def test_defects_are_many_and_of_every_group() -> None:
    """At least 40 defects of arrays and 30 of contexts, at least 3 in each group, and no group without a name."""
    counts = Counter(defect.group for defect in ALL)
    assert len(DEFECTS) >= 40 and len(CONTEXT_DEFECTS) >= 30
    assert set(counts) == set(GROUPS)
    assert {group: count for group, count in counts.items() if count < 3} == {}


def test_defects_of_contexts_are_spread() -> None:
    """At least 8 of ledger and lineage, 6 of release, 4 of the bump planner, 8 of emission, 4 of the reference."""
    counts = Counter(defect.group for defect in CONTEXT_DEFECTS)
    assert counts["ledger"] + counts["lineage"] >= 8 and counts["release"] >= 6 and counts["bump"] >= 4
    assert counts["emission"] >= 8 and counts["context-reference"] >= 4


def test_each_defect_of_contexts_has_a_trace() -> None:
    """Every one has a trace that tells it from the halves as they are, and there are no others."""
    assert {path.stem for path in TRACES.glob("*.jsonl")} == {defect.name for defect in CONTEXT_DEFECTS}


def test_no_two_defects_are_one() -> None:
    """Ids are unique, and so are the changes."""
    assert len({defect.id for defect in ALL}) == len(ALL)
    assert len({(defect.file, defect.right, defect.wrong) for defect in ALL}) == len(ALL)
