"""What leaves the hosts in an all-reduce by each algorithm, also where a host has more ranks than one."""

from __future__ import annotations

from functools import partial

import pytest

from dlperf import network
from dlperf.servers import collective_costs, collective_trials
from dlperf.servers.collectives import WAYS, hierarchical
from dlperf.servers.ring import ring

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")

LENGTH = 2**20


def test_bytes_on_the_wire_are_those_of_the_formula():
    with network.Network(3) as net:
        seen = net.run(collective_trials.counted, 3, LENGTH, 3, WAYS, timeout=60)
    for way in WAYS:
        told = collective_costs.sent(way, 3, LENGTH)
        assert 0.98 < max(each[way] for each in seen) * network.PAYLOAD / told < 1.1, way


def test_by_level_less_leaves_a_host_of_two_ranks():
    ways = {"ring": ring, "hierarchical": partial(hierarchical, local=2)}
    with network.Network(2) as net:
        seen = net.run(collective_trials.on_each, 2, 2, collective_trials.counted, LENGTH, 3, ways, timeout=120)
    _, across = collective_costs.sent_by_level(2, 2, LENGTH)
    told = {"ring": collective_costs.sent("ring", 4, LENGTH), "hierarchical": 2 * across}
    for host in seen:
        for way, size in told.items():
            assert all(0.98 < rank[way] * network.PAYLOAD / size < 1.1 for rank in host), way
