"""Each way to add up in the simulation, against formulas without contention, and against NumPy's recurrences."""

from __future__ import annotations

from collections import Counter
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlperf.servers import at_scale, phases, recurrences, simulation
from dlperf.servers.events import Cluster, Simulation
from tests.servers.clusters import RUNS, drawn, hosts, run

PLAIN = Cluster(rate=4.0, alpha=0.5)
SIZE = 10.0
SEEDS = st.integers(0, 2**32 - 1)


def taken(way, workers, cluster=PLAIN, size=SIZE):
    return max(run(way, cluster, [0.0] * workers, size)[1])


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_without_contention_ways_take_what_their_formulas_say(n):
    alpha, link = 0.5, SIZE / 4
    assert taken("ring", n) == pytest.approx(2 * (n - 1) * (alpha + link / n))
    assert taken("colocated servers", n) == pytest.approx(2 * (alpha + (n - 1) / n * link))
    assert taken("separate servers", n) == pytest.approx(2 * (alpha + link))
    assert taken("single server", n) == pytest.approx(2 * (alpha + n * link))


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_a_whole_tree_takes_a_message_a_level_and_others_no_longer(n):
    a_level = 0.5 + SIZE / 4
    assert taken("tree", n) == pytest.approx(2 * log2(n) * a_level)
    assert taken("tree", n - n // 4) <= 2 * log2(n) * a_level


@pytest.mark.parametrize("way", RUNS)
@given(workers=st.integers(1, 12), seed=SEEDS)
@settings(max_examples=15)
def test_every_worker_gets_every_byte_once_and_nobody_is_done_before_all_are_ready(way, workers, seed):
    ready = np.random.default_rng(seed).exponential(1, workers)
    sim, done = run(way, drawn(hosts(way, workers), seed), ready.tolist(), SIZE)
    pairs = Counter((source, target) for source, target, _ in sim.delivered)
    assert min(done) >= max(ready)
    assert sum(size for *_, size in sim.delivered) == pytest.approx(moved(way, workers) * SIZE)
    assert all(source != target for source, target in pairs)
    assert len(done) == workers


def moved(way, n):
    """Returns how many times a gradient's bytes are sent by all hosts together."""
    if way in {"single server", "separate servers"}:
        return 2 * n
    return 2 * (n - 1)  # also on two levels, and up and down a tree


@pytest.mark.parametrize("n", [4, 6, 16])
def test_two_levels_send_the_bytes_of_one_with_fewer_messages(n):
    one, two = (len(run(way, PLAIN, [0.0] * n, SIZE)[0].delivered) for way in ("ring", "two-level rings"))
    group = at_scale.near_root(n)
    assert one == 2 * n * (n - 1)
    assert two == 2 * n * (group - 1 + n // group - 1)


@given(n=st.integers(2, 12), way=st.sampled_from(list(RUNS)), more=st.floats(1, 4))
@settings(max_examples=30)
def test_more_bytes_take_longer_and_a_higher_rate_or_shorter_way_does_not(n, way, more):
    base = taken(way, n)
    assert taken(way, n, size=SIZE * more) >= base
    assert taken(way, n, Cluster(4.0 * more, 0.5)) <= base
    assert taken(way, n, Cluster(4.0, 0.5 / more)) <= base
    assert taken(way, n, Cluster(4.0, 0.5, per_message=more - 1, per_byte=more - 1)) >= base


def test_where_all_begin_with_server_0_it_takes_half_as_long_again_and_the_switch_holds_a_gradient():
    n, seconds, held = 16, {}, {}
    for first in (simulation.own_rank, simulation.zero):
        sim = Simulation(PLAIN, 2 * n)
        done = simulation.through_servers(sim, [0.0] * n, SIZE, first)
        seconds[first], held[first] = max(done), max(sim.held[n:])
    assert held[simulation.own_rank] == pytest.approx(0)
    assert held[simulation.zero] == pytest.approx((n - 1) / n * SIZE)
    assert seconds[simulation.own_rank] == pytest.approx(2 * (0.5 + SIZE / 4))
    assert seconds[simulation.zero] == pytest.approx(2 * 0.5 + (3 * n - 1) / n * SIZE / 4)


@pytest.mark.parametrize("way", ["ring", "tree", "colocated servers"])
@given(workers=st.integers(1, 13), seed=SEEDS, costs=st.booleans(), late=st.sampled_from([0.0, 0.1, 3.0]))
@settings(max_examples=40)
def test_recurrences_are_the_events_where_no_two_hosts_are_alike(way, workers, seed, costs, late):
    cluster = drawn(workers, seed, costs)
    ready = late * np.random.default_rng(seed + 1).exponential(1, workers)
    right = run(way, cluster, ready.tolist(), SIZE)[1]
    found = getattr(recurrences, way.split()[0])(cluster, ready, SIZE)
    np.testing.assert_allclose(found, right, rtol=1e-12)


@given(workers=st.integers(1, 9), servers=st.integers(1, 9), seed=SEEDS, costs=st.booleans())
@pytest.mark.parametrize("first", [simulation.own_rank, simulation.zero])
@settings(max_examples=40)
def test_recurrences_are_the_events_with_any_number_of_servers(first, workers, servers, seed, costs):
    cluster = drawn(workers + servers, seed, costs)
    ready = np.random.default_rng(seed + 1).exponential(1, workers)
    right = simulation.through_servers(Simulation(cluster, workers + servers), ready.tolist(), SIZE, first)
    found = recurrences.through_servers(cluster, ready, servers, SIZE, first)
    np.testing.assert_allclose(found, right, rtol=1e-12)


@given(
    way=st.sampled_from(list(RUNS)),
    workers=st.integers(1, 16),
    rate=st.floats(0.1, 10),
    costs=st.tuples(st.floats(0, 2), st.floats(0, 2), st.floats(0, 2)),
)
def test_predictions_for_equal_hosts_are_the_events(way, workers, rate, costs):
    found = at_scale.predict(way, workers, SIZE, rate, *costs)
    assert found == pytest.approx(taken(way, workers, Cluster(rate, *costs)), rel=1e-12)


@given(st.lists(st.floats(0, 10), min_size=1), st.floats(0, 5))
def test_a_queue_in_numpy_is_a_loop(asked, seconds):
    done, free = [], 0.0
    for now in sorted(asked):
        free = max(now, free) + seconds
        done.append(free)
    np.testing.assert_allclose(recurrences.served(np.sort(asked), seconds), done, atol=1e-9)


def test_a_sweep_to_4096_workers_ends_and_a_single_server_grows_with_them():
    numbers = [2**k for k in range(1, 13)]
    found = at_scale.sweep(Cluster(1.25e9, 50e-6, 1e-6, 1e-10), numbers, 1e8)
    assert found.keys() == at_scale.WAYS.keys() == RUNS.keys()
    assert all(len(seconds) == len(numbers) and min(seconds) > 0 for seconds in found.values())
    assert found["single server"][-1] / found["single server"][0] == pytest.approx(2048, rel=0.05)
    assert found["colocated servers"][-1] < found["two-level rings"][-1] < found["ring"][-1]


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"a way is one of single server, .*, got star"):
        at_scale.predict("star", 2, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="at least 1 worker and 0 bytes, got 0 and 1"):
        at_scale.predict("ring", 0, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="3 workers need a server: got 3 hosts"):
        simulation.through_servers(Simulation(PLAIN, 3), [0.0] * 3, SIZE)
    with pytest.raises(ValueError, match="6 hosts make no groups of 4"):
        phases.two_level(6, SIZE, 4)
