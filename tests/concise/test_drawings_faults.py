"""The drawing of a kill and a restart follows what it is given."""

from __future__ import annotations

from booktools.catalogue import Catalogue
from dlperf.concise import drawings_faults
from dlperf.records import svg
from tests.drawn import faults

EVERY = {"killed": drawings_faults.killed}


def test_a_later_kill_undoes_more() -> None:
    other = drawings_faults.killed(undone=0.8)
    assert svg(other) != svg(drawings_faults.killed())
    assert faults(other, Catalogue(None)) == []
