"""Clock, queues and messages of the simulation, against what can be worked out on paper."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.servers.events import Clock, Cluster, Queue, Simulation


@given(st.lists(st.integers(0, 5), max_size=30))
def test_actions_are_done_in_order_of_their_times_and_then_of_asking(times):
    clock, done = Clock(), []
    for asked, time in enumerate(times):
        clock.at(time, partial(done.append, (time, asked)))
    assert clock.run() == max(times, default=0)
    assert done == sorted(done)
    assert len(done) == len(times)


@pytest.mark.parametrize("time", [0.5, float("nan")])
def test_the_past_cannot_be_changed(time):
    clock = Clock()
    clock.at(1.0, partial(clock.at, time, clock.run))
    with pytest.raises(ValueError, match=r"it is 1\.0 s"):
        clock.run()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_a_queue_serves_in_order_one_at_a_time_and_never_idles(asked):
    queue, end = Queue(), 0.0
    for now, seconds in sorted(asked):
        begin = queue.take(now, seconds)
        assert begin == max(now, end)
        end = begin + seconds
    assert queue.free == end


def sent(cluster, messages, hosts=3):
    """Returns when what was sent, all at once, was seen to, and the simulation."""
    sim, seen = Simulation(cluster, hosts), []
    for source, target, size, adds in messages:
        sim.send(source, target, size, lambda: seen.append(sim.clock.now), adds)
    sim.clock.run()
    return seen, sim


def test_a_message_takes_alpha_and_its_bytes_once():
    assert sent(Cluster(4.0, 0.5), [(0, 1, 8, False)])[0] == [0.5 + 2]


def test_the_slower_of_two_links_counts():
    for rates in ([4.0, 1.0, 1.0], [1.0, 4.0, 1.0]):
        assert sent(Cluster(rates, 0.5), [(0, 1, 8, False)])[0] == [0.5 + 8]


def test_two_senders_share_the_receivers_link_and_one_waits_in_the_switch():
    seen, sim = sent(Cluster(4.0, 0.5), [(0, 2, 8, False), (1, 2, 8, False)])
    assert seen == [2.5, 4.5]
    assert sim.held == [0, 0, 8]


def test_links_are_full_duplex():
    assert sent(Cluster(4.0, 0.5), [(0, 1, 8, False), (1, 0, 8, False)])[0] == [2.5, 2.5]


def test_a_processor_adds_up_one_message_after_the_other():
    cluster = Cluster(4.0, 0.5, per_message=1.0, per_byte=0.25)
    seen, _ = sent(cluster, [(0, 2, 8, True), (1, 2, 8, True), (0, 1, 8, False)])
    assert seen == [2.5 + 3, 2 + 0.5 + 2 + 1, 2.5 + 3 + 3]


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.integers(1, 9)), max_size=20))
def test_every_message_is_delivered_once_and_those_of_two_hosts_in_order(messages):
    sim = Simulation(Cluster([1.0, 2.0, 3.0, 4.0], [0.1, 0.7, 0.4, 0.0]), 4)
    for source, size in messages:
        sim.send(source, 3, size, lambda: None)
    sim.clock.run()
    assert sorted(sim.delivered) == sorted((s, 3, b) for s, b in messages)
    for source in range(3):
        assert [b for s, _, b in sim.delivered if s == source] == [b for s, b in messages if s == source]


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="above 0, got 0"):
        Cluster([1.0, 0.0], 0.0)
    with pytest.raises(ValueError, match="at least 0, got -1"):
        Cluster(1.0, -1.0)
    with pytest.raises(ValueError, match="each of 3 hosts, got 2"):
        Simulation(Cluster([1.0, 2.0], 0.0), 3)
