"""What ways ask of links and machines is what the simulation charges for."""

from __future__ import annotations

import pytest

from dlperf.alpha_beta import Line
from dlperf.servers import at_scale, collective_costs
from dlperf.servers.events import Cluster

FAST = 1e30
"""Bytes a second: links take no time."""


@pytest.mark.parametrize("n", [4, 16, 64])
@pytest.mark.parametrize("way", at_scale.WAYS)
def test_tensors_and_messages_are_those_of_the_simulation(way, n):
    seconds = at_scale.WAYS[way]
    asked = at_scale.messages(way, n)
    assert at_scale.tensors(way, n) == pytest.approx(seconds(Cluster(1.0, 0.0), n, 1.0))
    assert asked.in_a_row == pytest.approx(seconds(Cluster(FAST, 1.0), n, 1.0))
    handled = seconds(Cluster(FAST, 0.0, per_message=1.0), n, 1.0)
    if way == "tree":  # a rank gets one after the other, and each waits for the ranks below
        assert handled == asked.in_a_row
    elif way == "single server":  # then each worker has one to see to
        assert handled == asked.sent + 1
    elif way == "separate servers":  # a server in one phase, and a worker in the other
        assert handled == 2 * asked.sent
    else:
        assert handled == asked.sent


def test_a_way_that_is_none_is_refused():
    for fn in (at_scale.messages, at_scale.tensors):
        with pytest.raises(ValueError, match="got star"):
            fn("star", 4)


@pytest.mark.parametrize("n", [4, 64])
def test_two_ways_cross_where_the_formula_says(n):
    tree, ring = at_scale.tree, at_scale.WAYS["ring"]
    told = collective_costs.crossover("tree", "ring", n, Line(1e-3, 1e-9))
    found = at_scale.crossover(tree, ring, Cluster(1e9, 1e-3), n)
    assert found == pytest.approx(told, rel=0.01)
    assert at_scale.crossover(ring, tree, Cluster(1e9, 1e-3), n) == pytest.approx(found)


def test_with_as_many_bytes_and_fewer_messages_a_way_crosses_nowhere():
    ring, cluster = at_scale.WAYS["ring"], Cluster(1e9, 1e-3, 1e-5, 1e-10)
    for way in (at_scale.halving_doubling, at_scale.WAYS["two-level rings"]):
        assert at_scale.crossover(way, ring, cluster, 64) is None
    odd = at_scale.crossover(at_scale.halving_doubling, ring, cluster, 65)  # a rank too many sends whole tensors
    assert at_scale.halving_doubling(cluster, 65, odd) == pytest.approx(ring(cluster, 65, odd), rel=0.02)
