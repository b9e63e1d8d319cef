"""The simulation held against hosts of a network: what it was not fitted to, it predicts to within a factor."""

from __future__ import annotations

import pytest

from dlperf import network
from dlperf.multigpu.reduce_costs import slowest
from dlperf.servers import aggregation_trials, collective_trials, goodput, validation

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
    assert checked.error < 0.5
    assert 0.5 < checked.cluster.rates(1)[0] / (network.GIGABIT * network.PAYLOAD) < 2


def test_rounds_of_the_store_become_points():
    found = goodput.measured((1, 2), 2, 4 * MIB, repeats=3)
    one, two = (validation.of_store(n, 2, 4 * MIB, each) for n, each in found.items())
    checked = validation.check([one], [two], costs=["beta"])
    assert checked.known[0].error == pytest.approx(0, abs=1e-9)
    assert -0.7 < checked.unseen[0].error < 1
