"""Links with a delay: round trips take little more than the delays."""

from __future__ import annotations

from statistics import median

import pytest

from dlperf import network
from dlperf.network import Network
from tests import hosts

why = network.unavailable(delay=0.001)
pytestmark = pytest.mark.skipif(bool(why), reason=why)


@pytest.mark.parametrize(("delay", "trip"), [(0.01, 0.04), ((0.0, 0.02), 0.04)])
def test_a_round_trip_takes_about_the_delays_of_both_links_twice(
    delay: float | tuple[float, float], trip: float
) -> None:
    with Network(2, delay=delay) as made:
        trips = made.run(hosts.ping_pong, 20)[0]
    assert trip <= median(trips) < 3 * trip
