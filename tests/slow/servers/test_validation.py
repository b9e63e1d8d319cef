"""The simulation held against hosts of a network: what they took becomes points, some of which predict the others."""

from __future__ import annotations

from math import isfinite

import pytest

from dlperf import network
from dlperf.servers import aggregation_trials, collective_trials, validation
from dlperf.servers.collective_trials import slowest

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="this system makes no network namespaces")
MIB = 2**20


def test_some_measurements_predict_others():
    with network.Network(3) as net:
        found = slowest(net.run(collective_trials.clocked, 3, [MIB, 2 * MIB], 3, timeout=120))
    points = validation.of_collectives(3, found)
    points += validation.of_shapes(aggregation_trials.measured(2, 2 * MIB, repeats=3))
    known = [point for point in points if point.name.startswith(("step", "ring"))]
    unseen = [point for point in points if point not in known]
    checked = validation.check(known, unseen)
    assert len(checked.unseen) == 2 * 2 + 3
    assert isfinite(checked.error)
    for row in (*checked.known, *checked.unseen):
        assert row.predicted > 0
