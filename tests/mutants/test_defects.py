"""The catalogue of planted defects: every one still applies to the sources, and none is there twice."""

from collections import Counter

import pytest

from counterfoil_oracles.mutants.catalogue import DEFECTS, GROUPS
from counterfoil_oracles.mutants.defect import Defect
from counterfoil_oracles.mutants.planting import CHECKOUT


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.id)
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
    """At least 40 defects, at least 3 in each group, and no group without a name."""
    counts = Counter(defect.group for defect in DEFECTS)
    assert len(DEFECTS) >= 40
    assert set(counts) == set(GROUPS)
    assert {group: count for group, count in counts.items() if count < 3} == {}


def test_no_two_defects_are_one() -> None:
    """Ids are unique, and so are the changes."""
    assert len({defect.id for defect in DEFECTS}) == len(DEFECTS)
    assert len({(defect.file, defect.right, defect.wrong) for defect in DEFECTS}) == len(DEFECTS)
