"""The store without encryption over links of 1 Gbit/s: how close rounds of one, two and four servers come to the bound.

The page encrypts. Where two cores play all hosts, they bound a round before the links of several servers do.
"""

from __future__ import annotations

import pytest

from dlperf.network import Network, unavailable
from dlperf.servers import goodput
from dlperf.servers.goodput import Layout, Trial

SERVERS = (1, 2, 4)
WORKERS, SIZE = 4, 2**25
GOAL = 0.9
"""So much of the links' bound shall a round's goodput be, wherever the cores are busy for less than half of that."""


@pytest.fixture(scope="module")
def trials() -> dict[int, Trial]:
    """Rounds by the number of servers."""
    if why := unavailable():
        pytest.skip(why)
    with Network(max(SERVERS) + WORKERS) as network:
        return {n: plain(network, Layout(n, WORKERS)) for n in SERVERS}


def plain(network: Network, layout: Layout) -> Trial:
    """Returns rounds of a cluster in which nothing is encrypted and nobody is given up."""
    told = goodput.config(layout.servers, layout.workers, None, lease=50.0, dead=60.0)
    return goodput._measured(network, layout, told, SIZE, 5)


@pytest.mark.parametrize("servers", SERVERS)
def test_plain_rounds_come_close_to_what_links_or_cores_allow(trials: dict[int, Trial], servers: int) -> None:
    trial = trials[servers]
    taken = trial.taken["both"].median
    print(
        f"{servers} server(s), {WORKERS} workers, {SIZE / 1e6:.0f} MB: a round takes {trial.taken['both']}, links ask"
        f" for {trial.bound:.3f} s ({trial.bound / taken:.2f} of it), cores for {trial.by_cores:.3f} s"
    )
    assert trial.bound < taken * 1.02
    if trial.by_cores > trial.bound / 2:
        pytest.skip(f"the cores that all hosts share are busy for {trial.by_cores / trial.bound:.2f} of that")
    assert trial.bound / taken >= GOAL
