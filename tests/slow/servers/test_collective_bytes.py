"""What leaves the hosts in an all-reduce by each algorithm, also where a host has more ranks than one."""

from __future__ import annotations

from functools import partial

import pytest

from dlperf import network
from dlperf.servers import collective_costs, collective_trials
from dlperf.servers.collectives import WAYS, hierarchical
from dlperf.servers.loads import by_level, ring_of_hosts, spread, total, tree
from dlperf.servers.ring import ring
from tests.multigpu.summing import sent
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")

LENGTH = 2**20


def test_links_carry_what_the_formulas_say():
    with network.Network(4) as net:
        seen = net.run(collective_trials.counted, 4, LENGTH, 3, WAYS, timeout=DEADLINE_S)
        beside = max(each.beside for each in net.run(sent, 4, timeout=DEADLINE_S)) / LENGTH
    for way, phases in {"ring": spread(4), "halving-doubling": spread(4), "tree": tree(4)}.items():
        told = max(each.out for each in total(phases))
        assert told == pytest.approx(collective_costs.sent(way, 4, 1.0))
        assert 0.98 * told < max(each[way].out for each in seen) < 1.06 * told + beside, way
        for direction in range(2):
            for host, load in zip(seen, total(phases), strict=True):
                assert host[way][direction] == pytest.approx(load[direction], abs=0.06 + beside), way


def test_by_level_less_leaves_a_host_of_two_ranks():
    ways = {"ring": ring, "hierarchical": partial(hierarchical, local=2)}
    with network.Network(2) as net:
        job = collective_trials.counted, LENGTH, 3, ways
        seen = net.run(collective_trials.on_each, 2, 2, *job, timeout=DEADLINE_S)
        beside = max(each.beside for each in net.run(sent, 2, timeout=DEADLINE_S)) / LENGTH
    _, across = collective_costs.sent_by_level(2, 2, 1.0)
    assert total(by_level(2, 2))[0].out == pytest.approx(2 * across)
    for way, phases in {"ring": ring_of_hosts(2, 2), "hierarchical": by_level(2, 2)}.items():
        for host, load in zip(seen, total(phases), strict=True):
            assert all(0.98 * load.out < rank[way].out < 1.06 * load.out + beside for rank in host), way
            assert all(0.98 * load.into < rank[way].into < 1.06 * load.into + beside for rank in host), way
