"""What leaves the hosts in an all-reduce by each algorithm, also where a host has more ranks than one."""

from __future__ import annotations

from functools import partial

import pytest

from dlperf import network
from dlperf.servers import collective_costs, collective_trials
from dlperf.servers.collectives import WAYS, hierarchical
from dlperf.servers.ring import ring
from tests.multigpu.summing import FRAME, segments_sent_again
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")

LENGTH = 2**20


def test_bytes_on_the_wire_are_those_of_the_formula():
    with network.Network(3) as net:
        seen = net.run(collective_trials.counted, 3, LENGTH, 3, WAYS, timeout=DEADLINE_S)
        again = FRAME * max(net.run(segments_sent_again, 3, timeout=DEADLINE_S))
    for way in WAYS:
        told = collective_costs.sent(way, 3, LENGTH) / network.PAYLOAD
        assert 0.98 * told < max(each[way] for each in seen) < 1.1 * told + again, way


def test_by_level_less_leaves_a_host_of_two_ranks():
    ways = {"ring": ring, "hierarchical": partial(hierarchical, local=2)}
    with network.Network(2) as net:
        job = collective_trials.counted, LENGTH, 3, ways
        seen = net.run(collective_trials.on_each, 2, 2, *job, timeout=DEADLINE_S)
        again = FRAME * max(net.run(segments_sent_again, 2, timeout=DEADLINE_S))
    _, across = collective_costs.sent_by_level(2, 2, LENGTH)
    told = {"ring": collective_costs.sent("ring", 4, LENGTH), "hierarchical": 2 * across}
    for host in seen:
        for way, size in told.items():
            wire = size / network.PAYLOAD
            assert all(0.98 * wire < rank[way] < 1.1 * wire + again for rank in host), way
