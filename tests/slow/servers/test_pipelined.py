"""A sum through servers in parts: the right sum, and no link faster than its limit."""

from __future__ import annotations

import pytest

from dlperf.network import unavailable
from dlperf.servers import pipelined


def test_what_is_predicted():
    assert pipelined.predict(4, 4, 4, 1.0) == {"push, then pull": 2.0, "in parts": 1.25, "ring": 1.5}
    assert pipelined.predict(4, 1, 4, 1.0) == {"push, then pull": 8.0, "in parts": 5.0, "ring": 1.5}


@pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
def test_no_way_is_faster_than_the_links():
    trial = pipelined.measured(workers=2, servers=2, size=2**21, parts=4, repeats=2)
    assert list(trial.taken) == list(trial.predicted)
    assert (trial.taken["in parts"] / trial.taken["ring"]).unit == "1"  # it raises where they took no turns
    for way, taken in trial.taken.items():
        assert len(taken.samples) == 2
        assert min(taken.samples) > 0.97 * trial.predicted[way]
        assert trial.late(way) == min(taken.samples) / trial.predicted[way]
