"""The drawings of the chapter's idea, and of three all-reduces."""

from __future__ import annotations

import pytest

from booktools.show.catalogue import Catalogue
from dlperf.multigpu import drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {"idea": drawings.idea, "all_reduces": drawings.all_reduces}


@pytest.mark.parametrize(("name", "size"), [("idea", 3), ("all_reduces", 4)])
def test_a_drawing_follows_the_number_of_devices(name: str, size: int) -> None:
    other = EVERY[name](size)
    assert svg(other) != svg(EVERY[name]())
    assert faults(other, Catalogue(None)) == []


def test_around_a_ring_each_part_visits_all() -> None:
    k = 4
    for rank in range(k):
        sent = [drawings._part(2, rank, turn, k) for turn in range(2 * (k - 1))]
        assert sent[0] == str(rank)  # its own part first
        assert len(set(sent[: k - 1])) == k - 1
