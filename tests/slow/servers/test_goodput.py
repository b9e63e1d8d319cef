"""The store over limited links: no round takes less than the links ask for, and they carry what is predicted."""

from __future__ import annotations

import pytest

from dlperf.environment import cores
from dlperf.network import unavailable
from dlperf.servers import goodput
from dlperf.servers.goodput import Layout
from dlperf.servers.loads import total

pytestmark = pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
SIZE = 4 * 2**20
LAYOUTS = {
    "one": Layout(1, 2),
    "two": Layout(2, 2),
    "colocated": Layout(2, 2, colocated=True),
    "copies": Layout(2, 2, copies=2),
    "dead": Layout(2, 2, copies=2, dead=True),
}


@pytest.fixture(scope="module")
def trials():
    return goodput.measured(LAYOUTS, SIZE, repeats=2)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_round_takes_what_the_links_take(trials, name):
    trial = trials[name]
    assert trial.bound < min(trial.taken["both"].samples) * 1.02  # links are limited


@pytest.mark.parametrize("name", LAYOUTS)
def test_processors_are_counted_over_all_hosts(trials, name):
    trial = trials[name]
    assert trial.processors > 0
    assert trial.by_cores == trial.processors / cores()


@pytest.mark.parametrize("name", LAYOUTS)
def test_links_carry_at_least_what_is_predicted(trials, name):
    trial = trials[name]
    assert len(trial.counts) == len(trial.layout.names)
    for count, load in zip(trial.counts, total(trial.layout.phases), strict=True):
        assert count.out > load.out - 0.02
        assert count.into > load.into - 0.02


def test_a_dead_server_carries_nothing_but_a_few_heartbeats(trials):
    assert max(trials["dead"].counts[1]) < 0.02
