"""What links carry, by formula: nothing is lost on its way, and times are those of the formulas that are published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.servers import loads
from dlperf.servers.goodput import Layout
from dlperf.servers.links import difference
from dlperf.servers.loads import Links, Load, fullest, total

NUMBERS = st.integers(1, 32)


@given(NUMBERS, NUMBERS, st.integers(1, 3))
def test_all_that_is_sent_is_received(devices, others, copies):
    every = [loads.through_one(devices), loads.on_cpu(devices), loads.spread(devices), loads.tree(devices)]
    every += [loads.ring_of_hosts(devices, others), loads.by_level(devices, others)]
    every += [loads.servers(max(devices, copies), others, copies)]
    for phases in every:
        for phase in phases:
            assert sum(load.out for load in phase) == pytest.approx(sum(load.into for load in phase))


@pytest.mark.parametrize(("servers", "tensors"), [(1, 8), (2, 4), (4, 2), (8, 2)])
def test_servers_have_their_part_of_all_workers(servers, tensors):
    assert fullest(loads.servers(servers, 4)) == tensors


def test_a_second_copy_is_half_as_much_again():
    assert fullest(loads.servers(2, 4, 2)) == 1.5 * fullest(loads.servers(2, 4)) == 6
    assert total(loads.servers(2, 4, 2))[0] == Load(4, 4)


def test_a_dead_server_leaves_its_work_to_the_other():
    dead = Layout(2, copies=2, dead=True)
    assert fullest(dead.phases) == 8
    assert total(dead.phases)[:2] == (Load(4, 4), Load(0, 0))


def test_servers_on_the_workers_are_a_ring():
    assert Layout(4, colocated=True).phases == loads.spread(4)
    assert Layout(4, colocated=True).hosts == 4 == Layout(4).first


def test_a_tree_goes_up_in_pairs_and_down_again():
    assert total(loads.tree(4)) == (Load(2, 2), Load(1, 1), Load(2, 2), Load(1, 1))
    assert fullest(loads.tree(4)) == 4


def test_two_levels_send_a_tensor_where_a_ring_sends_one_and_a_half():
    assert fullest(loads.ring_of_hosts(2, 2)) == 1.5
    assert fullest(loads.by_level(2, 2)) == 1


def test_what_is_refused_is_named():
    with pytest.raises(ValueError, match="3 copies need as many servers, got 2"):
        loads.servers(2, 4, 3)
    with pytest.raises(ValueError, match="at least one rank, got local=0"):
        loads.by_level(2, 0)
    with pytest.raises(ValueError, match="each host has a server and a worker"):
        _ = Layout(2, colocated=True).phases
    with pytest.raises(ValueError, match="there were two, and two copies"):
        _ = Layout(3, copies=2, dead=True).phases


def test_counts_are_held_against_the_sum_of_phases():
    counts = difference([Load(1, 2), Load(0, 0)], [Load(11, 22), Load(20, 10)], 10)
    assert counts == (Load(1, 2), Load(2, 1))
    picture = Links(("0", "1"), ((Load(1, 1), Load(1, 1)), (Load(0, 1), Load(0.5, 0))), counts)
    assert picture.off == 0.5
    assert picture.fullest == 2
