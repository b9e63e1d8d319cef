"""What leaves the hosts in an all-reduce and in each way to split, counted at their interfaces."""

import numpy as np
import pytest

from dlperf import network
from dlperf.multigpu import costs, reduce_costs, traffic, trials
from dlperf.multigpu.splits import Sizes, Way

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")


def test_bytes_on_the_wire_are_those_of_the_formula():
    length = 2**20
    with network.Network(3) as hosts:
        seen = hosts.run(reduce_costs.counted, 3, 3, length)
    for rank, found in enumerate(seen):
        for way, count in found.items():
            told = reduce_costs.sent_bytes(way, 3, length, rank)
            assert 0.98 < count * network.PAYLOAD / told < 1.1, (way, rank)


def test_hosts_send_what_the_formulas_say():
    sizes = Sizes(n=128, d=1024, h=256)
    with network.Network(2) as hosts:
        for way in Way:
            counted = hosts.run(trials.counted, 2, way, sizes, 1, timeout=60)
            predicted = traffic.on_wire(costs.sent(way, sizes))
            np.testing.assert_allclose(counted, predicted, rtol=0.03)
